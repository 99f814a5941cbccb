/**
 * Agent retention: what the agent's machine keeps of its context policy, and what a summary comes to.
 *
 * RT1 A cut is made when the model is asked anew, and never in the middle of a turn that it has only paused.
 * RT2 A summary is asked for before the decision whose request would be cut. Whatever becomes of it, the decision
 *     follows: without a summary the cut is made plainly and the head says why.
 */
import { limits } from "../../protocol/limits.ts";
import type { ModelMessage, ModelReply } from "../../protocol/model.ts";
import type { CuttingPolicy } from "../contract/context-policy.ts";
import {
  type Cut,
  cutAt,
  dueCut,
  emptyRetention,
  isSummarized,
  type Retention,
  said,
} from "../request/retention.ts";

/** The part of the machine's context that is there only where a policy cuts. */
export interface Retained {
  readonly retention?: Retention;
}

export const afterMessage = (
  policy: CuttingPolicy | undefined,
  { retention }: Retained,
  message: ModelMessage,
): Retained =>
  policy === undefined || retention === undefined ? {} : { retention: said(policy, retention, message) };

/** RT1. The message is the last before the model is asked: a cut that needs no summary is made now. */
export function beforeAsking(
  policy: CuttingPolicy | undefined,
  retained: Retained,
  message: ModelMessage,
): Retained {
  const { retention } = afterMessage(policy, retained, message);
  if (policy === undefined || retention === undefined) return {};
  const due = dueCut(policy, retention);
  return due === undefined || isSummarized(policy, retention.cut, due)
    ? { retention }
    : { retention: cutAt(retention, due) };
}

/** The cut that a summary is to be made for (RT2). */
export function summarizedCut(policy: CuttingPolicy | undefined, { retention }: Retained): Cut | undefined {
  if (policy === undefined || retention === undefined) return undefined;
  const due = dueCut(policy, retention);
  return due !== undefined && isSummarized(policy, retention.cut, due) ? due : undefined;
}

/** Where this policy would have cut a conversation whose last message is about to be answered, its summaries left out. */
export function cutOf(policy: CuttingPolicy | undefined, messages: readonly ModelMessage[]): Cut | undefined {
  if (policy === undefined) return undefined;
  const after = (retained: Retained, message: ModelMessage): Retained => {
    const next =
      message.role === "user"
        ? beforeAsking(policy, retained, message)
        : afterMessage(policy, retained, message);
    return summarizedCut(policy, next) === undefined
      ? next
      : afterSummary(policy, next, { code: "NOT_ASKED" });
  };
  return messages.reduce<Retained>(after, { retention: emptyRetention }).retention?.cut;
}

/** What became of a summary: the model's reply, or the code of why there is none. */
export type SummaryEnd = { readonly reply: ModelReply } | { readonly code: string };

/** RT2. The cut is made, with the summary or without. */
export function afterSummary(
  policy: CuttingPolicy | undefined,
  retained: Retained,
  end: SummaryEnd,
): Retained {
  const due = summarizedCut(policy, retained);
  if (due === undefined || retained.retention === undefined) return {};
  const read = "reply" in end ? textOf(end.reply) : end;
  const cut: Cut =
    "code" in read
      ? { ...due, unsummarized: read.code }
      : { ...due, summary: { text: read.text, through: due.from } };
  return { retention: cutAt(retained.retention, cut) };
}

function textOf({ text = "", calls, stop }: ModelReply): { text: string } | { code: string } {
  if (stop === "refusal") return { code: "MODEL_REFUSED" };
  if (stop === "context_full") return { code: "MODEL_CONTEXT_FULL" };
  const isWhole = stop !== "length" && stop !== "pause" && calls.length === 0;
  if (!isWhole || text.trim() === "") return { code: "MODEL_REPLY_INVALID" };
  return text.length > limits.memoryCharactersMax ? { code: "TOO_LARGE" } : { text };
}
