/**
 * Reckoning: what the run comes to. Pure: the account of the saga's ledger and the outside world's own books in, the
 * counts out.
 *
 * DR1 What was performed is what the outside world's books say, never what the ledger says.
 */
import type { Json } from "../../protocol/json.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Account } from "../ledger/account.ts";
import { pidOf } from "../runtime/system.ts";
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

/** Of one tool, or of all: each count with its heading in the table. */
export const counts = {
  /** Intents in the ledger. */
  intended: "intended",
  /** Requests the outside world got, repeats included. */
  requests: "requests",
  /** Intents it did something for. */
  performed: "performed",
  /** Changes it made a second time: for the same key, the same intent or the same input. Reads change nothing. */
  duplicates: "duplicates",
  /** Recorded as succeeded without an entry in its books, or never settled. */
  lost: "lost",
  /** Recorded as in doubt, and nothing corrected it. */
  inDoubt: "in doubt",
} as const;
/** The counts of one tool, or their sums. */
export type Tally = Record<keyof typeof counts, number>;

/** The tool intents of a ledger, in the order in which they were decided. */
const intendedIn = ({ intents }: Account) =>
  [...intents.values()].flatMap(({ intent, ended, before }) =>
    intent.kind === "tool" ? [{ tool: intent.name, key: intent.key, ended, before }] : [],
  );
type Intended = ReturnType<typeof intendedIn>[number];

/** One tally for each tool that was intended, in the order of the work. */
export const tallyByTool = (ledger: Account, books: readonly Entry[]): Map<string, Tally> =>
  new Map(
    [...Map.groupBy(intendedIn(ledger), ({ tool }) => tool)].map(([tool, intended]) => {
      const entries = books.filter((entry) => entry.tool === tool);
      return [tool, tally(intended, entries)];
    }),
  );

/** The sum over all tools. */
export function sumOf(tallies: Iterable<Tally>): Tally {
  const sum = { intended: 0, requests: 0, performed: 0, duplicates: 0, lost: 0, inDoubt: 0 };
  for (const one of tallies) for (const name of Object.keys(sum) as (keyof Tally)[]) sum[name] += one[name];
  return sum;
}

function tally(intended: readonly Intended[], entries: readonly Entry[]): Tally {
  const keys = new Set(entries.map((entry) => entry.key));
  return {
    intended: intended.length,
    requests: entries.length,
    performed: keys.size,
    duplicates: entries.filter(({ did }) => did === "performed").filter(isDuplicate).length,
    lost: intended.filter((one) => isLost(one, keys)).length,
    inDoubt: intended.filter(({ ended }) => ended?.as === "in_doubt").length,
  };
}

/** What the saga's end closed was never settled. */
const isLost = ({ key, ended }: Intended, keys: ReadonlySet<string>): boolean =>
  ended === undefined || ended.because === "end" || (ended.as === "succeeded" && !keys.has(key));

const isDuplicate = ({ key, input }: Entry, index: number, done: readonly Entry[]): boolean =>
  done
    .slice(0, index)
    .some(
      (earlier) =>
        intentOfKey(earlier.key) === intentOfKey(key) ||
        JSON.stringify(earlier.input) === JSON.stringify(input),
    );

/** A key is `<saga>.<intent>.<digest>`: two keys of one intent are one wish asked for twice. */
const intentOfKey = (key: string): string => key.slice(0, key.lastIndexOf("."));

/** The incarnation that went on, and how long after the kill. */
export interface Recovery {
  readonly by: string;
  readonly ms: number;
}

/**
 * How a kill was recovered from, undefined as long as it was not. A host's: by this turn, the ledger's last one, if it is
 * the first that another host appended. A worker's: by the settled result of the effect that was hit.
 */
export function recoveryOf(
  { kill, pid, key, at }: Strike,
  turn: Turn,
  ledger: Account,
): Recovery | undefined {
  if (kill.role === "host")
    return turn.at >= at && pidOf(turn.host) !== pid ? { by: turn.host, ms: turn.at - at } : undefined;
  const hit = intendedIn(ledger).find((one) => one.key === key);
  const ended = hit?.before ?? hit?.ended;
  return ended && { by: ended.from ?? turn.host, ms: Math.max(0, ended.at - at) };
}
