/**
 * Registry: what hosts have said they serve, and the checks a client makes by it before it sends anything.
 *
 * RG1 The registry forgets nothing, so a name in it was served once. What is not in it was never served.
 * RG2 A check here spares a person a dead letter; the host's own check is the one that counts. Where a schema
 *     cannot be read here, the host decides alone.
 */
import { z } from "zod";
import { isReserved, isTaken, readReserved, unknownSignal } from "../../actors/contract/reserved-signals.ts";
import { DefinitionDocument, ToolDocument } from "../../protocol/documents/registry.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import type { Json } from "../../protocol/json.ts";
import type { RegistryPort } from "../wire/ports.ts";
import type { ViewOptions } from "../views/view.ts";

export interface Registered {
  readonly definitions: readonly DefinitionDocument[];
  readonly tools: readonly ToolDocument[];
}

/** Everything registered, oldest first. Entries of another form are passed over. */
export async function readRegistry(registry: Pick<RegistryPort, "list">): Promise<Registered> {
  const definitions: DefinitionDocument[] = [];
  const tools: ToolDocument[] = [];
  for (const { key, data } of await registry.list()) {
    const value = parse(data);
    const definition = key.startsWith("saga.") ? DefinitionDocument.safeParse(value) : undefined;
    const tool = key.startsWith("tool.") ? ToolDocument.safeParse(value) : undefined;
    if (definition?.success === true) definitions.push(definition.data);
    if (tool?.success === true) tools.push(tool.data);
  }
  return { definitions, tools };
}

/** The same of documents at hand, which are of their form. */
export const readRegistered = (definitions: readonly unknown[], tools: readonly unknown[]): Registered => ({
  definitions: definitions.map((one) => DefinitionDocument.parse(one)),
  tools: tools.map((one) => ToolDocument.parse(one)),
});

function parse(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString());
  } catch {
    return undefined; // Not ours.
  }
}

/** What a view of a ledger takes from the registry. */
export function viewingBy({
  definitions,
}: Registered): Required<Pick<ViewOptions, "budgetOf" | "signalsOf">> {
  const find = ({ name, hash }: DefinitionRef) =>
    definitions.find((one) => one.name === name && one.hash === hash);
  return {
    budgetOf: (ref) => find(ref)?.budget,
    signalsOf: (ref) => {
      const found = find(ref);
      return found && Object.keys(found.signals);
    },
  };
}

/**
 * Throws INPUT_INVALID for what the contract that the tool was called under does not take as its output; where that is
 * not told, or was never registered, for what none of the tool's contracts takes.
 */
export function checkOutput(
  registered: Registered,
  { name, contract }: { readonly name: string; readonly contract?: string | undefined },
  output: Json,
): void {
  const named = registered.tools.filter((tool) => tool.name === name);
  const called = named.filter((tool) => tool.contract === contract);
  const contracts = called.length > 0 ? called : named;
  if (contracts.length === 0) return;
  const misfit = faultOfAll(
    contracts.map((one) => one["output"]),
    output,
  );
  if (misfit !== undefined) throw new MeshError("INPUT_INVALID", `the output of ${name}: ${misfit}`);
}

/**
 * Throws AGENT_UNKNOWN unless a definition of this name was served, DEFINITION_UNKNOWN unless one of the version that is
 * asked for was, and INPUT_INVALID unless the input fits the one it begins with (`as`); where that is not known, the
 * newest version. A version that was changed without a new number has several schemas; one must fit.
 */
export function checkStart(
  { definitions }: Registered,
  { name, version, as }: { name: string; version?: number | undefined; as?: DefinitionRef | undefined },
  input: Json,
): void {
  const named = definitions.filter((one) => one.name === name);
  if (named.length === 0) throw unknownAgent(definitions, name);
  const versions = [...new Set(named.map((one) => one.version))].sort((a, b) => a - b);
  if (version !== undefined && !versions.includes(version))
    throw new MeshError(
      "DEFINITION_UNKNOWN",
      `no host has ever served version ${version} of ${name}; there are ${versions.join(", ")}`,
    );
  const meant = version ?? versions.at(-1);
  const begun = named.filter((one) => one.hash === as?.hash);
  const schemas = (begun.length > 0 ? begun : named.filter((one) => one.version === meant)).map(
    (one) => one.input,
  );
  const fault = faultOfAll(schemas, input);
  if (fault !== undefined) throw new MeshError("INPUT_INVALID", `the input of ${name}: ${fault}`);
}

/** Why a value fits none of the schemas, by the newest of them; undefined if it fits one. */
function faultOfAll(schemas: readonly unknown[], value: Json): string | undefined {
  const faults = schemas.map((schema) => faultOf(schema as Json, value));
  return faults.includes(undefined) ? undefined : faults.at(-1);
}

function unknownAgent(definitions: readonly DefinitionDocument[], name: string): MeshError {
  const names = [...new Set(definitions.map((one) => one.name))].sort();
  const known =
    names.length === 0 ? "no host has served anything here yet" : `served here: ${names.join(", ")}`;
  return new MeshError("AGENT_UNKNOWN", `nothing is named "${name}"; ${known}${didYouMean(name, names)}`);
}

/** Throws SIGNAL_UNKNOWN, or INPUT_INVALID; passes what the registry cannot judge. */
export function checkSignal({ definitions }: Registered, ref: DefinitionRef, name: string, data: Json): void {
  const reserved = isReserved(name) ? readReserved(name, data) : undefined;
  if (reserved?.success === false)
    throw new MeshError("INPUT_INVALID", `signal "${name}": ${reserved.reason}`);
  const definition = definitions.find((one) => one.name === ref.name && one.hash === ref.hash);
  if (definition === undefined) return;
  if (isTaken(definition.takes, name)) return;
  const schema = definition.signals[name];
  if (schema === undefined)
    throw unknownSignal(definition.takes, ref.name, name, Object.keys(definition.signals));
  const fault = faultOf(schema, data);
  if (fault === undefined || fitsAsText(schema, data) || fitsAsNothing(schema, data)) return;
  throw new MeshError("INPUT_INVALID", `signal "${name}": ${fault}`);
}

/** No data fits an object that needs no member: so a host takes it. */
const fitsAsNothing = (schema: Json, data: Json): boolean =>
  data === null && faultOf(schema, {}) === undefined;

/** A plain text also fits a schema of one text member: that is how a host takes it. */
function fitsAsText(schema: Json, data: Json): boolean {
  if (typeof data !== "string" || typeof schema !== "object" || schema === null || Array.isArray(schema))
    return false;
  const [key, ...more] = Object.keys((schema["properties"] ?? {}) as object);
  return key !== undefined && more.length === 0 && faultOf(schema, { [key]: data }) === undefined;
}

/** Why a value does not fit a JSON Schema, or undefined (RG2). */
export function faultOf(schema: Json, value: Json): string | undefined {
  let parser: z.ZodType;
  try {
    parser = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    return undefined; // RG2
  }
  const parsed = parser.safeParse(value);
  return parsed.success ? undefined : z.prettifyError(parsed.error);
}
