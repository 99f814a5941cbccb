/**
 * Children: XState's starting and stopping of actors, without a new snapshot for each.
 *
 * For every actor that starts or stops XState copies the record of all of them and works the whole state value out anew:
 * a state that invokes thousands costs the square of that. Its own actions are kept, in their order, and only what they
 * do to the snapshot is done here: to one copy of that record for a turn (draft.ts).
 *
 * JC1 What a step asks for, and the snapshot after it, are what XState alone would have made of it.
 * JC2 While a step runs, XState finds an actor under its name and none where it lists them: it lists them only where a machine
 *     ends, to stop each, with a copy of the record for each. Those stops are listed here.
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

/** What of a step has to do with actors. */
export interface InPlace {
  /** A machine's first step begins. */
  readonly none: () => void;
  /** Any other: the snapshot as XState is to see it (JC2). */
  readonly before: (snapshot: MachineSnapshot) => MachineSnapshot;
  /** What a step made of it, as it is to be kept, and which actors it stops because the machine has ended. */
  readonly after: (
    snapshot: MachineSnapshot,
    event?: { readonly type: string },
  ) => { readonly snapshot: MachineSnapshot; readonly stopped: readonly AnyActorRef[] };
}

/** Has a machine of our own start and stop its actors in place. */
export function startInPlace(machine: AnyStateMachine, make: MakeActor): InPlace {
  const actors = new Actors();
  const spawn = spawnWith(make, actors);
  const inPlace = changing(spawn, stopWith(actors));
  for (const node of nodesOf(machine.root)) changeNode(node, spawn, inPlace);
  const { actions } = machine.implementations as { actions: Record<string, unknown> };
  for (const [name, action] of Object.entries(actions)) actions[name] = inPlace(action);
  return actors;
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

function changeNode(node: AnyStateNode, spawn: Resolve, inPlace: (action: unknown) => unknown): void {
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
  acting.entry = [...acting.entry, ...invoke.map((one) => starting(one, spawn))];
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
function changing(spawn: Resolve, stop: Resolve): (action: unknown) => unknown {
  return function inPlace(action): unknown {
    if (typeof action !== "function" || !("resolve" in action)) return action;
    const builtIn = action as unknown as BuiltIn;
    if (builtIn.type === "xstate.spawnChild") return withResolve(builtIn, spawn);
    if (builtIn.type === "xstate.stopChild") return withResolve(builtIn, stop);
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
  (make: MakeActor, running: Actors): Resolve =>
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
    const next = running.started(snapshot, actorRef?.id ?? id, actorRef as AnyActorRef);
    return [next, { id, systemId, actorRef, src, input: given }, undefined];
  };

const stopWith =
  (running: Actors): Resolve =>
  (_scope, snapshot, args, params, { actorRef }) => {
    const named =
      typeof actorRef === "function" ? (actorRef as (...of: unknown[]) => unknown)(args, params) : actorRef;
    const actor = typeof named === "string" ? running.called(named) : (named as AnyActorRef | undefined);
    return [actor === undefined ? snapshot : running.stopped(snapshot, actor.id), actor, undefined];
  };

/** The actors of the one step that a machine is in: a step waits for nothing, so there is one at a time. */
class Actors implements InPlace {
  #present: Record<string, AnyActorRef> = {};
  /** What the step began with: XState tells by it whether anything was done. */
  #from: MachineSnapshot | undefined;
  /** JC2. */
  readonly #seen = new Proxy<Record<string, AnyActorRef>>(
    {},
    { get: (_, name) => this.#present[name as string], ownKeys: () => [] },
  );

  none(): void {
    this.#present = {};
  }

  before(snapshot: MachineSnapshot): MachineSnapshot {
    this.#present = snapshot.children as Record<string, AnyActorRef>;
    this.#from = Object.assign({ ...snapshot }, { children: this.#seen });
    return this.#from;
  }

  after(snapshot: MachineSnapshot, event?: { readonly type: string }): ReturnType<InPlace["after"]> {
    const present = this.#present;
    if (snapshot.children !== this.#seen) return { snapshot, stopped: [] }; // It started none, and had none.
    const stopped = snapshot.status === "active" ? [] : Object.values(present);
    // A failure that no state takes ends a machine before anything else is done, and leaves it without actors.
    const isUntaken = snapshot.status === "error" && event?.type.startsWith("xstate.error.actor") === true;
    return { snapshot: Object.assign(snapshot, { children: isUntaken ? {} : present }), stopped };
  }

  called(name: string): AnyActorRef | undefined {
    return this.#present[name];
  }

  started(snapshot: MachineSnapshot, name: string, actor: AnyActorRef): MachineSnapshot {
    this.#present = withKey(this.#present, name, actor);
    return this.#shown(snapshot);
  }

  stopped(snapshot: MachineSnapshot, name: string): MachineSnapshot {
    this.#present = withoutKey(this.#present, name);
    return this.#shown(snapshot);
  }

  #shown(snapshot: MachineSnapshot): MachineSnapshot {
    if (snapshot.children === this.#seen && snapshot !== this.#from) return snapshot;
    return Object.assign({ ...snapshot }, { children: this.#seen });
  }
}

const called = <T>(value: unknown, args: unknown): T =>
  (typeof value === "function" ? (value as (args: unknown) => unknown)(args) : value) as T;
