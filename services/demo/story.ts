/**
 * Story: what a person reads while the demo runs, told turn by turn from what each changed in the ledger's account.
 */
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Account, AccountReader, Change } from "../ledger/account.ts";
import { pidOf } from "../runtime/system.ts";
import { type PlannedKill, windowInWords } from "./kill-plan.ts";
import { type Recovery, recoveryOf, type Strike } from "./reckon.ts";

/** What telling takes. */
export interface StoryOptions {
  readonly reader: AccountReader;
  /** Kills so far, in order; more come while the story is told. */
  readonly strikes: readonly Strike[];
  readonly tell: (line: string) => void;
  readonly nameOf: (who: string | number) => string;
  /** The model has called `wait`. */
  readonly onWait: () => void;
}

/** Takes a ledger turn by turn. `recoveries` is how the kills were recovered from so far. */
export interface Story {
  take(turn: Turn): void;
  readonly recoveries: ReadonlyMap<Strike, Recovery>;
}

/** A story of which nothing is told yet. */
export function openStory({ reader, strikes, tell, nameOf, onWait }: StoryOptions): Story {
  const recoveries = new Map<Strike, Recovery>();
  let host: string | undefined;
  return {
    recoveries,
    take(turn) {
      const changes = reader.take(turn);
      for (const strike of strikes) {
        const recovery = recoveries.has(strike) ? undefined : recoveryOf(strike, turn, reader.account);
        if (recovery === undefined) continue;
        recoveries.set(strike, recovery);
        if (strike.kill.role === "host") host = recovery.by; // That it has the saga now is told here.
        tell(`✓ ${recoveryInWords(strike, recovery, nameOf(recovery.by))}`);
      }
      if (host !== turn.host) tell(`${nameOf(turn.host)} has the saga`);
      host = turn.host;
      for (const { event } of turn.steps)
        if (event.type === "signal")
          tell(`the signal ${event.name} has arrived: ${JSON.stringify(event.data)}`);
      for (const change of changes) {
        const reply = replyIn(change);
        if (reply !== undefined) tell(replyInWords(reply));
        if (reply?.calls.some(({ tool }) => tool === "wait") === true) onWait();
      }
      for (const ends of Map.groupBy(changes.filter(isToolEnd), endOf).values())
        for (const line of endsInWords(ends, reader.account, nameOf)) tell(line);
    },
  };
}

type End = Extract<Change, { type: "closed" | "corrected" }>;
const isEnd = (change: Change): change is End => change.type === "closed" || change.type === "corrected";
const isToolEnd = (change: Change): change is End => isEnd(change) && change.intent.intent.kind === "tool";
const toolOf = ({ intent: { intent } }: End): string => (intent.kind === "tool" ? intent.name : "");
const endOf = (end: End): string => `${toolOf(end)} ${end.ended.as}`;

const replyIn = (change: Change): ModelReply | undefined =>
  isEnd(change) && change.intent.intent.kind === "model"
    ? ModelReply.safeParse(change.ended.output).data
    : undefined;

/** A model's words, and what it calls. */
function replyInWords({ text, calls }: ModelReply): string {
  const counted = Map.groupBy(calls, (call) => call.tool);
  const called = [...counted].map(([tool, all]) => (all.length === 1 ? tool : `${all.length} × ${tool}`));
  const words = text === undefined ? "" : `"${text}" `;
  return `model: ${words}${called.length === 0 ? "" : `→ ${called.join(", ")}`}`.trimEnd();
}

/** Calls of one tool that ended alike in one turn. Those decided together are one line, once the last has succeeded. */
function endsInWords(ends: readonly End[], { intents }: Account, nameOf: StoryOptions["nameOf"]): string[] {
  const last = ends.at(-1);
  if (last === undefined) return [];
  const { ended, intent } = last;
  const by = nameOf(ended.from ?? "the saga itself");
  if (ended.as !== "succeeded")
    return ends.map(
      (end) => `${toolOf(end)}: ${ended.as === "in_doubt" ? "IN DOUBT" : ended.as}, recorded by ${by}`,
    );
  const batch = [...intents.values()].filter(
    (one) =>
      one.intent.kind === "tool" && one.intent.name === toolOf(last) && one.place.turn === intent.place.turn,
  );
  if (batch.some((one) => one.ended === undefined)) return [];
  return [`${toolOf(last)}: ${batch.length === 1 ? "done" : `all ${batch.length} done`}, by ${by}`];
}

/** Where a kill strikes. */
export const killInWords = ({ tool, effect, window }: PlannedKill): string =>
  `during ${tool} (${effect}), ${windowInWords[window]}`;

function recoveryInWords({ kill: { role, tool }, pid }: Strike, { by, ms }: Recovery, name: string): string {
  const after = `${(ms / 1_000).toFixed(1)} s after the kill`;
  if (role === "host") return `${name} has taken the saga over, ${after}`;
  if (ms === 0 || pidOf(by) === pid) return `${tool} was settled already when its worker died`;
  return `${tool} is settled by ${name}, ${after}`;
}
