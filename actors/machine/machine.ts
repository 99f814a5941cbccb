/**
 * The door to XState: the only file that runs a machine. State and event in, state and actions out.
 *
 * Owns: the pure step. Does not own: what XState's actions become (machine-actions.ts), a snapshot at rest
 * (machine-snapshot.ts), the machine's faults at load (machine-faults.ts), intents, timers and which actor is
 * current (the envelope).
 *
 * MA1 Nothing happens here: no actor starts, no timer runs, nothing is sent. What XState would do is returned.
 * MA2 A step from a stored and revived snapshot equals the step from one that was never stored.
 * MA3 Every child is announced by an `invoke` action; a machine that spawns in another way is stopped.
 * MA4 What starts and stops within one step never started, as in a live actor.
 * MA5 XState's session ids, which a process counts, stand neither in actions nor in stored snapshots.
 */
import { type AnyStateMachine, type AnyStateNode, createActor, createEmptyActor } from "xstate";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Follows } from "../../protocol/follows.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { type Callable, callableOf } from "./callable.ts";
import { actionsOf, type MachineAction, type MachineEvent, type RawAction } from "./actions.ts";
import { type Chart, chartOf, configOf } from "./chart.ts";
import { startInPlace } from "./children.ts";
import { type MachineSnapshot, nodesOf, reviveStored, storedOf } from "./snapshot.ts";
import { asInStep, atStep } from "./source.ts";

/** `taken` is false if no transition was enabled: then the snapshot is the same and there are no actions. */
export interface MachineStep {
  snapshot: MachineSnapshot;
  actions: MachineAction[];
  taken: boolean;
}

/** A machine opened for pure use. Every method but `bound` throws MACHINE_THREW where the machine's own code does. */
export interface Machine {
  /** The first step. An error in the context's factory or an entry action throws. */
  initial(input: unknown, follows?: Follows): MachineStep;
  /** One event and all that follows from it at once. An ended machine takes nothing. `follows`: see `withoutStillborn`. */
  step(snapshot: MachineSnapshot, event: MachineEvent, follows?: Follows): MachineStep;
  /** Whether a state takes an event that was not taken, and does nothing: `on: { go: {} }`, XState's forbidden transition. */
  forbids(snapshot: MachineSnapshot, event: MachineEvent): boolean;
  /**
   * The snapshot as JSON. It shares the context with the snapshot, so encode it before the next step. Throws
   * APP_INVALID if the context holds what JSON cannot say: such a machine would wake up as another.
   */
  persist(snapshot: MachineSnapshot): Json;
  /** The snapshot again. Throws FOLD_DIVERGED if it names a state or an actor that the machine lacks. */
  revive(persisted: Json): MachineSnapshot;
  /** What `toActors` bound to a name. */
  bound(src: string): Callable | undefined;
  /** Its states and transitions as data. */
  chart(): Chart;
  /** What its author wrote, as JSON, for those who draw it by themselves. */
  config(): Json;
}

/** The event by which an invoked actor's output reaches the machine. */
export const doneEvent = (id: string, output: unknown): MachineEvent => ({
  type: `xstate.done.actor.${id}`,
  output,
  actorId: id,
});

/** The event by which an invoked actor's failure reaches the machine; unhandled, it ends the machine in error. */
export const errorEvent = (id: string, error: unknown): MachineEvent => ({
  type: `xstate.error.actor.${id}`,
  error,
  actorId: id,
});

export interface MachineStatus {
  status: "active" | "done" | "error";
  value: Json;
  tags: string[];
  context: unknown;
  output?: unknown;
  error?: unknown;
}

/** What may be known of a snapshot. Tags are sorted; `output` stands if it is done, `error` if in error. */
export function statusOf(snapshot: MachineSnapshot): MachineStatus {
  // Proof: what XState types as any for any machine; only the state value and the tags have a known shape.
  const { status, value, context, output, error } = snapshot as Record<keyof MachineSnapshot, unknown>;
  const common = { value: value as Json, tags: [...snapshot.tags].sort(), context };
  if (status === "done") return { status, ...common, output };
  if (status === "error") return { status, ...common, error };
  return { status: "active", ...common };
}

/** The ids of the states that a snapshot is in, as its machine's chart has them. */
export const presentIn = (snapshot: MachineSnapshot): string[] => snapshot._nodes.map(({ id }) => id);

/** What an actor that the machine waits for was bound as; undefined if there is none. */
export const srcOf = (snapshot: MachineSnapshot, actor: string): string | undefined => {
  const children = snapshot.children as Readonly<Record<string, { readonly src: unknown } | undefined>>;
  const src = Object.hasOwn(children, actor) ? children[actor]?.src : undefined;
  return typeof src === "string" ? src : undefined;
};

