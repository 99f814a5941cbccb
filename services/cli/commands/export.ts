import { resolve } from "node:path";
import type { ExportDocument } from "../../../protocol/documents/archive.ts";
import { exportSaga } from "../../archive/export.ts";
import { archiveName } from "../../archive/file.ts";
import { systemChance, systemClock } from "../../runtime/system.ts";
import { defineCommand } from "../frame/command.ts";
import { archiveOption, sagaPositional, type SagaSource, withSaga } from "../frame/saga-source.ts";

/** A saga as a file that is whole without a server. Named so because `export` is a word of the language. */
export const exporting = defineCommand({
  name: "export",
  summary: "write a saga to a file that verifies and reads on a machine without NATS",
  details:
    "The saga may still run: the file holds its ledger as it stood, every value, and what hosts have registered of its\n" +
    "definition and tools. verify, inspect, tail and replay take the file in place of the saga's id; a child in it is\n" +
    "read with --archive FILE. Nothing is changed where the saga lives. Exit code 1 if one below it could not be had.",
  positionals: { saga: sagaPositional },
  options: {
    out: { type: "string", hint: "FILE", help: "SAGA.jsonl.gz in this folder unless given" },
    "with-children": { type: "boolean", help: "and all sagas below it" },
    archive: archiveOption,
  },
  examples: ["sagamesh export hire-41 --with-children --out hire-41.jsonl.gz"],
  run: async ({ out, "with-children": withChildren, ...which }, context) =>
    withSaga(context, which, async (first) => {
      const path = resolve(out ?? archiveName(first.saga));
      const find = async (saga: SagaSource["saga"]) => (saga === first.saga ? first : first.find(saga));
      const deps = { chance: systemChance, now: systemClock.now(), find };
      const document = await exportSaga(deps, first.saga, { path, withChildren });
      for (const { saga, reason } of document.missing) context.output.note(`${saga} is left out: ${reason}`);
      context.output.print(document, () => describe(document));
      return document.missing.length === 0 ? 0 : 1;
    }),
});

const describe = ({ saga, file, status, sagas, turns, bytes, missing }: ExportDocument): string =>
  `${saga} (${status}${sagas === 1 ? "" : `, with ${sagas - 1} below it`}${missing.length === 0 ? "" : `, without ${missing.map((one) => one.saga).join(", ")}`}): ${turns} turns, ${bytes} bytes, in ${file}`;
