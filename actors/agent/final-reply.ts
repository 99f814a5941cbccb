/**
 * Parting: the one reply that an agent is asked for when it is called off, if its definition wants that.
 *
 * FR1 What is undone does not rest on it: whatever the reply says or leaves out, everything reversible that stands is
 *     undone after it, and the saga ends cancelled.
 * FR2 It holds nothing up for longer than its own calls take: it may not wait, ask, hand over or finish. A second
 *     cancel ends it at once.
 */
import type { MessagePart } from "../../protocol/model.ts";
import type { AgentSpec } from "../request/agent-spec.ts";
import { onlyTaken, type Reading, type StartedCall } from "./reply.ts";

/** Not twice, and not by one that has handed its work over. */
export const mayPart = (
  { whenCancelled }: AgentSpec,
  { ended, handedOff }: { readonly ended?: unknown; readonly handedOff?: string },
): boolean => whenCancelled === "ask" && ended === undefined && handedOff === undefined;

const words = [
  "You are called off, and this is your last reply.",
  "Its calls are still carried out: tell those concerned what they must know.",
  "Then everything you did that can be undone is undone without you, and this work ends: leave that, or name with undo what must go first.",
  "Do not finish, wait, ask or hand over.",
].join(" ");

/** What the model is told when it is called off. */
export const partingParts = ({
  reason,
  at,
  from = "outside",
}: {
  readonly reason: string;
  readonly at: number;
  readonly from?: string;
}): MessagePart[] => [
  { type: "signal", name: "cancel", data: { reason }, at, from },
  { type: "text", text: words },
];

const isTaken = (call: StartedCall): boolean =>
  call.type === "actor" && call.tool !== "hand_off" && call.tool !== "ask";

/** FR2. The reading of the last reply: no end but the one that is coming, and nothing that only waits. */
export function partingOf(reading: Reading): Reading {
  const { finish: _finish, fail: _fail, ...rest } = reading;
  return onlyTaken({ ...rest, repair: false }, isTaken, {
    code: "CANCELLED",
    reason: "the work is called off: nothing is waited for any more",
  });
}
