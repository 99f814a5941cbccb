/**
 * Takes: what a saga can be told, as hosts have registered its definition, so that a page can make forms of it. Whether a
 * signal fits is judged where it is sent.
 */
import { reservedFor, type ReservedSignal, reservedSignals } from "../../actors/contract/reserved-signals.ts";
import { jsonSchema } from "../../actors/values/schema.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { readRegistry } from "../client/registry.ts";
import type { RegistryPort } from "../wire/ports.ts";
import type { TakesDocument } from "./documents.ts";

/** These have a button of their own, or are sent by a command that looks at more than the saga. */
const elsewhere: ReadonlySet<ReservedSignal> = new Set([
  ...(["cancel", "pause", "resume", "instruct", "migrate"] as const),
]);

/** Its own signals first. Of a definition that is not registered, what every saga takes. Throws UNAVAILABLE. */
export async function takesOf(
  registry: Pick<RegistryPort, "list">,
  { name, hash }: DefinitionRef,
): Promise<TakesDocument> {
  const { definitions } = await readRegistry(registry);
  const definition = definitions.find((one) => one.name === name && one.hash === hash);
  const reserved = reservedFor(definition?.takes ?? []).filter((one) => !elsewhere.has(one));
  return {
    signals: [
      ...Object.entries(definition?.signals ?? {}).map(([own, schema]) => ({ name: own, schema })),
      ...reserved.map((one) => ({ name: one, schema: toJson(jsonSchema(reservedSignals[one])) })),
    ],
    models: [...new Set(definitions.flatMap((one) => one.models))].sort(),
  };
}

/**
 * The schema of what a person may type of a call: of its arguments, or of its output. The newest contract of that name that was
 * registered; undefined where none was. Throws UNAVAILABLE.
 */
export async function schemaOf(
  registry: Pick<RegistryPort, "list">,
  tool: string,
  of: "input" | "output",
): Promise<Json | undefined> {
  const { tools } = await readRegistry(registry);
  const found = tools.findLast(({ name }) => name === tool)?.[of];
  return found === undefined ? undefined : toJson(found);
}
