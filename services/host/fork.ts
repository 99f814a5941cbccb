/**
 * Fork: a saga that begins with the turns of another.
 *
 * FO1 What is asked for is judged by a fold of the origin's turns before the first of them is copied: what is refused
 *    leaves no ledger.
 * FO2 Copies are the same bytes in every host, appended one by one like any turn. A host that dies in the middle
 *    leaves a ledger that is shorter than its own lineage says; the start is not acked, and the host that takes it next goes
 *    on. Until the turn after the copies, which records `forked`, nothing of the fork is performed or handed on.
 * FO3 What the origin recorded, since, of what was open is taken over in that turn, with who observed it.
 */
import { isAgent } from "../../actors/agent/kind.ts";
import { accept } from "../../actors/kernel/accept.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { readWith } from "../../actors/values/schema.ts";
import { isInFlight } from "../../actors/kernel/fork.ts";
import { forbidden, inheritedTurns } from "../../actors/kernel/lineage.ts";
import { foldingLedger, presentDefinition } from "../../actors/kernel/replay.ts";
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { type DefinitionRef, type Event, type EventOf, StartMessage } from "../../protocol/event.ts";
import type { ForkOrder } from "../../protocol/fork.ts";
import { type IntentId, type SagaId, turnOf } from "../../protocol/ids.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import { headers } from "../../protocol/subjects.ts";
import type { Turn } from "../../protocol/turn.ts";
import { assertNotArchived, emptyHead, type Head, readTurns, type StoredTurn } from "../ledger/reader.ts";
import { assertValue, replyLimits, valueLimits } from "../../protocol/value.ts";
import { readBody } from "../wire/messages.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { notOpen, openSpan } from "../ledger/open-span.ts";
import { patiently } from "../wire/patience.ts";
import type { Delivery } from "../wire/ports.ts";
import { recordedPrices } from "../app/prices.ts";
import { appendTurn } from "./append.ts";
import { wholeConversation } from "./conversation.ts";
import type { HostDeps } from "./host-deps.ts";
import type { Loaded } from "./load.ts";
import { noSnapshot } from "./snapshots.ts";
import { definitionSetBy, encodeAs, traceIdOf } from "./turn-message.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { foldInPieces } from "./fold-up.ts";
import { keyOf } from "../suspects/saga-key.ts";

/** What the activation that begins a fork gives. */
export interface ForkStart {
  readonly saga: SagaId;
  readonly start: EventOf<"start">;
  readonly delivery: Delivery;
  /** The ledger as far as it was copied before. */
  readonly copied: Loaded | undefined;
  readonly isGone: () => boolean;
}

/** `begun`: the shared turns are copied, and `events` are the turn after them. `fenced`: another host copies. */
export type ForkBegun =
  | { readonly type: "begun"; readonly loaded: Loaded; readonly events: Event[] }
  | { readonly type: "refused"; readonly error: MeshError }
  | { readonly type: "fenced" };

/** Throws UNAVAILABLE, and FOLD_DIVERGED where the shared turns do not fold here. */
export async function beginFork(deps: HostDeps, begin: ForkStart): Promise<ForkBegun> {
  const { saga, start, delivery, copied, isGone } = begin;
  try {
    const { fork: order } = await readBody(deps.ports.blobs, delivery, StartMessage);
    if (order === undefined) throw new MeshError("INTERNAL", "a fork's start has its order");
    const origin = await readOrigin(deps, start, order);
    const all = origin.map(({ turn }) => turn);
    const turns = inheritedTurns(all, saga, lineageOf(start));
    const definition = deps.app.definition(start.definition);
    if (definition === undefined)
      throw new MeshError("INTERNAL", "a start names a definition of this application");
    const { state, messages } = await foldInPieces(deps, saga, foldingLedger(definition, turns));
    const since = all.slice(order.turn);
    const from = delivery.headers[headers.from] ?? "outside";
    const asked = { saga, order, from, sentAt: delivery.storedAt, at: deps.clock.now() };
    const decide = () => eventsOf(deps, { definition, state, all, since, asked });
    const events = deps.holding.during(keyOf(saga), "the start of a fork", decide);
    const head = await copy(deps, turns, { copied, isGone });
    if (head === undefined) return { type: "fenced" };
    const grown = origin.slice(0, order.turn).reduce((sum, { bytes }) => sum + bytes, 0);
    const loaded = {
      definition,
      state,
      head,
      snapshot: { ...noSnapshot, grown },
      conversation: wholeConversation(messages),
    };
    return { type: "begun", loaded, events };
  } catch (error) {
    if (!isMeshError(error) || error.retriable || error.code === "FOLD_DIVERGED") throw error;
    return { type: "refused", error };
  }
}

const lineageOf = ({ fork }: EventOf<"start">): NonNullable<EventOf<"start">["fork"]> => {
  if (fork === undefined) throw new MeshError("INTERNAL", "only a fork's start comes here");
  return fork;
};

