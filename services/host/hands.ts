/**
 * Hands: ⑤ what becomes of an acked turn's intents in this host: handed on by an acked publish, or performed here.
 *
 * Owns: what is being published and performed for one saga, and calling off what is settled. Does not own: when a
 * turn is acked (turn.ts), where a message goes (dispatch.ts), how an attempt is performed (own-work.ts).
 *
 * HA1 An attempt is in hand from its beginning until the turn that records how it ended: never begun twice here.
 * HA2 Once the saga is another host's, or is leaving, no further attempt begins, and what ends is published as an
 *    ordinary input. An attempt has begun before it asks for its claim: what was claimed and not performed would
 *    cost an attempt.
 */
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import { callKeyOf } from "../../actors/kernel/address.ts";
import { lateCallOf } from "../../actors/kernel/late.ts";
import { isSimulated } from "../../actors/kernel/lineage.ts";
import {
  isInLine,
  isOwnWork,
  type OpenIntent,
  type SagaState,
  dueAtOf,
} from "../../actors/contract/state.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Event } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import { CutOff } from "../perform/cut-off.ts";
import type { Performed } from "../perform/outcome.ts";
import { publishResult, type ResultOf } from "../perform/publish-result.ts";
import { cannotStart, dispatch } from "./dispatch.ts";
import type { HostDeps } from "./host-deps.ts";
import { localResult } from "./intake.ts";
import type { Loaded } from "./load.ts";
import { performOwn } from "./own-work.ts";

/** What the hands need of the activation they belong to. */
export interface HandsOwner {
  /** Undefined once the saga leaves, or is gone. */
  current(): Loaded | undefined;
  isGone(): boolean;
  /** The conversation as of the open decision. */
  conversation(): readonly ModelMessage[] | Promise<readonly ModelMessage[]>;
  /** Takes what this host itself observed, as an input. */
  observe(event: Event, performed?: Performed): void;
  /** Something was finished: the activation may be quiet now. */
  poke(): void;
  drop(reason: string, error?: unknown): Promise<void>;
}

/** What is done for one saga outside the ledger. */
export interface Hands {
  /** Hands on one open intent of an acked turn. `settleFirst`: a model call waits for further signals; `again`: though it was sent. */
  handOn(open: OpenIntent, settleFirst?: boolean, again?: string): void;
  /** What a turn has closed needs no performer and no timer any more. */
  callOff(before: SagaState | undefined, decided: Pick<DecidedTurn, "state" | "steps">): void;
  /** The event records how an attempt ended. */
  release(event: Event): void;
  isInHand(open: OpenIntent): boolean;
  /** Ends what only waits to begin: for a backoff, for its turn. */
  beginNothing(): void;
  /** Publishes what this host observed and no turn of its own recorded, as an ordinary input. */
  reportObserved(event: Event, performed: Performed | undefined): Promise<void>;
  /** The attempt's result is a stored input. */
  isReported(open: OpenIntent): boolean;
  /** Whether nothing is being published or performed. */
  isEmpty(): boolean;
}

interface Performing {
  readonly intent: IntentId;
  readonly attempt: number;
  readonly cutOff: CutOff;
  hasBegun: boolean;
}

/** The hands of one saga. */
interface HandsState {
  readonly deps: HostDeps;
  readonly saga: SagaId;
  readonly owner: HandsOwner;
  readonly performing: Map<string, Performing>;
  readonly inHand: Map<string, Pick<ResultOf, "key" | "call">>; // With what its result says of the call.
  readonly reported: Set<string>;
  publishing: number;
}

/** What a result of it says of the call. */
const calledAs = ({ intent, decidedAt: call }: OpenIntent): Pick<ResultOf, "key" | "call"> => ({
  key: callKeyOf(intent),
  call,
});

const keyOf = (open: OpenIntent): string => `${open.intent.id}#${open.attempt}`;

