/**
 * Why, undoing: because of what an effect was undone, as far as the order of the ledger says.
 */
import type { EventOf } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import { ModelReply } from "../../../protocol/model.ts";
import type { StepPlace } from "../../ledger/account.ts";
import { nameOf, type Telling } from "./telling.ts";
import { quoted, reasonOf } from "./words.ts";

/** What the undoing began with. One that follows another has that one's cause. */
export function undoCause(t: Telling, at: StepPlace, id: IntentId): string {
  const { event } = at;
  const before = "intent" in event ? t.undoing.get(event.intent) : undefined;
  const asked = askedBy(t, at);
  const cause = before ?? asked ?? t.calledOff ?? causeOf(t, at);
  t.undoing.set(id, cause);
  return cause;
}

/** The model that named it, in the reply that the step took. */
function askedBy(t: Telling, { event }: StepPlace): string | undefined {
  if (event.type !== "result" || event.result.outcome !== "succeeded") return undefined;
  if (t.views.get(event.intent)?.intent.kind !== "model") return undefined;
  const calls = ModelReply.safeParse(event.result.output).data?.calls;
  const undo = calls?.find(({ tool }) => tool === "undo");
  if (undo === undefined) return undefined;
  const { because } = (undo.input ?? {}) as { because?: unknown };
  return `${nameOf(t, event.intent)} asked for it${typeof because === "string" ? `, because ${quoted(because)}` : ""}`;
}

function causeOf(t: Telling, { event }: StepPlace): string {
  switch (event.type) {
    case "signal": {
      const reason =
        typeof event.data === "string" ? event.data : (event.data as { reason?: unknown } | null)?.reason;
      const why = typeof reason === "string" ? `: ${quoted(reason)}` : "";
      return `it was decided on the signal ${event.name} from ${event.from}${why}`;
    }
    case "result":
      return resultCause(t, event);
    case "timer":
      return `it was decided when ${nameOf(t, event.intent)} had run out of time`;
    case "task":
      return `it was decided on what ${event.vote.by} said of ${nameOf(t, event.intent)}`;
    case "deferred":
    case "start":
    case "adopted":
    case "forked":
    case "migrated":
      return "the ledger names no cause but its order";
  }
}

function resultCause(t: Telling, { intent, result }: EventOf<"result">): string {
  const name = nameOf(t, intent);
  if (result.outcome !== "succeeded") {
    const how =
      result.outcome === "in_doubt"
        ? "was in doubt"
        : result.outcome === "failed"
          ? "failed"
          : `was ${result.outcome}`;
    return `it was decided when ${name} ${how}: ${reasonOf(result)}`;
  }
  return `it was decided on the result of ${name}`;
}
