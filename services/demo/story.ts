/**
 * Story: what a person reads while the demo runs, told from the ledger's turns and the kills.
 */
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { PlannedKill, Window } from "./kill-plan.ts";
import type { Tally } from "./reckon.ts";

/** What a window means, after "killed … in the middle of <tool>, ". */
export const windowInWords = {
  "before-record": "before the outside world recorded the request",
  "after-record": "after the outside world recorded it and before it replied",
  "after-reply": "after the outside world replied",
} as const satisfies Record<Window, string>;

export interface Story {
  /** One line at the present time. */
  tell(line: string): void;
  /**
   * What a turn holds that a person wants to know. `nameOf` says what a process is called; `isTakeover`, that
   * its host was named already.
   */
  tellTurn(turn: Turn, options: { nameOf: (incarnation: string) => string; isTakeover: boolean }): void;
}

/** Tells with the seconds since `startedAt` before each line. */
export function createStory(write: (text: string) => void, startedAt: number): Story {
  const tools = new Map<string, string>();
  const open = new Map<string, { all: number; left: number }>();
  const tell = (line: string) =>
    write(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`);
  let host: string | undefined;

  const tellResult = (intent: string, outcome: string, by: string): void => {
    const tool = tools.get(intent);
    const batch = tool === undefined ? undefined : open.get(tool);
    if (tool === undefined || batch === undefined) return;
    tools.delete(intent);
    batch.left -= 1;
    if (outcome !== "succeeded")
      tell(`${tool}: ${outcome === "in_doubt" ? "IN DOUBT" : outcome}, recorded by ${by}`);
    else if (batch.left === 0)
      tell(`${tool}: ${batch.all === 1 ? "done" : `all ${batch.all} done`}, by ${by}`);
    if (batch.left === 0) open.delete(tool);
  };

  return {
    tell,
    tellTurn: (turn, { nameOf, isTakeover }) => {
      if (host !== turn.host && !isTakeover) tell(`${nameOf(turn.host)} has the saga`);
      host = turn.host;
      for (const { event, intents } of turn.steps) {
        if (event.type === "signal")
          tell(`the signal ${event.name} has arrived: ${JSON.stringify(event.data)}`);
        if (event.type === "result" && event.result.outcome === "succeeded")
          tellReply(event.result.output, tell);
        if (event.type === "result") tellResult(event.intent, event.result.outcome, nameOf(event.by));
        for (const intent of intents) {
          if (intent.kind !== "tool") continue;
          tools.set(intent.id, intent.name);
          const batch = open.get(intent.name) ?? { all: 0, left: 0 };
          open.set(intent.name, { all: batch.all + 1, left: batch.left + 1 });
        }
      }
    },
  };
}

/** A model's words, and what it calls. */
function tellReply(output: unknown, tell: (line: string) => void): void {
  const reply = ModelReply.safeParse(output);
  if (!reply.success) return;
  const { text, calls } = reply.data;
  const counts = Map.groupBy(calls, (call) => call.tool);
  const called = [...counts]
    .map(([tool, all]) => (all.length === 1 ? tool : `${all.length} × ${tool}`))
    .join(", ");
  tell(`model: ${text === undefined ? "" : `"${text}"`}${called === "" ? "" : ` → ${called}`}`);
}

/** The plan, one line a kill. */
export const planInWords = (plan: readonly PlannedKill[]): string[] =>
  plan.map(
    ({ role, tool, effect, window }) => `  the ${role}, during ${tool} (${effect}), ${windowInWords[window]}`,
  );

const columns = [
  "intended",
  "requests",
  "performed",
  "duplicates",
  "lost",
  "inDoubt",
] as const satisfies (keyof Tally)[];
const titles = {
  intended: "intended",
  requests: "requests",
  performed: "performed",
  duplicates: "duplicates",
  lost: "lost",
  inDoubt: "in doubt",
};

/** The table from the outside world's account. */
export function tableOf(
  tallies: ReadonlyMap<string, Tally>,
  effects: ReadonlyMap<string, string>,
  sum: Tally,
): string[] {
  const row = (name: string, effect: string, cells: readonly (string | number)[]): string =>
    `  ${name.padEnd(18)} ${effect.padEnd(11)}${cells.map((cell) => String(cell).padStart(11)).join("")}`;
  const line = `  ${"─".repeat(30 + 11 * columns.length)}`;
  return [
    row(
      "tool",
      "class",
      columns.map((column) => titles[column]),
    ),
    line,
    ...[...tallies].map(([name, tally]) =>
      row(
        name,
        effects.get(name) ?? "",
        columns.map((column) => tally[column]),
      ),
    ),
    line,
    row(
      "all",
      "",
      columns.map((column) => sum[column]),
    ),
  ];
}
