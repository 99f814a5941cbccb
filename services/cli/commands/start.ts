import type { StartedDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { mintSagaId, parseSagaId } from "../../../protocol/ids.ts";
import { traceparentIn } from "../../../protocol/trace.ts";
import { parseNamed } from "../../deployments/named.ts";
import { startSaga } from "../../client/start.ts";
import { checkStart, readRegistry } from "../../client/registry.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { parseJson } from "../frame/json.ts";
import { beginsWith, watchStarted } from "../telling/started.ts";

/** Starts a saga by its definition's name. */
export const start = defineCommand({
  name: "start",
  summary: "start a saga",
  details:
    "Name and input are checked by what hosts have registered before anything is sent. The same --id with the same input is the same saga.",
  positionals: { name: { help: "an agent or saga that a host serves; hire@2 names a version" } },
  options: {
    input: { type: "string", hint: "JSON", json: "whole", help: "its input; {} unless given" },
    id: {
      type: "string",
      hint: "KEY",
      help: "the saga's id: 1 to 64 of a-z, 0-9, - and _; minted unless given",
    },
    version: {
      type: "string",
      hint: "N",
      help: "begin with this version; else with the one that was promoted, else the newest that is served",
    },
    traceparent: {
      type: "string",
      hint: "VALUE",
      help: "W3C: the span that it is started from; its spans (`trace`) then lie below that",
    },
    wait: {
      type: "boolean",
      help: "show what happens and what is said, and wait for the end; exit 1 unless it completes",
    },
  },
  examples: [`sagamesh start hire_for_role --input '{"role":"dev","recruiterId":"r1"}' --id hire-41 --wait`],
  run: async ({ name: word, input: text, id, version: number, traceparent: told, wait }, context) => {
    const traceparent = told === undefined ? undefined : parseTraceparent(told);
    const input = parseJson(text ?? "{}", "--input");
    const { name, version } = wantedOf(word, number);
    const given = id === undefined ? undefined : parseSagaId(id);
    return withMesh(context, async ({ deps, ports }) => {
      const saga = given ?? mintSagaId(name, deps.clock.now(), deps.chance.random());
      const begins = await beginsWith(ports, { name, version }, saga);
      checkStart(await readRegistry(ports.registry), { name, version, as: begins.definition }, input);
      await startSaga(deps, { id: saga, name, version, input, traceparent });
      if (begins.waits !== undefined) context.output.note(begins.waits);
      const { definition, unserved } = begins;
      const document: StartedDocument = {
        ...{ saga, name },
        ...(definition && { definition }),
        ...(unserved && { unserved }),
      };
      if (!wait) {
        context.output.print(document, () => saga);
        return 0;
      }
      context.output.note(`started ${saga}`);
      return watchStarted(context, ports, saga);
    });
  },
});

/** `hire`, with --version or without, or `hire@2` as other commands write it. Throws USAGE. */
function wantedOf(word: string, number: string | undefined): { name: string; version: number | undefined } {
  const version = number === undefined ? undefined : parseVersion(number);
  if (!word.includes("@")) return { name: word, version };
  const named = parseNamed(word);
  if (named.hash !== undefined || (version !== undefined && version !== named.version))
    throw new MeshError(
      "USAGE",
      `start: "${word}" ${named.hash === undefined ? "and --version name different versions" : "names a hash"}`,
      {
        remedy:
          "Name a version, hire@2; which definition of that version is chosen by `sagamesh deployments promote`.",
      },
    );
  return named;
}

/** Throws USAGE: who names one by hand means it. */
function parseTraceparent(text: string): string {
  const read = traceparentIn(text);
  if (read !== undefined) return read;
  throw new MeshError("USAGE", `--traceparent: expected 00-<32 hex>-<16 hex>-<2 hex>, got "${text}"`);
}

/** Throws USAGE. */
function parseVersion(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new MeshError("USAGE", `--version: expected a whole number, got "${text}"`);
}
