/**
 * Compared: what is shown of one decision of a free run, beside the recorded one of its place. Pure.
 */
import type { DecisionDocument } from "../../protocol/documents/replay.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { compareReplies } from "./agreement.ts";
import type { Answer } from "./ask.ts";
import { costOf } from "./cost.ts";
import type { ToldDecision } from "./decisions.ts";
import type { Normalize } from "./normalize.ts";
import { shown } from "./step-by-step.ts";

/** A decision that was answered: same, different, or beyond what was recorded. `step` counts from 1. */
export function comparedWith(
  counterpart: ToldDecision | undefined,
  intent: IntentOf<"model">,
  { reply, latencyMs, leftOut }: Answer,
  { step, normalize }: { readonly step: number; readonly normalize: Normalize },
): DecisionDocument {
  const head = headOf(counterpart, intent, step);
  const got = { got: shown(reply), ...(leftOut.length === 0 ? {} : { leftOut: [...leftOut] }) };
  const cost = costOf(reply, latencyMs);
  if (counterpart?.reply === undefined)
    return {
      ...head,
      verdict: "beyond",
      what: ["the record holds no such decision"],
      ...got,
      cost: { got: cost },
    };
  const { agreement, what } = compareReplies(counterpart.reply, reply, normalize);
  return {
    ...head,
    verdict: what.length === 0 ? "same" : "different",
    what: [...what],
    agreement,
    recorded: shown(counterpart.reply),
    ...got,
    cost: { recorded: costOf(counterpart.reply, counterpart.latencyMs), got: cost },
  };
}

/** A decision that could not be asked for, and why. */
export const failedDecision = (
  counterpart: ToldDecision | undefined,
  intent: IntentOf<"model">,
  why: string,
  step: number,
): DecisionDocument => ({ ...headOf(counterpart, intent, step), verdict: "failed", what: [why] });

/** A recorded decision that the free run never reached. */
export const skipped = ({
  intent,
  turn,
  step,
  reply,
  without,
  latencyMs,
}: ToldDecision): DecisionDocument => ({
  ...{ intent: intent.id, turn, step, recordedModel: intent.name, request: intent.request },
  verdict: "skipped",
  what: [reply === undefined ? without : "the free run did not come to it"],
  ...(reply === undefined ? {} : { recorded: shown(reply), cost: { recorded: costOf(reply, latencyMs) } }),
});

const headOf = (counterpart: ToldDecision | undefined, intent: IntentOf<"model">, step: number) => ({
  intent: intent.id,
  turn: Number(intent.id.split("-")[0]),
  step,
  recordedModel: counterpart?.intent.name ?? intent.name,
  ...(counterpart === undefined ? {} : { request: counterpart.intent.request }),
  ...(counterpart?.intent.request === intent.request ? {} : { sent: intent.request }),
});
