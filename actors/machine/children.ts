/**
 * Children: XState's starting and stopping of actors, without a new snapshot for each.
 *
 * For every actor that starts or stops XState copies the record of all of them and works the whole state value out anew:
 * a state that invokes thousands costs the square of that. Its own actions are kept, in their order, and only what they
 * do to the snapshot is done here: to one copy of that record for a turn (draft.ts).
 *
 * JC1 What a step asks for, and the snapshot after it, are what XState alone would have made of it.
 */
import type { AnyActorLogic, AnyActorRef, AnyStateMachine, AnyStateNode } from "xstate";
import { withKey, withoutKey } from "../values/draft.ts";
import { type MachineSnapshot, nodesOf } from "./snapshot.ts";

/** XState's own actions as it resolves them. The shapes are those of the pinned version, which machine.test.ts holds. */
interface BuiltIn {
  (): void;
  readonly type: string;
  readonly resolve: Resolve;
  readonly [member: string]: unknown;
}
type Resolve = (
  scope: { readonly self: AnyActorRef },
  snapshot: MachineSnapshot,
  args: { readonly event: unknown },
  params: unknown,
  action: BuiltIn,
  extra: unknown,
) => readonly [MachineSnapshot, unknown, readonly unknown[] | undefined];

/** Makes the inert reference of an actor, as XState would. */
export type MakeActor = (logic: AnyActorLogic, options: object) => AnyActorRef;

/** Has a machine of our own start and stop its actors in place. */
export function startInPlace(machine: AnyStateMachine, make: MakeActor): void {
  const inPlace = changing(make);
  for (const node of nodesOf(machine.root)) changeNode(node, make, inPlace);
  const { actions } = machine.implementations as { actions: Record<string, unknown> };
  for (const [name, action] of Object.entries(actions)) actions[name] = inPlace(action);
}

/** The parts of a state node that hold actions. */
interface Acting {
  entry: unknown[];
  exit: unknown[];
  readonly invoke: readonly Invoke[];
  readonly initial?: { actions: unknown[] };
  readonly always?: readonly { actions: unknown[] }[];
  readonly transitions: ReadonlyMap<string, readonly { actions: unknown[] }[]>;
}
interface Invoke {
  readonly id: string;
  readonly src: unknown;
  readonly systemId?: string;
  readonly input?: unknown;
  readonly onSnapshot?: unknown;
}

function changeNode(node: AnyStateNode, make: MakeActor, inPlace: (action: unknown) => unknown): void {
  const acting = node as unknown as Acting; // Proof: fields of every StateNode of the pinned version.
  acting.entry = acting.entry.map(inPlace);
  acting.exit = acting.exit.map(inPlace);
  const held = [acting.initial, ...(acting.always ?? []), ...[...acting.transitions.values()].flat()];
  for (const one of held) if (one !== undefined) one.actions = one.actions.map(inPlace);
  // XState asks for the descriptors to find those with a wildcard, once for each type of event: of thousands of actors
  // each has its own.
  const wild = [...acting.transitions.keys()].filter((descriptor) => descriptor.includes("*"));
  Object.defineProperty(acting.transitions, "keys", { value: () => wild.values() });
  const { invoke } = acting;
  if (invoke.length === 0 || invoke.some(({ onSnapshot }) => onSnapshot !== undefined)) return;
  // XState starts what it finds in the list after the entry actions, and asks the list for the actors it is to stop.
  acting.entry = [...acting.entry, ...invoke.map((one) => starting(one, spawnWith(make)))];
  const list: readonly Invoke[] = Object.defineProperty([], "map", {
    value: <T>(each: (one: Invoke) => T): unknown[] => invoke.map((one) => inPlace(each(one))),
  });
  Object.defineProperty(node, "invoke", { value: list });
}

/** What XState does as it enters a state that invokes an actor. */
function starting({ id, src, systemId, input }: Invoke, resolve: Resolve): BuiltIn {
  return Object.assign(() => {}, {
    type: "xstate.spawnChild",
    ...{ id, src, systemId, input, syncSnapshot: false },
    resolve,
    execute: () => {},
  }) as unknown as BuiltIn; // Its members are named above.
}

/** An action with what it does to the snapshot done in place; any other as it is. */
function changing(make: MakeActor): (action: unknown) => unknown {
  const spawn = spawnWith(make);
  return function inPlace(action): unknown {
    if (typeof action !== "function" || !("resolve" in action)) return action;
    const builtIn = action as unknown as BuiltIn;
    if (builtIn.type === "xstate.spawnChild") return withResolve(builtIn, spawn);
    if (builtIn.type === "xstate.stopChild") return withResolve(builtIn, stopInPlace);
    if (builtIn.type !== "xstate.enqueueActions") return action;
    return withResolve(builtIn, (...args): ReturnType<Resolve> => {
      const [snapshot, params, actions] = builtIn.resolve(...args);
      return [snapshot, params, actions?.map(inPlace)];
    });
  };
}

const withResolve = (action: BuiltIn, resolve: Resolve): BuiltIn =>
  Object.assign(() => {}, action, { resolve });

const spawnWith =
  (make: MakeActor): Resolve =>
  (scope, snapshot, args, _params, { id: named, src, systemId, input }) => {
    const id = called<string>(named, args);
    const { actors } = snapshot.machine.implementations as { actors: Record<string, unknown> };
    const logic = typeof src === "string" ? actors[src] : src;
    const given = called<unknown>(input, {
      context: snapshot.context as unknown,
      event: args.event,
      self: scope.self,
    });
    const options = { id, src, parent: scope.self, syncSnapshot: false, systemId, input: given };
    const actorRef = logic === undefined ? undefined : make(logic as AnyActorLogic, options);
    const children = withKey(childrenOf(snapshot), actorRef?.id ?? id, actorRef as AnyActorRef);
    return [withChildren(snapshot, children), { id, systemId, actorRef, src, input: given }, undefined];
  };

const stopInPlace: Resolve = (_scope, snapshot, args, params, { actorRef }) => {
  const named =
    typeof actorRef === "function" ? (actorRef as (...of: unknown[]) => unknown)(args, params) : actorRef;
  const children = childrenOf(snapshot);
  const actor = typeof named === "string" ? children[named] : (named as AnyActorRef | undefined);
  if (actor === undefined) return [snapshot, actor, undefined];
  return [withChildren(snapshot, withoutKey(children, actor.id)), actor, undefined];
};

const called = <T>(value: unknown, args: unknown): T =>
  (typeof value === "function" ? (value as (args: unknown) => unknown)(args) : value) as T;

const childrenOf = (snapshot: MachineSnapshot): Record<string, AnyActorRef> =>
  snapshot.children as Record<string, AnyActorRef>;

const withChildren = (snapshot: MachineSnapshot, children: Record<string, AnyActorRef>): MachineSnapshot =>
  children === snapshot.children ? snapshot : Object.assign({ ...snapshot }, { children });