/** Hands with nothing in them. They outlive the activation: what was begun is reported when it ends (HA2). */
export function createHands(deps: HostDeps, saga: SagaId, owner: HandsOwner): Hands {
  const self: HandsState = {
    ...{ deps, saga, owner, publishing: 0 },
    ...{ performing: new Map(), inHand: new Map(), reported: new Set() },
  };
  const { performing, inHand, reported } = self;
  return {
    handOn: (open, settleFirst = false, again) => handOn(self, open, settleFirst, again),
    callOff: (before, decided) => callOff(self, before, decided),
    release: (event) => {
      if (event.type === "result" || event.type === "deferred")
        inHand.delete(`${event.intent}#${event.attempt}`);
    },
    isInHand: (open) => inHand.has(keyOf(open)),
    beginNothing: () => {
      for (const { cutOff, hasBegun } of performing.values())
        if (!hasBegun) cutOff.cut(new MeshError("CANCELLED", "the saga goes to another host"));
    },
    reportObserved: async (event, performed) => {
      if (event.type !== "result" && event.type !== "deferred") return;
      await publish(self, { ...event, ...inHand.get(`${event.intent}#${event.attempt}`) }, performed);
    },
    isReported: (open) => reported.has(keyOf(open)),
    isEmpty: () => self.publishing === 0 && performing.size === 0,
  };
}

function handOn(self: HandsState, open: OpenIntent, settleFirst: boolean, again?: string): void {
  const { deps, owner } = self;
  const loaded = owner.current();
  if (loaded === undefined || isInLine(open)) return;
  const { kind } = open.intent;
  const isTold = kind === "signal" || kind === "end";
  if (isSimulated(loaded.state, open.intent) || (isOwnWork(open, deps.placementOf) && !isTold))
    return performHere(self, open, settleFirst && kind === "model");
  const unsent = cannotStart(open, deps.incarnation);
  if (unsent !== undefined) return owner.observe(unsent);
  const stored = dispatch(again === undefined ? deps : { ...deps, again }, loaded, open);
  if (stored !== undefined) keepUntil(self, stored, isTold ? open : undefined);
}

/** A publish in flight keeps the inputs un-acked; where its ack is the intent's result, that follows. */
function keepUntil(self: HandsState, stored: Promise<void>, settles?: OpenIntent): void {
  const { deps, saga, owner } = self;
  self.publishing += 1;
  if (settles !== undefined) self.inHand.set(keyOf(settles), {});
  stored
    .then(() => {
      if (settles !== undefined && owner.current() !== undefined)
        owner.observe(localResult(settles.intent.id, settles.attempt, deps.incarnation, null));
    })
    .catch((error: unknown) => {
      if (owner.isGone()) return; // Its next owner hands it on.
      deps.log.warn({ err: error, sagaId: saga }, "not handed on");
      void owner.drop("something could not be handed on");
    })
    .finally(() => {
      self.publishing -= 1;
      owner.poke();
    });
}

function performHere(self: HandsState, open: OpenIntent, settleFirst: boolean): void {
  const { inHand, performing } = self;
  const key = keyOf(open);
  if (inHand.has(key)) return; // HA1
  inHand.set(key, calledAs(open));
  const own: Performing = {
    ...{ intent: open.intent.id, attempt: open.attempt },
    ...{ cutOff: new CutOff(), hasBegun: false },
  };
  performing.set(key, own);
  void attempt(self, open, own, settleFirst);
}

/** One attempt from its beginning to what its end leads to. Never rejects. */
async function attempt(
  self: HandsState,
  open: OpenIntent,
  own: Performing,
  settleFirst: boolean,
): Promise<void> {
  const { deps, saga, owner, performing } = self;
  const key = keyOf(open);
  const isCurrent = () => performing.get(key) === own;
  try {
    const performed = await performOwn(deps, saga, open, {
      cutOff: own.cutOff,
      settleFirst,
      mayBegin: () => {
        if (owner.isGone() || !isCurrent() || deps.hasLapsed()) return false;
        own.hasBegun ||= owner.current() !== undefined;
        return own.hasBegun; // HA2
      },
      current: () => owner.current(),
      messages: () => owner.conversation(),
    });
    await report(self, open, performed);
  } catch (error) {
    await notPerformed(self, own, open, error);
  } finally {
    if (!own.hasBegun) neverBegan(self, open);
    if (isCurrent()) performing.delete(key);
    owner.poke();
  }
}

