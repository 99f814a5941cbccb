/**
 * Pairs: two runs that share their first turns, thing by thing from where they part.
 *
 * BZ1 What stands beside each other is what both did in the same order, by what was decided: the tool and its arguments, whatever
 *     one of them did between. The first difference is what counts: what comes after it may differ because of it.
 */
import type { TimelineItem } from "../documents.ts";
import { aligned } from "./aligned.ts";

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
  const pairs = aligned(laterThan(ours, turn), laterThan(theirs, turn), { exact: decided, alike: named }).map(
    ([own, other]): Pair => ({ ours: own, theirs: other, differs: differences(own, other) }),
  );
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

/** What it was called with, by its digest where that is known: what is told of it may be cut. */
function given({ kind, args, detail }: TimelineItem): string {
  if (!told.has(kind)) return "";
  return kind === "tool" || kind === "compensation" ? (args ?? detail) : `${detail} ${args ?? ""}`;
}

/** The kind of thing and its name. A decision's name is its number, which says nothing of what was decided. */
const named = ({ kind, label }: TimelineItem): string => (kind === "decision" ? kind : `${kind} ${label}`);

/** The same with what it was called with; of a decision what was said. One in which nothing was said is known by what came of it. */
function decided(item: TimelineItem): string | undefined {
  const isDecision = item.kind === "decision";
  if (isDecision && item.words === undefined) return undefined;
  return JSON.stringify([named(item), isDecision ? item.words : given(item)]);
}

function differences(ours: TimelineItem | undefined, theirs: TimelineItem | undefined): Difference[] {
  if (ours === undefined || theirs === undefined || named(ours) !== named(theirs)) return ["what"];
  return [
    ...(given(ours) === given(theirs) ? [] : ["with" as const]),
    ...(ours.words === theirs.words ? [] : ["words" as const]),
    ...(ours.status === theirs.status ? [] : ["outcome" as const]),
  ];
}
