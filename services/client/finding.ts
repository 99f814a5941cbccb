/**
 * Finding: what a person says became of a call, in the words that `settle` and `answer` share.
 *
 * ZF1 A doubt that people were asked about is settled by a vote, whichever way it is said: who is asked, and how many must
 *     say the same, hold for both. Only where none were asked is it the result of an attempt.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { readWith } from "../../actors/values/schema.ts";
import { z } from "zod";
import type { IntentView, SagaView } from "../views/view.ts";
import { checkOutput, type Registered } from "./registry.ts";
import { assertAsked, type ClientDeps, sendVote, settleIntent, type VoteInput } from "./send.ts";
import { type OpenTask, tasksIn } from "./tasks.ts";

/** It happened, with this output; or it did not, and why. */
export type Finding = { readonly succeeded: Json } | { readonly failed: string };

/** The forms of a finding, for help texts. */
export const findingHelp = `{"outcome":"happened","output":OUTPUT} or {"outcome":"did_not_happen","reason":"why"}; {"succeeded":OUTPUT} and {"failed":"why"} say the same`;

const Words = z.union([
  z
    .strictObject({ outcome: z.literal("happened"), output: z.json().default(null) })
    .transform(({ output }) => ({ succeeded: output })),
  z
    .strictObject({ outcome: z.literal("did_not_happen"), reason: z.string().optional() })
    .transform(({ reason }) => ({ failed: reason ?? "a human found that it did not happen" })),
  z.strictObject({ succeeded: z.json() }),
  z.strictObject({ failed: z.string() }),
]);

/** A finding in any of its forms; undefined for anything else. */
export function readFinding(value: Json): Finding | undefined {
  const read = readWith(Words, value);
  return read.success ? read.data : undefined;
}

/** A call that a person may settle, and the task by which people are asked about it, if they are. */
export interface UnsettledCall {
  readonly call: IntentView;
  readonly tool: string;
  readonly task: OpenTask | undefined;
}

/**
 * The call of this id, or that the doubt of this task is about. Throws INTENT_UNKNOWN for what is no call, and for one that
 * is settled, saying how and by whom; what did not succeed may yet have.
 */
export function unsettledCall(view: SagaView, id: IntentId, finding: Finding): UnsettledCall {
  const { saga } = view;
  const named = view.intents.find(({ intent }) => intent.id === id);
  const of = named?.intent.kind === "task" && named.intent.about === "doubt" ? named.intent.of : id;
  const call = view.intents.find(({ intent }) => intent.id === of);
  if (call === undefined) throw new MeshError("INTENT_UNKNOWN", `${saga} has no intent ${id}`);
  const { intent, outcome } = call;
  if (intent.kind !== "tool")
    throw new MeshError("INTENT_UNKNOWN", `${id} of ${saga} is a ${intent.kind}, not a call of a tool`);
  const isOpen = outcome === undefined || outcome === "in_doubt";
  if (!isOpen && !("succeeded" in finding && outcome !== "succeeded"))
    throw new MeshError("INTENT_UNKNOWN", `${intent.id} of ${saga} is settled already: ${howSettled(call)}`);
  const task = tasksIn(view).find((one) => one.about === "doubt" && one.of === intent.id);
  return { call, tool: intent.name, task };
}

/** Whether the call is recorded with this very output: saying so again changes nothing. */
export const isSettledAs = (view: SagaView, id: IntentId, finding: Finding): boolean =>
  "succeeded" in finding &&
  view.intents.some(
    ({ intent, outcome, output = null }) =>
      intent.id === id &&
      intent.kind === "tool" &&
      outcome === "succeeded" &&
      says(finding.succeeded, output),
  );

/** Whether an answer says what is recorded, of which the host has left out what the tool's schema does not read. */
export function says(answer: Json, recorded: Json): boolean {
  if (typeof answer !== "object" || typeof recorded !== "object" || answer === null || recorded === null)
    return answer === recorded;
  if (Array.isArray(answer) !== Array.isArray(recorded)) return false;
  if (Array.isArray(answer) && Array.isArray(recorded) && answer.length !== recorded.length) return false;
  const [given, kept] = [new Map(Object.entries(answer)), Object.entries(recorded)];
  return kept.every(([key, one]) => given.has(key) && says(given.get(key) ?? null, one));
}

/** How a call ended, by whose word. */
const howSettled = ({ outcome, by, settledTurn }: IntentView): string =>
  `${outcome ?? "open"}${by === undefined ? "" : ` by ${by}`}${settledTurn === undefined ? "" : ` in turn ${settledTurn}`}`;

/** Who says it, where it is a vote. */
export type Finder = Pick<VoteInput, "by" | "as" | "signer">;

/**
 * Stores what was found of a call (ZF1). Throws INPUT_INVALID for an output that the tool does not give, and
 * VOTER_NOT_ASKED where people were asked, and this is none of them.
 */
export async function settleCall(
  deps: ClientDeps,
  registered: Registered,
  { saga, ...unsettled }: UnsettledCall & Pick<SagaView, "saga">,
  finding: Finding,
  who: Finder = {},
): Promise<"vote" | "result"> {
  const { call, tool, task } = unsettled;
  const contract = call.intent.kind === "tool" ? call.intent.contract : undefined;
  if ("succeeded" in finding) checkOutput(registered, { name: tool, contract }, finding.succeeded);
  if (task !== undefined) {
    assertAsked(task, { by: who.by ?? deps.from, as: who.as });
    await sendVote(deps, task, { ...who, vote: "answer", answer: answerOf(finding) });
    return "vote";
  }
  const isDoubt = call.outcome === "in_doubt";
  const result = "failed" in finding && isDoubt ? { ...finding, code: "NOT_PERFORMED" as const } : finding;
  await settleIntent(deps, { saga, intent: call.intent.id, attempt: call.attempt }, result);
  return "result";
}

/** A finding as a doubt's task takes it. */
export const answerOf = (finding: Finding): Json =>
  "succeeded" in finding
    ? { outcome: "happened", output: finding.succeeded }
    : { outcome: "did_not_happen", reason: finding.failed };
