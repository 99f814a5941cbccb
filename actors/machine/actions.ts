/**
 * Machine actions: what XState's own actions become. Pure translation; machine.ts collects them, issue.ts acts.
 *
 * AX1 Every child is announced by an `invoke` action; a machine that spawns in another way is stopped.
 * AX2 What starts and stops within one step never started, as in a live actor.
 * AX3 XState's session ids, which a process counts, do not stand in actions.
 */
import type { AnyActorRef } from "xstate";
import type { Follows } from "../../protocol/follows.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { describeFault, faultOfValue, ownLimits } from "../../protocol/value.ts";
import type { Callable } from "./callable.ts";

/** What a machine takes in: signals, `doneEvent`, `errorEvent`, and the events its timers carry. */
export interface MachineEvent {
  type: string;
  [key: string]: unknown;
}

/**
 * What a step asks for, in order. A `stop` with `born` was of an actor that this very step started, and that stands no more in
 * the list: an earlier one of its id runs on. An `untimer` takes back the latest pending `timer` or delayed `send` of its id, which with
 * `born` was one of this very step and stands no more in the list; once every one of its id was taken back. A `send` is for the actor that is current under `to` at its place in the list, a delayed one too. A
 * machine that ends, well or in error, leaves its timers pending: the kernel, which keeps them, drops them.
 */
export type MachineAction =
  | { type: "invoke"; id: string; src: string; input: Json }
  | { type: "stop"; id: string; born?: true }
  | { type: "timer"; id: string; event: MachineEvent; delayMs: number }
  | { type: "untimer"; id: string; born?: true }
  | { type: "send"; to: string; event: MachineEvent; delayMs?: number; id?: string }
  | { type: "live"; kind: "emit" | "log"; value: Json }
  | { type: "builtin"; name: string; params: Json };

/** An executable action as XState hands it over; `params` is what the action's own resolution returned. */
export interface RawAction {
  readonly type: string;
  readonly params?: unknown;
}

export interface Translation {
  readonly self: AnyActorRef;
  readonly bound: (src: string) => Callable | undefined;
  readonly builtin: boolean;
}

/** What a step collected, in the order in which it takes effect. Throws in words what no ledger could record. */
export const actionsOf = (
  collected: readonly RawAction[],
  translation: Translation,
  follows: Follows | undefined,
): MachineAction[] =>
  withoutStillborn(
    inOrder(collected).flatMap((raw) => actionOf(raw, translation)),
    follows,
  );

// Each cast of params below: the shape is what the resolve function of that action returns in the pinned
// version; the test against the public `transition` breaks if it changes.
function actionOf(raw: RawAction, translation: Translation): MachineAction[] {
  switch (raw.type) {
    case "xstate.raise": {
      const { event, id, delay } = raw.params as { event: MachineEvent; id?: string; delay?: number };
      if (delay === undefined) return []; // Taken within this step already.
      return [
        {
          type: "timer",
          id: id ?? `raise.${event.type}`,
          event: jsonEvent(event),
          delayMs: delayMsOf(delay),
        },
      ];
    }
    case "xstate.cancel":
      return [{ type: "untimer", id: (raw.params as { sendId: string }).sendId }];
    case "xstate.spawnChild":
      return [invokeOf(raw.params as SpawnParams, translation)];
    case "xstate.stopChild": {
      const actor = raw.params as AnyActorRef | undefined;
      return actor === undefined ? [] : [{ type: "stop", id: actor.id }];
    }
    case "xstate.sendTo":
      return [sendOf(raw.params as SendParams, translation)];
    case "xstate.emit":
      return [{ type: "live", kind: "emit", value: toJson((raw.params as { event: unknown }).event) }];
    case "xstate.log":
      return [{ type: "live", kind: "log", value: toJson(raw.params) }];
    default:
      if (translation.builtin && raw.type.startsWith("sagamesh."))
        return [{ type: "builtin", name: raw.type, params: toJson(raw.params) }];
      throw new Error(
        `the action "${raw.type}" would be a side effect that is not recorded: invoke a tool instead`,
      );
  }
}

interface SpawnParams {
  readonly src: unknown;
  readonly systemId?: string;
  readonly actorRef?: AnyActorRef;
  readonly input: unknown;
}

function invokeOf({ src, systemId, actorRef, input }: SpawnParams, { bound }: Translation): MachineAction {
  if (typeof src !== "string" || actorRef === undefined || bound(src) === undefined)
    throw new Error(`the actor "${typeof src === "string" ? src : "(inline)"}" is not bound by toActors`);
  if (systemId !== undefined) throw new Error(`the actor "${src}" has a systemId: name it by its id`);
  // Without an id XState takes the session's, which a process counts (AX3).
  if (actorRef.id === actorRef.sessionId) throw new Error(`spawnChild("${src}") needs an id`);
  return { type: "invoke", id: actorRef.id, src, input: written(toJson(input), `the input of "${src}"`) };
}

interface SendParams {
  readonly to: AnyActorRef;
  readonly event: MachineEvent;
  readonly id?: string;
  readonly delay?: number;
}

