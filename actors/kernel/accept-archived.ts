/**
 * Accept archived: what an input is to a saga of which only the tombstone is left.
 *
 * AA1 Archiving changes no answer: a start is known or taken, a signal too late, a repeat known, as before.
 * AA2 But a late result that would have corrected the ledger has no ledger to correct: it is refused with
 *     SAGA_ARCHIVED, so that a person hears of it.
 * AA3 Whether a vote stands in the turns that were archived is not known here: it is refused with TASK_OVER, which names
 *     the file that tells.
 */
import { digestOf } from "../../protocol/digest.ts";
import { type ErrorCode, MeshError } from "../../protocol/errors.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import { turnOf } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import type { Acceptance } from "./accept.ts";

/** Judges an input against a tombstone. Pure. Never `new` and never `stale`. */
export function acceptArchived(tombstone: Tombstone, event: Event, now: number): Acceptance {
  if ("intent" in event && turnOf(event.intent) > tombstone.turns)
    return refused("INTENT_UNKNOWN", `${tombstone.saga} has no intent ${event.intent}`);
  switch (event.type) {
    case "start":
      return acceptStart(tombstone, event);
    case "signal":
      return acceptSignal(tombstone, event, now);
    case "result":
      return acceptResult(tombstone, event);
    case "task":
      return acceptVote(tombstone, event);
    case "deferred":
    case "timer":
    case "adopted":
    case "forked":
    case "migrated":
      return { type: "known" };
  }
}

function acceptStart(tombstone: Tombstone, event: EventOf<"start">): Acceptance {
  const { definition, inputDigest, parent } = tombstone;
  const isSame =
    definition.name === event.definition.name &&
    inputDigest === digestOf(event.input) &&
    parent?.saga === event.parent?.saga &&
    parent?.intent === event.parent?.intent;
  return isSame ? { type: "known" } : { type: "taken" };
}

/** Which signals it took is not known any more, nor needed: a repeat comes within the horizon or is too old. */
function acceptSignal(
  { saga, end }: Tombstone,
  { name, sentAt }: EventOf<"signal">,
  now: number,
): Acceptance {
  const ageMs = now - sentAt;
  return ageMs > limits.signalHorizonMs
    ? refused("SIGNAL_EXPIRED", `signal "${name}" is ${Math.round(ageMs / 1000)} s old`)
    : refused("SAGA_ENDED", `${saga} has ended (${end.status}); "${name}" came too late`);
}

/** AA2. */
function acceptResult({ saga, unsettled, file }: Tombstone, event: EventOf<"result">): Acceptance {
  const { intent, result } = event;
  const recorded = Object.hasOwn(unsettled, intent) ? unsettled[intent] : undefined;
  const saysMore =
    recorded !== undefined &&
    (result.outcome === "succeeded" || (result.outcome === "failed" && recorded === "in_doubt"));
  return saysMore
    ? refused(
        "SAGA_ARCHIVED",
        `${intent} of ${saga} was recorded as ${recorded} and ${result.outcome} after all; the saga is in ${file}`,
      )
    : { type: "known" };
}

/** AA3. */
const acceptVote = ({ saga, end, file }: Tombstone, { intent }: EventOf<"task">): Acceptance =>
  refused(
    "TASK_OVER",
    `${saga}/${intent} is over: the saga has ended (${end.status}); who decided it and when stands in ${file}`,
  );

const refused = (code: ErrorCode, detail: string): Acceptance => ({
  type: "refused",
  error: new MeshError(code, detail),
});
