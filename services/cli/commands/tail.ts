import { parseSagaId } from "../../../protocol/ids.ts";
import { defineCommand } from "../command.ts";
import { withMesh } from "../context.ts";
import { awaitLedger, watchToEnd } from "../watch.ts";

/** Follows a saga's turns. */
export const tail = defineCommand({
  name: "tail",
  summary: "show a saga's turns, and those to come, until its end",
  details: "Exit code 1 if the saga failed or was cancelled. With --json one turn per line, then the end.",
  positionals: { saga: { help: "the saga's id" } },
  options: {},
  examples: ["sagamesh tail hire-41"],
  run: async ({ saga: id }, context) => {
    const saga = parseSagaId(id);
    return withMesh(context, async ({ ports }) => {
      await awaitLedger(ports, saga, context.signal);
      return watchToEnd(context, ports, saga, {
        turn: (lines, turn) => context.output.print(turn, () => lines.join("\n")),
      });
    });
  },
});