/**
 * Opens a machine. Its faults are not looked for here: see `machineFaults`. `builtin` lets named actions
 * `sagamesh.*` through, which is for machines of our own.
 */
export function openMachine(machine: AnyStateMachine, options: { builtin?: boolean } = {}): Machine {
  const own = machine.provide({}); // A copy: the bound on microsteps is not ours to set on the user's object.
  own.options = {
    ...own.options,
    maxIterations: Math.min(own.options.maxIterations ?? Infinity, limits.microstepsMax),
  };
  const actors = startInPlace(own, (logic, options) => createActor(logic, options));
  const bound = (src: string) => callableOf(own.implementations.actors[src]);
  const { scope, collected } = createInertScope(own.id);
  const translation = { self: scope.self, bound, builtin: options.builtin ?? false };
  const nodes = new Map<string, AnyStateNode>(nodesOf(own.root).map((node) => [node.id, node]));

  const guarded = <T>(what: string, body: () => T): T => {
    collected.length = 0;
    try {
      return body();
    } catch (error) {
      if (isMeshError(error)) throw error;
      throw new MeshError("MACHINE_THREW", `${own.id} threw on ${what}: ${describeError(error)}`, {
        cause: error,
      });
    }
  };
  /** As XState has it, the actors of a machine that ended are stopped after all else that its last step asks for. */
  const whole = (seen: MachineSnapshot, event?: MachineEvent): MachineSnapshot => {
    const { snapshot, stopped } = actors.after(seen, event);
    for (const params of stopped) collected.push({ type: "xstate.stopChild", params });
    return snapshot;
  };
  return {
    bound,
    chart: () => chartOf(machine),
    config: () => configOf(machine),
    initial: (input, follows) =>
      guarded("its start", () => {
        atStep();
        actors.none();
        const first: MachineSnapshot = own.getInitialSnapshot(scope, input);
        if (first.status === "error") throw first.error; // XState catches here what it throws in a step.
        const snapshot = whole(first);
        return { snapshot, actions: actionsOf(collected, translation, follows), taken: true };
      }),
    step: (snapshot, event, follows) =>
      guarded(`"${event.type}"`, () => {
        // XState takes events in ended states too, and a root handler would act; a live actor is stopped.
        if (snapshot.status !== "active") return { snapshot, actions: [], taken: false };
        atStep();
        const from = actors.before(snapshot);
        const to: MachineSnapshot = own.transition(from, event, scope);
        const next = to === from ? snapshot : whole(to, event);
        const actions = collected.length === 0 ? [] : actionsOf(collected, translation, follows);
        return {
          snapshot: next,
          actions,
          taken: next !== snapshot || actions.length > 0 || asInStep(() => snapshot.can(event)),
        };
      }),
    forbids: (snapshot, event) =>
      guarded(`"${event.type}"`, () =>
        asInStep(() => (own.getTransitionData(snapshot, event)?.length ?? 0) > 0),
      ),
    persist: storedOf,
    revive: (persisted) =>
      reviveStored(
        own,
        nodes,
        (logic, id, src) => createActor(logic, { id, src, parent: scope.self }),
        persisted,
      ),
  };
}

type Scope = Parameters<AnyStateMachine["transition"]>[2];

/**
 * One scope for all steps. XState's public functions build an actor for each call, which runs the machine's
 * start again, its context's factory without input included, and costs five times the step itself.
 */
function createInertScope(id: string): { scope: Scope; collected: RawAction[] } {
  const collected: RawAction[] = [];
  const refuse = (): never => {
    throw new Error("`self` cannot be used in a durable machine: raise the event, or read the context");
  };
  const { system } = createEmptyActor();
  // Proof: XState reads `id`, `system` and `_parent` of a parent that it never starts; what an author could
  // call is refused in words.
  const self = {
    id,
    system,
    send: refuse,
    getSnapshot: refuse,
    subscribe: refuse,
    on: refuse,
  } as unknown as Scope["self"];
  const scope: Scope = {
    self,
    system,
    id,
    sessionId: "",
    logger: () => {},
    emit: () => {},
    stopChild: () => {},
    // Only `spawn` of assign and of the context's factory defers while a step is resolved (MA3).
    defer: () => {
      throw new Error("`spawn` leaves no trace in the ledger: use `invoke` or `spawnChild`");
    },
    actionExecutor: (action) => {
      collected.push(action);
    },
  };
  return { scope, collected };
}
