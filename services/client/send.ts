/**
 * Send: what outsiders tell a saga. Each is one message to its inbox, stored when the promise resolves; a repeat with the
 * same `id` or content counts once.
 *
 * ZA1 Whether it is a repeat its saga says, which has it on its ledger, and never the server: each has a Msg-Id of its own,
 *     for the saga's ledger may have been set back since the first one was taken.
 */
import { mayVote } from "../../actors/kernel/task.ts";
import { reservedSignals } from "../../actors/contract/reserved-signals.ts";
import { type ErrorCode, MeshError } from "../../protocol/errors.ts";
import type { Vote } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import { assertValue, toValue } from "../../protocol/value.ts";
import { encodeBody, makeHeaders } from "../wire/messages.ts";
import { patiently } from "../wire/patience.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import { type Signer, signVote } from "../wire/signing.ts";

/** What a client lives on. */
export interface ClientDeps {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Who speaks; recorded with signals and votes as given. */
  readonly from: string;
}

/** Throws STORAGE_RESERVED while what is left to store in is kept for what runs. */
async function assertTaken({ ports: { intake } }: ClientDeps): Promise<void> {
  const refusal = await intake?.refusal();
  if (refusal !== undefined) throw refusal;
}

/**
 * Stores a signal; `id` is what repeats are recognised by. `known`: whether there is such a saga, which is asked beside all else and
 * waited for first. Throws STORAGE_RESERVED, and what `known` throws.
 */
export async function sendSignal(
  deps: ClientDeps,
  saga: SagaId,
  name: string,
  data: Json,
  id?: string,
  known: Promise<void> = Promise.resolve(),
): Promise<void> {
  // What steers a saga is taken until nothing is.
  const taken = Object.hasOwn(reservedSignals, name) ? undefined : assertTaken(deps);
  taken?.catch(() => undefined); // Waited for below.
  await known;
  const own = id ?? `${deps.from}-${deps.chance.nonce()}`;
  assertValue(data, `signal "${name}"`);
  await taken;
  return publishInput(deps, {
    subject: subjects.signal(saga, name),
    saga,
    body: data,
    id: own,
    msgId: `${saga}:signal:${own}:${deps.chance.nonce()}`, // ZA1
  });
}

/**
 * Stores the result of an attempt: of a deferred call, or of an effect in doubt. The same result stored twice
 * counts once; one for an intent that is settled changes nothing.
 */
export async function settleIntent(
  deps: ClientDeps,
  { saga, intent, attempt }: { saga: SagaId; intent: IntentId; attempt: number },
  result: { succeeded: unknown } | { failed: string; code?: ErrorCode },
): Promise<void> {
  const said =
    "succeeded" in result
      ? { outcome: "succeeded", output: toValue(result.succeeded) }
      : { outcome: "failed", code: result.code ?? "TOOL_FAILED", reason: result.failed, retry: false };
  const body = { attempt, by: deps.from, ...said };
  return publishInput(deps, {
    subject: subjects.result(saga, intent),
    saga,
    body,
    msgId: `${saga}:result:${intent}:${attempt}:${said.outcome}:${deps.chance.nonce()}`, // ZA1
  });
}

/** What a person says of a task. `by` is the mesh's `from` unless given; it is a claim, as is the role `as`. */
export interface VoteInput {
  readonly vote: "approve" | "deny" | "answer" | "edit";
  readonly answer?: unknown;
  /** The arguments that an edit puts in the place of the model's. */
  readonly input?: unknown;
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  readonly as?: string | undefined;
  /** Of the arguments that were shown. */
  readonly digest?: string | undefined;
  /** The voter's own key. What is signed names the arguments only with their digest. */
  readonly signer?: Signer | undefined;
}

/** A task by its name, or as it was listed. */
export interface VotedTask {
  readonly saga: string;
  readonly intent: string;
  readonly to?: readonly string[];
  readonly digest?: string;
}

/** Throws VOTER_NOT_ASKED for what the host would refuse. */
export function assertAsked(
  { saga, intent, to = [] }: VotedTask,
  voter: { by: string; as?: string | undefined },
): void {
  if (mayVote(to, voter)) return;
  const who = `${voter.by}${voter.as === undefined ? "" : ` as ${voter.as}`}`;
  throw new MeshError("VOTER_NOT_ASKED", `${saga}/${intent} is for ${to.join(", ")}, not for ${who}`);
}

/** A vote as it is sent, but for its signature. */
export function voteBy(
  { from }: Pick<ClientDeps, "from">,
  { vote, answer, input, reason, by = from, as, digest }: VoteInput,
): Vote {
  return {
    vote,
    by,
    ...(as === undefined ? {} : { as }),
    ...(digest === undefined ? {} : { digest }),
    ...(reason === undefined ? {} : { reason }),
    ...(answer === undefined ? {} : { answer: toValue(answer) }),
    ...(input === undefined ? {} : { input: toValue(input) }),
  };
}

/** Stores a vote on a task; `key` is what was asked, where that was read (QZ3 of actors/kernel/address.ts). */
export async function sendVote(
  deps: ClientDeps,
  task: { saga: SagaId; intent: IntentId; key?: string | undefined },
  said: VoteInput,
): Promise<void> {
  const { saga, intent, key } = task;
  const id = `${deps.from}-${deps.chance.nonce()}`;
  const { signer } = said;
  const unsigned = voteBy(deps, said);
  const body = signer === undefined ? unsigned : { ...unsigned, signature: signVote(signer, task, unsigned) };
  return publishInput(deps, {
    subject: subjects.task(saga, intent),
    saga,
    body,
    id,
    key,
    msgId: `${saga}:task:${intent}:${id}`,
  });
}

/** Stores a message for a saga, and waits through a server that is away. */
export async function publishInput(
  deps: ClientDeps,
  {
    subject,
    saga,
    body,
    id,
    key,
    msgId,
  }: {
    subject: string;
    saga: SagaId;
    body: unknown;
    id?: string;
    key?: string | undefined;
    msgId?: string;
  },
): Promise<void> {
  const { data, contentType } = await encodeBody(deps.ports.blobs, body);
  const message = {
    subject,
    data,
    headers: makeHeaders({
      [headers.saga]: saga,
      [headers.event]: id,
      [headers.key]: key,
      [headers.from]: deps.from,
      [headers.contentType]: contentType,
    }),
    ...(msgId === undefined ? {} : { msgId }),
  };
  await patiently(deps.clock, () => deps.ports.inbox.publish(message));
}
