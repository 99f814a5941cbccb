/**
 * View of tasks: what a vote does to a task, as far as a ledger tells it without the definition.
 */
import { standInVote } from "../../actors/kernel/task.ts";
import { digestOf } from "../../protocol/digest.ts";
import type { EventOf, Vote } from "../../protocol/event.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { Step } from "../../protocol/turn.ts";
import { close, type Editable, type Viewing } from "./viewing.ts";

/** Whether this vote settles its task. */
function isSettledBy(said: Viewing["said"], task: IntentOf<"task">, vote: Vote): boolean {
  if (vote.vote === "deny" || (task.about !== "approval" && task.about !== "question")) return true;
  const own = said.get(task.id) ?? new Map<string, string>();
  const word = task.about === "approval" ? "approve" : digestOf(vote.answer ?? null);
  said.set(task.id, own.set(vote.by, word));
  return [...own.values()].filter((one) => one === word).length >= (task.quorum ?? 1);
}

/** What a saga that stands in for a task has said in this step. Undefined if that was not taken: the step says so. */
export function standInSaid(
  step: Step,
  child: { readonly saga: string },
  task: IntentOf<"task">,
  output: Json,
): Vote | undefined {
  const isRefused = step.intents.some(
    (intent) => intent.kind === "denied" && intent.for === task.id && intent.code === "BAD_RESULT",
  );
  const vote = isRefused ? "refused" : standInVote(task, child.saga, output);
  return typeof vote === "string" ? undefined : vote;
}

/** Why a task gave way to the one that follows it. */
export const supersededBy = ({ id, to, after }: IntentOf<"task">): string =>
  after?.because === "edit"
    ? `${after.by ?? "somebody"} changed the arguments; ${id} asks about those`
    : `nobody spoke in time; ${id} asks ${to.join(", ") || "anybody"}`;

/** A vote settles its task, except where more people must say the same. */
export function takeVote(
  v: Viewing,
  { intent: id, vote }: Pick<EventOf<"task">, "intent" | "vote">,
  turn: number,
): void {
  const viewed = v.intents.get(id);
  if (viewed?.intent.kind !== "task" || viewed.outcome !== undefined) return;
  const { about, of } = viewed.intent;
  viewed.by = vote.by;
  // The task that asks about the changed arguments says more; where policies refuse them there is none.
  if (vote.vote === "edit") return close(viewed, "superseded", turn, `${vote.by} changed the arguments`);
  if (!isSettledBy(v.said, viewed.intent, vote)) return;
  if (vote.vote === "deny") return close(viewed, "denied", turn, vote.reason);
  close(viewed, "succeeded", turn);
  viewed.output = vote.answer;
  const doubted = about === "doubt" && of !== undefined ? v.intents.get(of) : undefined;
  if (doubted?.outcome === "in_doubt") settleByAnswer(doubted, vote.answer, vote.by, turn);
}

/** The output of a saga that stands in for people is their vote. */
export function takeStandIn(v: Viewing, step: Step, turn: number): void {
  const { event } = step;
  const child = event.type === "result" ? v.intents.get(event.intent)?.intent : undefined;
  if (event.type !== "result" || event.result.outcome !== "succeeded" || child?.kind !== "saga") return;
  const task = child.for === undefined ? undefined : v.intents.get(child.for)?.intent;
  const vote = task?.kind === "task" ? standInSaid(step, child, task, event.result.output) : undefined;
  if (task !== undefined && vote !== undefined) takeVote(v, { intent: task.id, vote }, turn);
}

/** What a human found out about an effect in doubt. */
function settleByAnswer(doubted: Editable, answer: Json | undefined, by: string, turn: number): void {
  const said = answer as { outcome?: unknown; output?: Json } | null | undefined;
  if (said?.outcome === "happened") close(doubted, "succeeded", turn);
  else if (said?.outcome === "did_not_happen")
    close(doubted, "failed", turn, "a human found that it did not happen");
  else return;
  Object.assign(doubted, { output: said.output, by });
}
