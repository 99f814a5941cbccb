/**
 * Story: what a person reads while the demo runs, told from the ledger's turns, and the table at its end.
 */
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import { type PlannedKill, windowInWords } from "./kill-plan.ts";
import type { Tally } from "./reckon.ts";

/** Told once: the calls of a tool that were decided together are one line when the last of them has succeeded. */
export function createTeller(tell: (line: string) => void, nameOf: (incarnation: string) => string) {
  const open = new Map<string, { tool: string; batch: { all: number; left: number } }>();
  let host: string | undefined;

  /** What a turn holds that a person wants to know. `isTakeover`: that its host changed is told already. */
  return (turn: Turn, isTakeover: boolean): void => {
    if (host !== turn.host && !isTakeover) tell(`${nameOf(turn.host)} has the saga`);
    host = turn.host;
    for (const { event, intents } of turn.steps) {
      if (event.type === "signal")
        tell(`the signal ${event.name} has arrived: ${JSON.stringify(event.data)}`);
      if (event.type === "result") {
        const { outcome } = event.result;
        if (event.result.outcome === "succeeded") tellReply(event.result.output, tell);
        const call = open.get(event.intent);
        open.delete(event.intent);
        if (call !== undefined) call.batch.left -= 1;
        if (call !== undefined && outcome !== "succeeded")
          tell(
            `${call.tool}: ${outcome === "in_doubt" ? "IN DOUBT" : outcome}, recorded by ${nameOf(event.by)}`,
          );
        else if (call?.batch.left === 0)
          tell(
            `${call.tool}: ${call.batch.all === 1 ? "done" : `all ${call.batch.all} done`}, by ${nameOf(event.by)}`,
          );
      }
      for (const [tool, calls] of Map.groupBy(intents.filter(isTool), ({ name }) => name)) {
        const batch = { all: calls.length, left: calls.length };
        for (const { id } of calls) open.set(id, { tool, batch });
      }
    }
  };
}

const isTool = (intent: Turn["steps"][number]["intents"][number]) => intent.kind === "tool";

/** A model's words, and what it calls. */
function tellReply(output: unknown, tell: (line: string) => void): void {
  const reply = ModelReply.safeParse(output);
  if (!reply.success) return;
  const counts = Map.groupBy(reply.data.calls, (call) => call.tool);
  const called = [...counts].map(([tool, all]) => (all.length === 1 ? tool : `${all.length} × ${tool}`));
  const words = reply.data.text === undefined ? "" : `"${reply.data.text}" `;
  tell(`model: ${words}${called.length === 0 ? "" : `→ ${called.join(", ")}`}`.trimEnd());
}

/** Where a kill strikes. */
export const killInWords = ({ tool, effect, window }: PlannedKill): string =>
  `during ${tool} (${effect}), ${windowInWords[window]}`;

const columns = {
  intended: "intended",
  requests: "requests",
  performed: "performed",
  duplicates: "duplicates",
  lost: "lost",
  inDoubt: "in doubt",
} as const satisfies Record<keyof Tally, string>;

/** The table from the outside world's account. */
export function tableOf(
  tallies: ReadonlyMap<string, Tally>,
  effects: ReadonlyMap<string, string>,
  sum: Tally,
): string[] {
  const row = (name: string, effect: string, cells: readonly (string | number)[]): string =>
    `  ${name.padEnd(18)} ${effect.padEnd(11)}${cells.map((cell) => String(cell).padStart(11)).join("")}`;
  const cellsOf = (tally: Tally) => (Object.keys(columns) as (keyof Tally)[]).map((column) => tally[column]);
  const line = `  ${"─".repeat(96)}`;
  return [
    row("tool", "class", Object.values(columns)),
    line,
    ...[...tallies].map(([name, tally]) => row(name, effects.get(name) ?? "", cellsOf(tally))),
    line,
    row("all", "", cellsOf(sum)),
  ];
}
