/**
 * Vote: what a person says of a task, held against its saga's ledger before it is stored.
 *
 * VO1 What can be known here is refused here: a task that is over or is none, people who are not asked, other arguments,
 *     what does not fit. The host's own check is the one that counts; what it refuses after all is in the dead letters.
 */
import { callKeyOf } from "../../actors/kernel/address.ts";
import { DoubtAnswer, refusalByTask } from "../../actors/kernel/task.ts";
import { readWith } from "../../actors/values/schema.ts";
import { BudgetRaise } from "../../protocol/budget.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Vote } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import type { Turn } from "../../protocol/turn.ts";
import { accountOf } from "../ledger/account-reader.ts";
import type { Account, ToldIntent } from "../ledger/account.ts";
import { refusalOfLate, taskOver } from "../ledger/late-vote.ts";
import type { LedgerSource } from "../ledger/reader.ts";
import { accountOfSaga } from "../views/view.ts";
import { patiently } from "../wire/patience.ts";
import type { RegistryPort } from "../wire/ports.ts";
import { checkOutput, faultOf, readRegistry } from "./registry.ts";
import { type ClientDeps, sendVote, voteBy, type VoteInput } from "./send.ts";

/** A task, and the arguments that a vote on it is bound to where it names none itself. */
interface Named {
  readonly saga: SagaId;
  readonly intent: IntentId;
  readonly digest?: string | undefined;
}

/**
 * Stores a vote (VO1). `already`: this very vote is on the ledger, and nothing was stored now. Throws SAGA_UNKNOWN,
 * SAGA_NOT_BEGUN, SAGA_ARCHIVED, TASK_UNKNOWN, TASK_OVER, VOTER_NOT_ASKED, ARGUMENTS_CHANGED, SIGNATURE_INVALID,
 * INPUT_INVALID.
 */
export async function castVote(
  deps: ClientDeps,
  { saga, intent, digest }: Named,
  input: VoteInput,
): Promise<"stored" | "already"> {
  const said = { ...input, digest: input.digest ?? digest };
  const vote = voteBy(deps, said);
  const account = await readAccount(deps, saga);
  const told = account.intents.get(intent);
  if (told?.intent.kind !== "task" || !account.open.has(intent)) {
    const refusal = refusalOfLate(account, { intent, vote });
    if (refusal !== undefined) throw refusal;
    return "already";
  }
  // Only that there will be a signature counts here.
  const refusal = refusalByTask(told.intent, said.signer === undefined ? vote : { ...vote, signature: "" });
  if (refusal !== undefined) throw new MeshError(refusal.code, `task ${saga}/${intent}: ${refusal.reason}`);
  await checkContent(deps.ports.registry, account, { ...told, intent: told.intent }, vote);
  await sendVote(deps, { saga, intent, key: callKeyOf(told.intent) }, said);
  return "stored";
}

/** The account of a saga's ledger; a server that is away is waited for. Throws as `readLedger`. */
export async function readAccount(
  { ports, clock }: Pick<ClientDeps, "clock"> & { readonly ports: LedgerSource },
  saga: SagaId,
): Promise<Account> {
  return patiently(clock, () => accountOfSaga(ports, saga));
}

/** Why the task of this name is not open. */
export function notOpen(account: Account, intent: IntentId): MeshError {
  const told = account.intents.get(intent);
  return told?.intent.kind === "task"
    ? taskOver(account, intent, told)
    : new MeshError("TASK_UNKNOWN", `${account.saga}/${intent} is no task`);
}

/** The same of its turns. */
export const notOpenIn = (turns: readonly Turn[], intent: IntentId): MeshError =>
  notOpen(accountOf(turns), intent);

type ToldTask = ToldIntent & { readonly intent: IntentOf<"task"> };

/** Throws INPUT_INVALID for arguments or an answer that ledger and registry show not to fit. */
async function checkContent(
  registry: Pick<RegistryPort, "list">,
  { intents }: Account,
  { intent: { about, tool, of }, input: shown }: ToldTask,
  { vote, answer = null, input }: Vote,
): Promise<void> {
  if (vote === "edit" && input !== undefined) return checkArguments(registry, tool, input);
  if (vote !== "answer") return;
  const refuse = (fault: string): never => {
    throw new MeshError("INPUT_INVALID", `the answer: ${fault}`);
  };
  if (about === "question") {
    const fault = faultOfAnswer(shown, answer);
    return fault === undefined ? undefined : refuse(fault);
  }
  if (about === "budget") {
    const raise = readWith(BudgetRaise, answer);
    return raise.success ? undefined : refuse(raise.reason);
  }
  const found = readWith(DoubtAnswer, answer);
  if (!found.success) return refuse(found.reason);
  const called = of === undefined ? undefined : intents.get(of)?.intent;
  if (called?.kind === "tool" && found.data.outcome === "happened")
    checkOutput(await readRegistry(registry), called, toJson(found.data.output));
}

/** Where no contract is registered the host decides alone. Throws INPUT_INVALID. */
export async function checkArguments(
  registry: Pick<RegistryPort, "list">,
  tool: string | undefined,
  input: Json,
): Promise<void> {
  const contract = (await readRegistry(registry)).tools.findLast(({ name }) => name === tool);
  const fault = contract === undefined ? undefined : faultOf(contract["input"] as Json, input);
  if (fault !== undefined) throw new MeshError("INPUT_INVALID", `the arguments of ${tool}: ${fault}`);
}

/** Why an answer does not fit what the model that asked says it wants, as a JSON Schema. */
export function faultOfAnswer(asked: Json | undefined, answer: Json): string | undefined {
  if (typeof asked !== "object" || asked === null || Array.isArray(asked) || asked["schema"] === undefined)
    return undefined;
  return faultOf(asked["schema"], answer);
}
