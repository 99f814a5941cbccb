import { parseSagaId } from "../../../protocol/ids.ts";
import { knownSaga } from "../../client/known.ts";
import { defineCommand } from "../frame/command.ts";
import type { LiveDocument } from "../../../protocol/documents/live.ts";
import { withMesh } from "../frame/context.ts";
import { createFlow } from "../telling/flow.ts";
import { archiveOption, isFile, sagaPositional, withSaga } from "../frame/saga-source.ts";
import { showTurns, watchToEnd } from "../telling/watch.ts";

/** Follows a saga's turns, and with --tokens what is said between them. */
export const tail = defineCommand({
  name: "tail",
  summary: "show a saga's turns, and those to come, until its end",
  details:
    "Exit code 1 if the saga failed or was cancelled. With --json one turn per line, then the end.\n--tokens shows words as a model says them and what tools tell of their progress: best effort, not kept. Words of an attempt that failed or was superseded are taken back; what was missed comes with the reply.",
  positionals: { saga: sagaPositional },
  options: {
    tokens: { type: "boolean", help: "show what models and tools say meanwhile" },
    early: { type: "boolean", help: "wait for an id that was not started yet" },
    archive: archiveOption,
  },
  examples: ["sagamesh tail hire-41", "sagamesh tail hire-41 --tokens"],
  run: async ({ saga: id, tokens, archive, early }, context) => {
    if (isFile(id) || archive !== undefined)
      return withSaga(context, { saga: id, archive }, (found) => showTurns(context, found));
    const saga = parseSagaId(id);
    const { output } = context;
    const flow = createFlow((piece) => output.flow(piece, "results"));
    const document = (live: LiveDocument["live"]) => output.print({ live } satisfies LiveDocument, () => "");
    return withMesh(context, async ({ deps, ports }) => {
      if (!early && (await knownSaga(deps, saga)) === "stored")
        output.note(`the start of ${saga} is stored; no host has taken it yet`);
      return watchToEnd(context, ports, saga, {
        turn: (lines, turn) => {
          flow.endLine();
          output.print(turn, () => lines.join("\n"));
        },
        ...(tokens ? { between: output.json ? document : flow.tell } : {}),
      });
    });
  },
});
