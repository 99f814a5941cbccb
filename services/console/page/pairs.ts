/**
 * Pairs: two runs that share their first turns, thing by thing from where they part.
 *
 * BZ1 What stands beside each other is what came at the same place after the turn that both share. The first difference is what
 *     counts: what comes after it may differ because of it.
 */
import type { TimelineItem } from "../documents.ts";

export interface Pair {
  readonly ours: TimelineItem | undefined;
  readonly theirs: TimelineItem | undefined;
  /** In what they differ; empty where they are the same. */
  readonly differs: readonly Difference[];
}

/** `what`: another thing was done. `with`: the same with other arguments. */
export type Difference = "what" | "with" | "words" | "outcome";

/** What says of a ledger how it came to be, and not what the saga did. */
const ofTheLedger: ReadonlySet<string> = new Set(["takeover", "vote", "fork", "start", "move"]);

/** BZ1. What both did after the turn they share, or had open then. What a fork asks anew stands in the place of what was asked. */
export function besideEachOther(
  ours: readonly TimelineItem[],
  theirs: readonly TimelineItem[],
  turn: number,
): { readonly pairs: readonly Pair[]; readonly first: number | undefined } {
  const [own, other] = [laterThan(ours, turn), laterThan(theirs, turn)];
  const pairs: Pair[] = [];
  for (let k = 0; k < Math.max(own.length, other.length); k++)
    pairs.push({ ours: own[k], theirs: other[k], differs: differences(own[k], other[k]) });
  const first = pairs.findIndex(({ differs }) => differs.length > 0);
  return { pairs, first: first === -1 ? undefined : first };
}

const laterThan = (items: readonly TimelineItem[], turn: number): TimelineItem[] =>
  items.filter(
    ({ kind, turn: decided, settledTurn = 0, status }) =>
      !ofTheLedger.has(kind) &&
      (decided > turn || ((settledTurn > turn || status === "open") && status !== "superseded")),
  );

/** Of the others it names a moment, a model or a saga, which differ between two runs that do the same. */
const told: ReadonlySet<string> = new Set(["tool", "compensation", "signal", "sent", "denied", "end"]);

function differences(ours: TimelineItem | undefined, theirs: TimelineItem | undefined): Difference[] {
  if (ours === undefined || theirs === undefined || ours.kind !== theirs.kind || ours.label !== theirs.label)
    return ["what"];
  return [
    ...(ours.detail === theirs.detail || !told.has(ours.kind) ? [] : ["with" as const]),
    ...(ours.words === theirs.words ? [] : ["words" as const]),
    ...(ours.status === theirs.status ? [] : ["outcome" as const]),
  ];
}
