/**
 * Machine snapshots: a machine's state at rest and revived.
 *
 * MS1 A step from a stored and revived snapshot equals the step from one that was never stored.
 * MS2 XState's session ids, which a process counts, do not stand in stored snapshots.
 * MS3 XState itself can leave a region of a parallel state without an active state (an `always` to a history that was never
 *     visited). Such a state is stored as it is, and says so: one that does not say so and lacks states is another machine's.
 */
import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  assign,
} from "xstate";
import { z } from "zod";
import { MeshError } from "../../protocol/errors.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { callableOf } from "./callable.ts";

/** A machine's state. Opaque: `statusOf` reads it, `persist` stores it. */
export type MachineSnapshot = AnyMachineSnapshot;

/** Every state node of a machine, parents first. */
export const nodesOf = (node: AnyStateNode): AnyStateNode[] => [
  node,
  ...Object.values(node.states as Record<string, AnyStateNode>).flatMap(nodesOf),
];

/**
 * A snapshot at rest. Of the state it keeps the active nodes in XState's own order and not the state value:
 * that order decides which parallel region acts first, and the value's keys do not tell it (MS1).
 */
const Stored = z.object({
  status: z.enum(["active", "done", "error"]),
  nodes: z.array(z.string()),
  gap: z.literal(true).optional(),
  context: z.record(z.string(), z.unknown()),
  children: z.array(z.tuple([z.string(), z.string()])),
  history: z.record(z.string(), z.array(z.string())),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
});

/** The snapshot as JSON; see `Machine.persist`. */
export function storedOf(snapshot: MachineSnapshot): Json {
  assertJson(snapshot.context, "context");
  const history = Object.entries(snapshot.historyValue as Record<string, AnyStateNode[]>);
  const children =
    snapshot.status === "active" ? Object.values(snapshot.children as Record<string, AnyActorRef>) : [];
  const stored = {
    status: snapshot.status,
    nodes: snapshot._nodes.map(({ id }) => id),
    ...(isWhole(snapshot._nodes) ? {} : { gap: true }),
    context: snapshot.context as unknown,
    children: children.map(({ id, src }) => [id, src]), // An ended machine still lists what it stopped.
    history: Object.fromEntries(history.map(([id, nodes]) => [id, nodes.map((node) => node.id)])),
    ...(snapshot.output === undefined ? {} : { output: toJson(snapshot.output) }),
    ...(snapshot.error === undefined ? {} : { error: toJson(snapshot.error) }),
  };
  return stored as Json; // Proof: strings, the context just checked, and two values out of toJson.
}

function assertJson(value: unknown, path: string, depth = 0): void {
  const refuse = (what: string): never => {
    throw new MeshError("APP_INVALID", `${path} holds ${what}, which would not survive being stored`, {
      remedy: "Keep only plain JSON values in the machine's context.",
    });
  };
  if (depth > limits.nestingMax) refuse("a value that nests too deeply or holds itself");
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (Array.isArray(value)) {
    value.forEach((item, index) => assertJson(item, `${path}[${index}]`, depth + 1));
    return;
  }
  if (typeof value !== "object") return refuse(`a ${typeof value}`);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) refuse(`a ${value.constructor.name}`);
  for (const [key, member] of Object.entries(value))
    if (member !== undefined) assertJson(member, `${path}.${key}`, depth + 1);
}

/** Makes the inert reference of a child that a stored snapshot names. */
export type MakeChild = (logic: AnyActorLogic, id: string, src: string) => AnyActorRef;

/** The snapshot again; see `Machine.revive`. */
export function reviveStored(
  machine: AnyStateMachine,
  known: ReadonlyMap<string, AnyStateNode>,
  makeChild: MakeChild,
  persisted: Json,
): MachineSnapshot {
  const parsed = Stored.safeParse(persisted);
  if (!parsed.success)
    throw new MeshError("BAD_MESSAGE", `not a stored snapshot of ${machine.id}`, { cause: parsed.error });
  const { status, context, output, error, history, children } = parsed.data;
  const nodeOf = (id: string): AnyStateNode => known.get(id) ?? diverged(machine, `has no state "${id}"`);
  const nodes = parsed.data.nodes.map(nodeOf);
  if (parsed.data.gap === undefined && !isWhole(nodes))
    diverged(machine, `has other states active with ${JSON.stringify(parsed.data.nodes)}`);
  const revived = children.map(([id, src]) => {
    const logic: unknown = machine.implementations.actors[src];
    if (callableOf(logic) === undefined) diverged(machine, `binds no actor "${src}"`);
    return [id, makeChild(logic as AnyActorLogic, id, src)] as const; // Proof: toActors made it.
  });
  return fromNodes({
    machine,
    ...{ status, context, output, error },
    _nodes: nodes,
    children: Object.fromEntries(revived),
    historyValue: Object.fromEntries(Object.entries(history).map(([id, ids]) => [id, ids.map(nodeOf)])),
  });
}

/**
 * What XState makes of active nodes: their value, tags and methods. Its public ways to a snapshot start from a value and fill in
 * what is not active (MS3), in another order (MS1); an assignment of nothing makes the same snapshot anew from its nodes.
 */
function fromNodes(parts: object): MachineSnapshot {
  const { resolve } = assign({}) as unknown as { resolve: Renew }; // The pinned version's; machine.test.ts holds it.
  return resolve({}, parts, {}, undefined, { assignment: {} })[0];
}
type Renew = (
  scope: object,
  parts: object,
  args: object,
  params: undefined,
  action: { readonly assignment: object },
) => readonly [MachineSnapshot, ...unknown[]];

/** MS3. Whether each state has what XState's documentation says: a compound one active state, a parallel one all of its own. */
function isWhole(nodes: readonly AnyStateNode[]): boolean {
  const active = new Set(nodes);
  return nodes.every((node) => {
    if (node.type !== "compound" && node.type !== "parallel") return true;
    const states = Object.values(node.states).filter(({ type }) => type !== "history");
    const count = states.filter((state) => active.has(state)).length;
    return count === (node.type === "compound" ? 1 : states.length);
  });
}

function diverged(machine: AnyStateMachine, what: string): never {
  throw new MeshError("FOLD_DIVERGED", `a snapshot does not fit the machine ${machine.id}, which ${what}`);
}