function sendOf({ to, event, id, delay }: SendParams, { self }: Translation): MachineAction {
  if (to === self) throw new Error(`"${event.type}" is sent to the machine itself: raise it`);
  return {
    type: "send",
    to: to.id,
    event: sentEvent(event),
    ...(delay === undefined ? {} : { delayMs: delayMsOf(delay) }),
    ...(id === undefined ? {} : { id }),
  };
}

/** What an intent will hold. Throws for what no reader would read again: members `$blob` and `__proto__`. */
function written(value: Json, what: string): Json {
  const fault = faultOfValue(value, ownLimits);
  if (fault !== undefined) throw new Error(`${what} cannot be recorded: ${describeFault(fault)}`);
  return value;
}

/** The event as the ledger will give it back. The `after` events, by far the most, need no trip through JSON. */
const jsonEvent = (event: MachineEvent): MachineEvent =>
  // Proof: an object with a text under `type` is one after the trip, too.
  Object.keys(event).length === 1 ? event : (toJson(event) as unknown as MachineEvent);

const sentEvent = (event: MachineEvent): MachineEvent => {
  const plain = jsonEvent(event);
  written(plain as unknown as Json, `"${event.type}"`); // Proof: made by jsonEvent.
  return plain;
};

function delayMsOf(delay: number): number {
  if (!Number.isFinite(delay)) throw new Error(`a delay is ${delay}, not a number of milliseconds`);
  if (delay > limits.timerMaxMs) throw new Error(`a delay is ${delay} ms, more than ${limits.timerMaxMs}`);
  return Math.max(0, delay);
}

/**
 * XState lists an entry action before the state's own invocations. A signal that it sends to one of them is
 * moved behind the start of its receiver; by the actor and not its id, which a re-entered state uses again.
 */
function inOrder(collected: readonly RawAction[]): readonly RawAction[] {
  if (!collected.some(({ type }) => type === "xstate.sendTo")) return collected;
  const starts = new Map<AnyActorRef, number>();
  for (const [at, raw] of collected.entries()) {
    const actor = startedBy(raw);
    if (actor !== undefined) starts.set(actor, at);
  }
  const early = new Map<AnyActorRef, RawAction[]>();
  const isEarly = (raw: RawAction, at: number): boolean =>
    raw.type === "xstate.sendTo" && (starts.get((raw.params as SendParams).to) ?? -1) > at;
  for (const [at, raw] of collected.entries()) {
    if (!isEarly(raw, at)) continue;
    const { to } = raw.params as SendParams;
    early.set(to, [...(early.get(to) ?? []), raw]);
  }
  return collected.flatMap((raw, at) => {
    if (isEarly(raw, at)) return [];
    const actor = startedBy(raw);
    return actor === undefined ? [raw] : [raw, ...(early.get(actor) ?? [])];
  });
}

const startedBy = (raw: RawAction): AnyActorRef | undefined =>
  raw.type === "xstate.spawnChild" ? (raw.params as SpawnParams).actorRef : undefined;

/**
 * AX2: an `always` that leaves the state it just entered neither calls its tools nor arms its timers. As XState has it the
 * latest of a step's timers is taken back; once all of them were.
 */
function withoutStillborn(actions: MachineAction[], follows: Follows | undefined): MachineAction[] {
  if (!takesBack(actions)) return actions;
  const kept: (MachineAction | undefined)[] = [];
  // The places of what one that comes later may take back, by the name that it gives.
  const [starts, sends, timers] = [places(), places(), places()];
  const drop = (at: number): void => void (kept[at] = undefined);
  for (const action of actions) {
    const born = action.type === "stop" ? starts.of(action.id).pop() : undefined;
    if (born !== undefined && action.type === "stop") {
      drop(born);
      for (const at of sends.of(action.id)) if (at > born) drop(at);
      if (follows !== undefined) kept.push({ ...action, born: true });
      continue;
    }
    if (action.type === "untimer" && follows === undefined) timers.of(action.id).splice(0).forEach(drop);
    const latest = action.type === "untimer" ? timers.of(action.id).splice(0).at(-1) : undefined;
    if (latest !== undefined && action.type === "untimer") {
      drop(latest);
      kept.push({ ...action, born: true });
      continue;
    }
    if (action.type === "invoke") starts.of(action.id).push(kept.length);
    if (action.type === "send") sends.of(action.to).push(kept.length);
    if (action.type === "timer") timers.of(action.id).push(kept.length);
    if (action.type === "send" && action.delayMs !== undefined && action.id !== undefined)
      timers.of(action.id).push(kept.length);
    kept.push(action);
  }
  return kept.filter((action) => action !== undefined);
}

/** Whether anything is taken back after something began: a step that leaves a state and enters one stops first. */
function takesBack(actions: readonly MachineAction[]): boolean {
  let hasBegun = false;
  for (const { type } of actions)
    if (type === "invoke" || type === "send" || type === "timer") hasBegun = true;
    else if (hasBegun && (type === "stop" || type === "untimer")) return true;
  return false;
}

/** Lists of places by a name. */
function places(): { of(name: string): number[] } {
  const lists = new Map<string, number[]>();
  return {
    of(name) {
      const list = lists.get(name) ?? [];
      lists.set(name, list);
      return list;
    },
  };
}
