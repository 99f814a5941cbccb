/**
 * Values: what of an input its sender chose freely, checked by the one check before the input becomes an event (VX1 of
 * protocol/value.ts), whichever way it came.
 *
 * VK1 A value that is refused costs its input and no more: a signal or a vote is a dead letter, a success is a result that
 *     could not be recorded. That is in doubt where the effect must not be repeated, and a failure for good where it may
 *     be: held as what may stand either way (settle.ts).
 * VK2 Of a deferred call and of a doubt, whose results people and programs outside write, the ledger keeps what the tool's
 *     schema reads.
 * VK3 What a child ends with was bounded where it ended (end.ts), and passes.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import { canonicalJson, type Json } from "../../protocol/json.ts";
import type { Result } from "../../protocol/result.ts";
import {
  describeFault,
  faultOfValue,
  replyLimits,
  type ValueFault,
  valueLimits,
} from "../../protocol/value.ts";
import type { Definition } from "../contract/definition.ts";
import { type Doubt, isDeferred, type OpenIntent, type SagaState } from "../contract/state.ts";
import { readWith } from "../values/schema.ts";
import { withoutUnknown } from "../values/whole.ts";

type Judged = { readonly type: "new"; readonly event: Event } | Refused;
interface Refused {
  readonly type: "refused";
  readonly error: MeshError;
}

const refused = (saga: string, what: string, fault: ValueFault): Refused => ({
  type: "refused",
  error: new MeshError("VALUE_REFUSED", `${what} of ${saga}: ${describeFault(fault)}`),
});

/** Why a signal or a vote cannot be recorded (VK1); undefined if it can. */
export function refusalOfValue({ saga }: SagaState, event: EventOf<"signal" | "task">): Refused | undefined {
  if (event.type === "signal") {
    const fault = faultOfValue(event.data);
    return fault && refused(saga, `signal "${event.name}"`, fault);
  }
  const fault = faultOfValue(event.vote.answer ?? null) ?? faultOfValue(event.vote.input ?? null);
  return fault && refused(saga, `task ${event.intent}`, fault);
}

/** The result of a call that was given up: only the cost counts. */
export function lateResult({ saga }: SagaState, event: EventOf<"result">): Judged {
  const { intent, result } = event;
  const fault = result.outcome === "succeeded" ? faultOfValue(result.output, replyLimits) : undefined;
  return fault === undefined ? { type: "new", event } : refused(saga, intent, fault);
}

/** What corrects a doubt comes from people and programs outside. One that cannot be recorded leaves the doubt as it is. */
export function correction(
  definition: Definition,
  { saga }: SagaState,
  doubt: Doubt,
  event: EventOf<"result">,
): Judged {
  const { intent, result } = event;
  if (result.outcome !== "succeeded") return { type: "new", event };
  const fault = faultOfValue(result.output);
  if (fault !== undefined) return refused(saga, intent, fault);
  const output = asRead(definition, doubt.tool, result.output);
  return { type: "new", event: { ...event, result: { ...result, output } } };
}

/** The result of an open intent as it can be recorded (VK1, VK2). */
export function recordable(
  definition: Definition,
  open: OpenIntent,
  event: EventOf<"result">,
): EventOf<"result"> {
  const { intent } = open;
  const { result } = event;
  if (result.outcome !== "succeeded" || intent.kind === "saga") return event;
  const fault = faultOfValue(result.output, intent.kind === "model" ? replyLimits : valueLimits);
  if (fault !== undefined) return { ...event, result: unrecorded(definition, open, fault) };
  if (intent.kind !== "tool" || !isDeferred(open)) return event;
  return { ...event, result: { ...result, output: asRead(definition, intent.name, result.output) } };
}

/** VK1. */
function unrecorded(definition: Definition, { intent }: OpenIntent, fault: ValueFault): Result {
  const why = { code: "VALUE_REFUSED", reason: `its output cannot be recorded: ${describeFault(fault)}` };
  const effect = intent.kind === "tool" ? definition.tools.get(intent.name)?.effect : undefined;
  return effect === "once" || effect === "probe"
    ? { outcome: "in_doubt", ...why }
    : { outcome: "failed", ...why, retry: false };
}

/** VK2. The output without what the tool's schema leaves out; as it is where that would be read otherwise. */
function asRead({ tools }: Definition, tool: string, output: Json): Json {
  const schema = tools.get(tool)?.output;
  if (schema === undefined) return output;
  const less = withoutUnknown(schema, output);
  if (less === output) return output;
  const [before, after] = [readWith(schema, output), readWith(schema, less)];
  const isSame = before.success && after.success && canonicalJson(before.data) === canonicalJson(after.data);
  return isSame ? less : output;
}
