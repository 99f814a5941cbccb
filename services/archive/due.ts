/**
 * Due: whether a saga may be archived, and what its tombstone must say. Both from its view; pure.
 *
 * DU1 Only a saga that is over: it has ended, nothing that was decided after the end is open, and its parent was told.
 * DU2 One with an effect in doubt only when forced: a person is still to find out, and the ledger is where what they
 *     find is recorded.
 */
import { digestOf } from "../../protocol/digest.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { ArchivedEnd, Tombstone } from "../../protocol/tombstone.ts";
import type { SagaView } from "../views/view.ts";

/** Why the saga stays, or undefined if it may be archived. */
export function reasonToKeep(view: SagaView, isForced: boolean): string | undefined {
  const [firstEnd] = view.intents.filter(({ intent }) => intent.kind === "end");
  if (firstEnd === undefined) return "it has not ended";
  if (view.phase !== "ended" || view.open.length > 0) return "it is awake again since its end";
  if (view.parent !== undefined && firstEnd.outcome === undefined)
    return "its parent has not been told of its end";
  const doubtful = view.effects.find(({ outcome }) => outcome === "in_doubt");
  return doubtful === undefined || isForced
    ? undefined
    : `${doubtful.intent} (${doubtful.tool}) is in doubt; settle it, or use --force`;
}

/** What the tombstone says of the saga, beside the archive itself. */
export function remainsOf(
  view: SagaView,
): Pick<
  Tombstone,
  "definition" | "parent" | "fork" | "inputDigest" | "startedAt" | "endedAt" | "end" | "unsettled"
> {
  const { definition, parent, fork, input, startedAt, updatedAt: endedAt } = view;
  return {
    definition,
    ...(parent === undefined ? {} : { parent }),
    ...(fork === undefined ? {} : { fork: forkOf(fork) }),
    inputDigest: digestOf(input),
    startedAt,
    endedAt,
    end: endOf(view),
    unsettled: unsettledIn(view),
  };
}

const forkOf = ({ saga, turn, effects }: NonNullable<SagaView["fork"]>): NonNullable<Tombstone["fork"]> => ({
  saga,
  turn,
  ...(effects === undefined ? {} : { effects }),
});

function endOf({ end }: SagaView): ArchivedEnd {
  const { kind: _kind, id: _id, ...rest } = end as NonNullable<typeof end>; // Proof: reasonToKeep found one.
  return rest;
}

/**
 * Intents of which a late result would still say something new. A ledger does not tell which failures left nothing
 * outside, so it is rather one too many: of such a result a person hears.
 */
function unsettledIn({ intents }: SagaView): Tombstone["unsettled"] {
  const unsettled: Record<IntentId, "in_doubt" | "failed" | "cancelled"> = {};
  for (const { intent, outcome } of intents) {
    if (intent.kind !== "tool" && intent.kind !== "model") continue;
    if (intent.kind === "tool" && intent.reads === true) continue;
    if (outcome === "in_doubt" || outcome === "failed") unsettled[intent.id] = outcome;
    else if (outcome === "cancelled" || outcome === "superseded") unsettled[intent.id] = "cancelled";
  }
  return unsettled;
}