async function readOrigin(
  deps: HostDeps,
  { definition }: EventOf<"start">,
  { saga, turn, head }: ForkOrder,
): Promise<StoredTurn[]> {
  const last = await patiently(deps.clock, () => lastTurnOf(deps.ports, saga));
  if (last === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga} to fork from`);
  await assertNotArchived(deps.ports.blobs, last);
  const turns = await patiently(deps.clock, () => readTurns(deps.ports, saga, emptyHead, last.seq));
  const shared = turns[turn - 1];
  if (shared === undefined)
    throw new MeshError(
      "TURN_UNKNOWN",
      `${saga} has ${turns.length} turns, and no turn ${turn} to fork from`,
    );
  if (shared.head.hash !== head)
    throw new MeshError("LEDGER_BROKEN", `turn ${turn} of ${saga} is not the one that was to be forked from`);
  const through = turns.slice(0, turn).map((one) => one.turn);
  if (presentDefinition(through).hash !== definition.hash)
    throw new MeshError("INPUT_INVALID", `${saga} is a saga of another definition than the fork is to be`);
  return turns;
}

interface Asked {
  readonly saga: SagaId;
  readonly order: ForkOrder;
  readonly from: string;
  readonly sentAt: number;
  readonly at: number;
}

interface Origin {
  readonly definition: Definition;
  /** After the last shared turn. */
  readonly state: SagaState;
  /** The origin's turns, and those after it. */
  readonly all: readonly Turn[];
  readonly since: readonly Turn[];
  readonly asked: Asked;
}

/** The turn in which the fork leaves: itself, what is known of what was open, and the signals that it hears first. */
function eventsOf(deps: HostDeps, origin: Origin): Event[] {
  const { definition, state, asked } = origin;
  const { order, saga, at } = asked;
  if (state.phase.kind === "ended")
    throw new MeshError(
      "SAGA_ENDED",
      `${order.saga} had ended by turn ${order.turn}; fork from an earlier one`,
    );
  assertVariant(deps, definition, order);
  const given = (order.results ?? []).map((one) => givenResult(origin, one));
  const isGiven = new Set(given.map(({ intent }) => intent));
  const events: Event[] = [
    forkedBy(deps, origin, given),
    ...given,
    ...recordedSince(origin).filter(({ intent }) => !isGiven.has(intent)),
    // Last: a signal supersedes a decision in flight, and would have one asked while results are still to come.
    ...signalsOf(origin),
  ];
  // What stays without an answer shows where the turn is decided.
  const after = decideTurn(definition, state, { saga, at, events }).state;
  const unknown = Object.values(after.open).filter(
    (open) => turnOf(open.intent.id) <= order.turn && open.intent.kind !== "model",
  );
  if (order.effects === "live") assertLive(origin, unknown);
  const no = forbidden(after);
  if (no === undefined) return events;
  const refused = unknown.filter(
    ({ intent }) => intent.kind === "tool" || isInFlight(definition, { intent }),
  );
  return [
    ...events,
    ...refused.map(({ intent, attempt }) =>
      resultOf(intent.id, attempt, deps.incarnation, { outcome: "denied", ...no }),
    ),
  ];
}

const isDecision = ({ open }: SagaState, id: IntentId): boolean => open[id]?.intent.kind === "model";

const resultOf = (intent: IntentId, attempt: number, by: string, result: Result): EventOf<"result"> => ({
  type: "result",
  intent,
  attempt,
  by,
  result,
});

function forkedBy(
  { app }: HostDeps,
  { state, asked: { order, from, at } }: Origin,
  given: readonly EventOf<"result">[],
): EventOf<"forked"> {
  const { effects, model, instructions } = order;
  const answered = given.map(({ intent }) => intent).filter((id) => isDecision(state, id));
  const countsUsd = state.budget?.limits.usd !== undefined;
  return {
    type: "forked",
    by: from,
    effects,
    ...(model === undefined ? {} : { model }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(model === undefined || !countsUsd ? {} : { prices: recordedPrices({ models: [model] }, app) }),
    ...(answered.length === 0 ? {} : { answered }),
    idleMs: Math.max(0, at - state.updatedAt),
  };
}

/** Throws MODEL_UNKNOWN, INPUT_INVALID for what cannot be asked of a saga of this definition. */
function assertVariant({ app }: HostDeps, definition: Definition, { model, instructions }: ForkOrder): void {
  const { name, models, budget } = definition;
  if (instructions !== undefined && !isAgent(definition))
    throw new MeshError("INPUT_INVALID", `${name} is no agent and has no instructions to be replaced`);
  if (model === undefined) return;
  if (models.length === 0)
    throw new MeshError("INPUT_INVALID", `${name} asks no model, so none can be replaced`);
  if (!app.models.has(model) && !app.fallbacks.has(model))
    throw new MeshError("MODEL_UNKNOWN", `no port is named ${model}`);
  if (budget.usd !== undefined && app.priceOf(model) === undefined)
    throw new MeshError("INPUT_INVALID", `${name} counts dollars, and model ${model} has no price`);
}

/** A result that the order to fork gives for an intent that was open. */
function givenResult(
  { definition, state, all, asked: { order, from } }: Origin,
  { intent: id, result }: NonNullable<ForkOrder["results"]>[number],
): EventOf<"result"> {
  const open = Object.hasOwn(state.open, id) ? state.open[id] : undefined;
  if (open === undefined) throw notOpen(id, order, openSpan(accountOf(all), id));
  const { kind } = open.intent;
  if (kind !== "tool" && kind !== "saga" && kind !== "model")
    throw new MeshError("INPUT_INVALID", `${id} is a ${kind}, which takes no result`);
  if (result.outcome === "succeeded")
    assertValue(result.output, `the result given for ${id}`, kind === "model" ? replyLimits : valueLimits);
  const misfit = result.outcome === "succeeded" ? misfitOf(definition, open, result) : undefined;
  if (misfit !== undefined) throw new MeshError("INPUT_INVALID", `the result given for ${id}: ${misfit}`);
  return resultOf(id, open.attempt, from, result);
}

function misfitOf(
  { tools, sagas }: Definition,
  { intent }: OpenIntent,
  { output }: Extract<Result, { outcome: "succeeded" }>,
): string | undefined {
  const schema =
    intent.kind === "model"
      ? ModelReply
      : intent.kind === "tool"
        ? tools.get(intent.name)?.output
        : intent.kind === "saga" && intent.undoes === undefined
          ? sagas.get(intent.name)?.output
          : undefined;
  const read = schema === undefined ? undefined : readWith(schema, output);
  return read?.success === false ? read.reason : undefined;
}

/** FO3. Of models nothing is taken over: they are asked anew. */
function recordedSince({ state, since }: Origin): EventOf<"result" | "deferred" | "timer">[] {
  const isOurs = (id: IntentId): boolean => {
    const kind = Object.hasOwn(state.open, id) ? state.open[id]?.intent.kind : undefined;
    return kind === "tool" || kind === "saga" || kind === "signal" || Object.hasOwn(state.doubts, id);
  };
  return since.flatMap(({ steps }) =>
    steps.flatMap(({ event }) =>
      (event.type === "result" || event.type === "deferred" || event.type === "timer") && isOurs(event.intent)
        ? [event]
        : [],
    ),
  );
}

function signalsOf({ definition, state, asked }: Origin): Event[] {
  const { saga, order, from, sentAt } = asked;
  return (order.signals ?? []).map(({ name, data }, k) => {
    const signal = { type: "signal", name, data, id: `${saga}-fork-${k}`, from, sentAt } as const;
    const judged = accept(definition, state, signal, sentAt);
    if (judged.type === "refused") throw judged.error;
    return judged.type === "new" ? judged.event : signal;
  });
}

/** Throws FORK_NOT_LIVE where a fork that acts for real could do something again, or build on what is no more. */
function assertLive(
  { definition, state, since, asked: { order } }: Origin,
  open: readonly OpenIntent[],
): void {
  const refuse = (why: string) => {
    throw new MeshError("FORK_NOT_LIVE", `turn ${order.turn} of ${order.saga}: ${why}`);
  };
  if (state.fork?.effects === "simulated") refuse("it is a fork itself, whose effects are simulated");
  const inFlight = open.filter((one) => isInFlight(definition, one)).map(({ intent }) => intent.id);
  if (inFlight.length > 0)
    refuse(`${inFlight.join(", ")} had begun and is not settled yet, so a fork could do it again`);
  const standing = new Set(state.effects.map(({ intent }) => intent));
  const undone = since.flatMap(({ steps }) =>
    steps.flatMap(({ intents }) =>
      intents.flatMap((intent) =>
        "undoes" in intent && intent.undoes !== undefined && standing.has(intent.undoes)
          ? [intent.undoes]
          : [],
      ),
    ),
  );
  if (undone.length > 0) refuse(`what ${undone.join(", ")} did stood then, and was undone since`);
}

/** FO2. The head after the last copy; undefined if the saga is another host's. */
async function copy(
  deps: HostDeps,
  turns: readonly Turn[],
  { copied, isGone }: Pick<ForkStart, "copied" | "isGone">,
): Promise<Head | undefined> {
  let head: Head = emptyHead;
  let definition: DefinitionRef | undefined;
  // Without what was logged, which stands with the origin: a host that knows nothing of it copies the same bytes.
  for (const { logged: _logged, ...turn } of turns) {
    definition = definitionSetBy(turn) ?? definition;
    const from = { definition, traceId: traceIdOf(turn.saga) };
    const message = await encodeAs(deps, from, head, turn);
    if (copied !== undefined && turn.turn <= copied.head.turn) {
      head = { turn: turn.turn, seq: copied.head.seq, hash: message.hash };
      if (turn.turn === copied.head.turn && message.hash !== copied.head.hash)
        throw new MeshError("SAGA_ID_TAKEN", `saga ${turn.saga} was begun as another fork`);
      continue;
    }
    if (isGone() || deps.hasLapsed()) return undefined;
    const outcome = await appendTurn(
      { ...deps.ports, clock: deps.clock, onRetry: (why) => deps.observe.append("retried", why) },
      turn.saga,
      message,
      deps.signal,
    );
    if (outcome.type !== "appended") return undefined;
    head = { turn: turn.turn, seq: outcome.seq, hash: message.hash };
  }
  return head;
}
