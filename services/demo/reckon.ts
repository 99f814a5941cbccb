/**
 * Reckoning: what the run comes to. Pure: a ledger, the outside world's account and the kills in, the report
 * out.
 *
 * DR1 What was performed is what the outside world's account says, never what the ledger says.
 * DR2 The ledger is read event by event, with none of the runtime's own bookkeeping: the demo checks that, too.
 */
import type { IntentOf } from "../../protocol/intent.ts";
import type { Outcome } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Json } from "../../protocol/json.ts";
import type { PlannedKill } from "./kill-plan.ts";

/** What the outside world wrote down of a request. */
export interface Entry {
  readonly at: number;
  readonly tool: string;
  readonly key: string;
  /** `performed`: done now. `remembered`: the key was known, nothing was done. `read`: nothing to do. */
  readonly did: "performed" | "remembered" | "read";
  readonly input: Json;
  readonly output: Json;
}

/** A kill that happened. `at` in milliseconds since the epoch, taken right before the signal was sent. */
export interface Strike {
  readonly kill: PlannedKill;
  readonly pid: number;
  /** Of the request that was hit. */
  readonly key: string;
  readonly at: number;
}

/** Of one tool, or of all. */
export interface Tally {
  /** Intents in the ledger. */
  readonly intended: number;
  /** Requests the outside world got, repeats included. */
  readonly requests: number;
  /** Intents it did something for. */
  readonly performed: number;
  /** Changes it made a second time: for the same key, the same intent or the same input. Reads change nothing. */
  readonly duplicates: number;
  /** Recorded as succeeded without an entry in its account, or never settled. */
  readonly lost: number;
  /** Recorded as in doubt, and nothing corrected it. */
  readonly inDoubt: number;
}

/** A tool intent with what was recorded of it last. */
interface Recorded {
  readonly intent: IntentOf<"tool">;
  outcome: Outcome | undefined;
}

/** One tally for each tool that was intended, in the order of the work. */
export function tallyByTool(turns: readonly Turn[], account: readonly Entry[]): Map<string, Tally> {
  const byTool = Map.groupBy(recordedIn(turns), ({ intent }) => intent.name);
  return new Map(
    [...byTool].map(([name, recorded]) => [
      name,
      tally(
        recorded,
        account.filter((entry) => entry.tool === name),
      ),
    ]),
  );
}

/** The sum over all tools. */
export function sumOf(tallies: Iterable<Tally>): Tally {
  const sum = { intended: 0, requests: 0, performed: 0, duplicates: 0, lost: 0, inDoubt: 0 };
  for (const one of tallies) for (const name of Object.keys(sum) as (keyof Tally)[]) sum[name] += one[name];
  return sum;
}

/** DR2. */
function recordedIn(turns: readonly Turn[]): Recorded[] {
  const byId = new Map<string, Recorded>();
  for (const { event, intents } of turns.flatMap((turn) => turn.steps)) {
    const settled = "intent" in event ? byId.get(event.intent) : undefined;
    if (settled !== undefined && event.type === "result") settled.outcome = event.result.outcome;
    if (settled !== undefined && event.type === "timer") settled.outcome = "failed"; // No answer in time.
    for (const intent of intents) {
      if (intent.kind === "tool") byId.set(intent.id, { intent, outcome: undefined });
      const retried = intent.kind === "retry" ? byId.get(intent.id) : undefined;
      if (retried !== undefined) retried.outcome = undefined;
    }
  }
  return [...byId.values()];
}

function tally(recorded: readonly Recorded[], entries: readonly Entry[]): Tally {
  const keys = new Set(entries.map((entry) => entry.key));
  return {
    intended: recorded.length,
    requests: entries.length,
    performed: keys.size,
    duplicates: duplicatesIn(entries),
    lost: recorded.filter(
      ({ intent, outcome }) => outcome === undefined || (outcome === "succeeded" && !keys.has(intent.key)),
    ).length,
    inDoubt: recorded.filter(({ outcome }) => outcome === "in_doubt").length,
  };
}

/** A key is `<saga>.<intent>.<digest>`: two keys of one intent are one wish asked for twice. */
const intentOfKey = (key: string): string => key.slice(0, key.lastIndexOf("."));

function duplicatesIn(entries: readonly Entry[]): number {
  const done = entries.filter((entry) => entry.did === "performed");
  return done.filter((entry, index) =>
    done
      .slice(0, index)
      .some(
        (earlier) =>
          intentOfKey(earlier.key) === intentOfKey(entry.key) ||
          JSON.stringify(earlier.input) === JSON.stringify(entry.input),
      ),
  ).length;
}

export interface Recovery {
  /** The incarnation that went on. */
  readonly by: string;
  readonly ms: number;
}

/**
 * How a kill was recovered from, or undefined as long as it was not. A host's: by the first turn that another
 * host appended. A worker's: by the settled result of the effect that was hit. `killed` is the incarnation that
 * died.
 */
export function recoveryOf(
  { kill, key, at }: Strike,
  killed: string,
  turns: readonly Turn[],
): Recovery | undefined {
  if (kill.role === "host") {
    const turn = turns.find((one) => one.at >= at && one.host !== killed);
    return turn && { by: turn.host, ms: turn.at - at };
  }
  const intents = turns.flatMap((turn) => turn.steps.flatMap((step) => step.intents));
  const hit = intents.find((intent) => intent.kind === "tool" && intent.key === key);
  for (const turn of turns)
    for (const { event } of turn.steps)
      if (event.type === "result" && event.intent === hit?.id)
        return { by: event.by, ms: Math.max(0, turn.at - at) };
  return undefined;
}
