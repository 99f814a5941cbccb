/**
 * Late vote: what becomes of a vote whose task is not open, by the ledger that tells how the task ended.
 *
 * LZ1 A vote that the ledger has already, word for word, is a repeat. Every other one is refused with TASK_OVER, which says
 *     who decided what and when, so that nobody takes their word for counted that was not.
 */
import { recordedVote } from "../../actors/kernel/task.ts";
import { digestOf } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { EventOf, Vote } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Account, Ended, ToldIntent } from "./account.ts";
import { reasonOf } from "./closing-words.ts";

/** Why a vote does not count whose task the account does not have open; undefined for a repeat (LZ1). */
export function refusalOfLate(
  account: Account,
  { intent: id, vote }: Pick<EventOf<"task">, "intent" | "vote">,
): MeshError | undefined {
  const { saga } = account;
  const told = account.intents.get(id);
  if (told?.intent.kind !== "task") return new MeshError("TASK_UNKNOWN", `${id} of ${saga} is no task`);
  return hasSaid(told, told.intent, vote) ? undefined : taskOver(account, id, told);
}

/** Whether this very vote stands on the ledger. A signature says who holds a key, and nothing more of the task. */
export function hasSaid({ said }: Pick<ToldIntent, "said">, task: IntentOf<"task">, vote: Vote): boolean {
  if (vote.digest !== undefined && vote.digest !== task.digest) return false;
  const digest = wordsOf(recordedVote(task, vote));
  return said.some((one) => one.through === undefined && wordsOf(one.vote) === digest);
}

const wordsOf = ({ signature: _signature, ...words }: Vote): string => digestOf(words);

/** Why a task takes no vote any more: by whom it was decided and when, or what else ended it. */
export function taskOver(account: Account, id: IntentId, told: ToldIntent): MeshError {
  const { ended } = told;
  return new MeshError("TASK_OVER", `${account.saga}/${id} is over: ${howEnded(account, told, ended)}`, {
    remedy: remedyFor(account.saga, id),
  });
}

const remedyFor = (saga: SagaId, id: IntentId): string =>
  `\`sagamesh tasks show ${saga}/${id}\` shows all that was said; \`sagamesh tasks\` lists the open ones.`;

function howEnded(account: Account, told: ToldIntent, ended: Ended | undefined): string {
  if (ended === undefined) return "it is not open";
  const at = new Date(ended.at).toISOString();
  const why = reasonOf(account, told);
  return `${deedOf(told, ended)} at ${at}${why === undefined ? "" : `: ${why}`}`;
}

/** Whose word it was: a vote on it, the end of the saga that stands in, the result that settled its doubt, or nobody's. */
function deedOf(told: ToldIntent, { as, event }: Ended): string {
  if (event.type === "task" && event.intent === told.intent.id)
    return `it was ${deeds[event.vote.vote]} by ${nameOf(event.vote)}`;
  if (event.type === "result") return `it ended as ${as} by ${event.by}`;
  return event.type === "task" ? `it ended as ${as} by ${nameOf(event.vote)}` : `it ended as ${as}`;
}

const nameOf = ({ by, as }: Vote): string => `${by}${as === undefined ? "" : ` as ${as}`}`;

const deeds = { approve: "approved", deny: "denied", answer: "answered", edit: "edited" } as const;
