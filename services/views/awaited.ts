/**
 * Awaited: which signals a saga waits for, by what its model said.
 *
 * WZ1 A wait is a call of the model's. With a time it has a timer, decided in the turn that took the reply; without one
 *     no intent stands for it, so the reply itself is what tells.
 * WZ2 It is over as soon as the model is asked again: that is how an agent goes on.
 */
import { reservedCalls } from "../../actors/request/conversation.ts";
import type { IntentDocument } from "../../protocol/documents/intent.ts";
import type { AwaitedDocument } from "../../protocol/documents/saga.ts";
import { minOf } from "../../protocol/extremes.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { SagaView } from "./viewing.ts";

/** Of an intent what tells of waits. */
type Told = Pick<IntentDocument, "intent" | "turn"> & {
  readonly outcome?: IntentDocument["outcome"] | undefined;
  readonly output?: IntentDocument["output"] | undefined;
  readonly settledTurn?: number | undefined;
};

/** What an agent waits for that has not ended; undefined where no wait of a model is open. */
export function awaitedBy(intents: readonly Told[]): AwaitedDocument | undefined {
  const last = intents.findLast(({ intent }) => intent.kind === "model"); // WZ2
  const waits = last === undefined ? [] : waitsIn(last);
  if (waits.length === 0) return undefined;
  const times = intents.flatMap(({ intent, turn, outcome }) =>
    intent.kind === "timer" && intent.for === undefined && turn === last?.settledTurn && outcome === undefined
      ? [intent.dueAt]
      : [],
  );
  const named = signalsOf(waits);
  return {
    ...(named === undefined ? {} : { signals: [...named] }),
    ...(times.length === 0 ? {} : { until: minOf(times) }),
  };
}

/**
 * What a saga waits for that only a signal moves on: it goes on, and nothing is open, no timer, call, child or task.
 * Undefined where something else may move it on. A budget's time does not: it is looked at when a decision is due.
 */
export const onlyAwaited = ({
  phase,
  open,
  intents,
}: Pick<SagaView, "phase" | "open" | "intents">): AwaitedDocument | undefined =>
  phase === "running" && open.length === 0 ? (awaitedBy(intents) ?? {}) : undefined;

/** The signals of the wait that a timer is the time of; undefined where it is no wait's. `[]` is any signal. */
export function waitOf(intents: readonly Told[], timer: Told): readonly string[] | undefined {
  if (timer.intent.kind !== "timer" || timer.intent.for !== undefined) return undefined;
  const asked = intents.findLast(
    ({ intent, settledTurn }) => intent.kind === "model" && settledTurn === timer.turn,
  );
  const waits = asked === undefined ? [] : waitsIn(asked);
  return waits.length === 0 ? undefined : (signalsOf(waits) ?? []);
}

interface Wait {
  readonly signals?: readonly string[] | undefined;
}

function waitsIn({ outcome, output }: Told): readonly Wait[] {
  const reply = outcome === "succeeded" ? ModelReply.safeParse(output) : undefined;
  if (reply?.success !== true) return [];
  return reply.data.calls.flatMap(({ tool, input }) => {
    const wait = tool === "wait" ? reservedCalls.wait.safeParse(input) : undefined;
    return wait?.success === true ? [wait.data] : [];
  });
}

/** The names together; undefined if one takes any. */
const signalsOf = (waits: readonly Wait[]): readonly string[] | undefined =>
  waits.some(({ signals }) => signals === undefined)
    ? undefined
    : [...new Set(waits.flatMap(({ signals = [] }) => signals))];

/**
 * In words, by the signals that the definition declares where they are known. A machine that rests waits for one of
 * them; which one only its state tells.
 */
export function describeAwaited(
  { signals, until }: AwaitedDocument,
  declared: readonly string[] = [],
): string {
  const any = declared.length === 0 ? "signal" : `any signal (${declared.join(", ")})`;
  const what = signals === undefined ? any : `signal ${signals.join(", ")}`;
  return until === undefined
    ? what
    : `${what} until ${new Date(until).toISOString().replace("T", " ").slice(0, 19)}`;
}