/** Called off, also while its claim waited for a server; or impossible here: then the saga waits for a host that can. */
async function notPerformed(self: HandsState, own: Performing, { intent }: OpenIntent, error: unknown) {
  const { deps, saga, owner } = self;
  if (isMeshError(error, "CANCELLED") || own.cutOff.isCut || deps.signal.aborted) return;
  deps.log.error({ err: error, sagaId: saga, intentId: intent.id }, "intent not performed");
  await owner.drop("an intent could not be performed here", error);
}

/** A superseded call that has reserved something and cost nothing: the ledger must hear of it. */
function neverBegan({ deps, owner }: HandsState, { intent: { id: intent }, attempt }: OpenIntent): void {
  const loaded = owner.current();
  if (loaded === undefined || lateCallOf(loaded.state, intent, attempt) === undefined) return;
  const usage = { inputTokens: 0, outputTokens: 0 };
  const why = { code: "CANCELLED", reason: "superseded before it began" };
  const result = { outcome: "cancelled" as const, ...why, usage };
  owner.observe({ type: "result", intent, attempt, by: deps.incarnation, result });
}

async function publish(
  { deps, saga, reported }: HandsState,
  { intent, attempt, key, call }: Pick<ResultOf, "intent" | "attempt" | "key" | "call">,
  performed: Performed | undefined,
): Promise<void> {
  if (performed === undefined || performed.type === "silent") return;
  await publishResult(deps, { saga, intent, attempt, key, call }, performed, deps.signal);
  reported.add(`${intent}#${attempt}`);
}

/** How an attempt of this host's own ended: the next turn here, or an input for the saga's next owner (HA2). */
async function report(self: HandsState, open: OpenIntent, performed: Performed): Promise<void> {
  const { deps, owner } = self;
  if (performed.type === "silent") return;
  const { attempt } = open;
  const intent = open.intent.id;
  if (owner.current() === undefined) return publish(self, { intent, attempt, ...calledAs(open) }, performed);
  const event: Event =
    performed.type === "result"
      ? { type: "result", intent, attempt, by: deps.incarnation, ...observedBy(performed) }
      : { type: "deferred", intent, attempt, dueAt: deps.clock.now() + performed.withinMs };
  owner.observe(event, performed);
}

/** What the event says of a result. */
const observedBy = ({ type: _type, ...said }: Extract<Performed, { type: "result" }>) => said;

function callOff(
  self: HandsState,
  before: SagaState | undefined,
  { state: after, steps }: Pick<DecidedTurn, "state" | "steps">,
): void {
  const { performing, inHand } = self;
  for (const [key, { intent, attempt, cutOff }] of performing)
    if (after.open[intent]?.attempt !== attempt) {
      cutOff.cut(new MeshError("CANCELLED", "superseded"));
      performing.delete(key);
      inHand.delete(key);
    }
  for (const { closed } of steps)
    for (const { intent } of closed) {
      const open = before?.open[intent];
      if (open !== undefined && after.open[intent] === undefined && dueAtOf(open) !== undefined)
        disarm(self, intent);
    }
}

/** Best effort: a timer that fires all the same is known. */
function disarm({ deps, saga }: HandsState, id: IntentId): void {
  deps.ports.inbox
    .unschedule(saga, id)
    .catch((error: unknown) =>
      deps.log.debug({ err: error, sagaId: saga, intentId: id }, "timer not disarmed"),
    );
}
