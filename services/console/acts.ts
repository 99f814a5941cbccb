/**
 * Acts: what a person does through the console, each checked and sent exactly as the command line does it.
 */
import { Effects } from "../../protocol/fork.ts";
import { parseIntentId, parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { toValue } from "../../protocol/value.ts";
import { settleFound } from "../bulk/settle.ts";
import { readFinding } from "../client/finding.ts";
import { forkBegun } from "../client/fork-begun.ts";
import { newestLetter } from "../client/refusal.ts";
import type { ClientDeps } from "../client/send.ts";
import { signalSaga } from "../client/signal.ts";
import { startFork } from "../client/start.ts";
import { castVote } from "../client/vote.ts";
import { ledgerInPages } from "../views/view.ts";
import { membersOf, nameMax, reasonMax, textIn } from "./body.ts";
import type { ForkedAnswer, VoteBody } from "./documents.ts";
import type { Who } from "./guard.ts";
import type { MeshTeller } from "./mesh.ts";

const votes: readonly string[] = ["approve", "deny", "answer", "edit"] satisfies VoteBody["vote"][];
const instructionsMax = 100_000;
/** As long as an id may be. */
const sagaIdMax = 64;

/**
 * Stores a vote. The same vote again is known by its saga. Throws USAGE, ACT_REFUSED, TASK_UNKNOWN, TASK_OVER, VOTER_NOT_ASKED,
 * ARGUMENTS_CHANGED, INPUT_INVALID, UNAVAILABLE.
 */
export async function vote(
  deps: ClientDeps,
  who: Who,
  { saga, task }: { readonly saga: SagaId; readonly task: string },
  said: unknown,
): Promise<void> {
  const body = membersOf(said);
  const kind = body["vote"];
  if (typeof kind !== "string" || !votes.includes(kind))
    throw new MeshError("USAGE", `a vote is one of ${votes.join(", ")}`);
  const voter = voterIn(who, body);
  const [reason, digest] = [textIn(body, "reason", reasonMax), textIn(body, "digest", nameMax)];
  await castVote(
    deps,
    { saga, intent: parseIntentId(task), ...(digest === undefined ? {} : { digest }) },
    {
      vote: kind as VoteBody["vote"], // It is one of them.
      ...voter,
      ...(reason === undefined ? {} : { reason }),
      ...(body["answer"] === undefined ? {} : { answer: body["answer"] }),
      ...(body["input"] === undefined ? {} : { input: body["input"] }),
    },
  );
}

/**
 * Stores a signal. What is sent again under the same id is the same signal, so a page whose request was cut off may send it
 * again, also once the saga has ended by it. Throws USAGE, SAGA_UNKNOWN, SAGA_ENDED, SIGNAL_UNKNOWN, INPUT_INVALID, UNAVAILABLE.
 */
export async function signal(deps: ClientDeps, saga: SagaId, said: unknown): Promise<void> {
  const body = membersOf(said);
  const [name, id] = [textIn(body, "name", nameMax), textIn(body, "id", nameMax)];
  if (name === undefined || id === undefined || !/^[\w-]{8,100}$/.test(id))
    throw new MeshError("USAGE", "a signal has a name, and an id that repeats are known by");
  const own = `console-${id}`;
  try {
    await signalSaga(deps, saga, { name, data: toValue(body["data"] ?? null), id: own });
  } catch (error) {
    if (!isMeshError(error, "SAGA_ENDED") || !(await isTaken(deps, saga, own))) throw error;
  }
}

/** Whether the ledger holds the signal. */
async function isTaken({ ports }: ClientDeps, saga: SagaId, signalId: string): Promise<boolean> {
  for await (const turns of ledgerInPages(ports, saga))
    for (const { turn } of turns)
      if (turn.steps.some(({ event }) => event.type === "signal" && event.id === signalId)) return true;
  return false;
}

/**
 * Stores what a person found of a call that is open or in doubt: a vote where people were asked about it, else its result. What
 * is settled so already is left so. Throws USAGE, ACT_REFUSED, INTENT_UNKNOWN, INPUT_INVALID, VOTER_NOT_ASKED, SAGA_UNKNOWN,
 * UNAVAILABLE.
 */
export async function settle(deps: ClientDeps, who: Who, saga: SagaId, said: unknown): Promise<void> {
  const body = membersOf(said);
  const intent = parseIntentId(textIn(body, "intent", nameMax) ?? "");
  const finding = readFinding(toValue(body["finding"] ?? null));
  if (finding === undefined) throw new MeshError("USAGE", "a finding says whether it happened");
  await settleFound(deps, { saga, intent }, finding, voterIn(who, body));
}

/**
 * As whom somebody speaks: whom a proxy names is that one and in no other group; where none does, a name is a claim, as it is on
 * the command line. Throws ACT_REFUSED, USAGE.
 */
export function voterIn(
  { name, groups = [] }: Who,
  body: Readonly<Record<string, unknown>>,
): { readonly by?: string; readonly as?: string } {
  const [by = name, as] = [textIn(body, "by", nameMax), textIn(body, "as", nameMax)];
  if (name !== undefined && by !== name)
    throw new MeshError("ACT_REFUSED", `you are ${name} here, and cannot speak as ${by}`);
  if (name !== undefined && as !== undefined && !groups.includes(as))
    throw new MeshError("ACT_REFUSED", `${name} is not in ${as}, by what the proxy says`);
  return { ...(by === undefined ? {} : { by }), ...(as === undefined ? {} : { as }) };
}

/**
 * Starts a fork, and waits a while for a host to take it. The same again, under the same id, is the same fork. Throws USAGE,
 * TURN_UNKNOWN, SAGA_ENDED, SAGA_UNKNOWN, SAGA_ID_TAKEN, and why a host refused it.
 */
export async function fork(deps: ClientDeps, origin: SagaId, said: unknown): Promise<ForkedAnswer> {
  const body = membersOf(said);
  const [word, model] = [textIn(body, "id", nameMax), textIn(body, "model", nameMax)];
  const instructions = textIn(body, "instructions", instructionsMax);
  if (word === undefined || !/^[a-z0-9]{8,32}$/.test(word))
    throw new MeshError("USAGE", "a fork has an id that repeats are known by");
  const from = body["turn"];
  if (typeof from !== "number" || !Number.isSafeInteger(from) || from < 1)
    throw new MeshError("USAGE", "turn is the last one that both share");
  const effects = Effects.safeParse(body["effects"] ?? "simulated");
  if (!effects.success) throw new MeshError("USAGE", `effects is one of ${Effects.options.join(", ")}`);
  const suffix = `-fork-${word}`;
  const id = parseSagaId(`${origin.slice(0, sagaIdMax - suffix.length)}${suffix}`);
  const since = await newestLetter(deps.ports);
  const { turn } = await startFork(deps, origin, {
    ...{ from, id, effects: effects.data },
    ...(model === undefined ? {} : { model }),
    ...(instructions === undefined ? {} : { instructions }),
  });
  return { saga: id, begun: (await forkBegun(deps, { id, turn, since })) === "begun" };
}

/** Sends what was set aside again, or throws it away. Throws USAGE, LETTER_UNKNOWN, SAGA_ID_TAKEN, UNAVAILABLE. */
export async function settleLetter(mesh: MeshTeller, seq: number, said: unknown): Promise<void> {
  const how = membersOf(said)["do"];
  if (how !== "retry" && how !== "drop") throw new MeshError("USAGE", "a letter is sent again or dropped");
  await mesh.settle(seq, how);
}
