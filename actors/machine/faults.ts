/**
 * A machine's faults: everything in it that a ledger could not record, found when the application is loaded.
 *
 * Owns: the list, with the state and the remedy in each line. Does not own: what only shows when a function
 * of the machine is called (an action enqueued under a condition, say); the door refuses that in the step.
 *
 * MF1 All faults are listed at once, and finding them calls no function of the machine.
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";
import { callableOf } from "./callable.ts";
import { isMachine, wayOutOf } from "./foreign.ts";
import { nodesOf } from "./snapshot.ts";

/** XState's own actions that the door knows; all others would be side effects. */
const recorded: ReadonlySet<string> = new Set(
  ["assign", "raise", "cancel", "sendTo", "emit", "log", "spawnChild", "stopChild", "enqueueActions"].map(
    (name) => `xstate.${name}`,
  ),
);

const noSpawn =
  "`spawn` starts an actor that no ledger entry announces: use `invoke` or the action spawnChild";
const noParent =
  "a saga's parent hears of it by its output alone: leave sendParent out and say it in `output`, or have a tool send the parent a signal";
const noSystemId = "systemId is not supported: name an actor by its id";

/**
 * All faults of a machine, each a sentence that says where and what to do; empty if there are none.
 * `builtin` allows named actions `sagamesh.*` without an implementation; `above` is for the machines in a machine.
 */
export function machineFaults(
  machine: AnyStateMachine,
  { builtin = false, above = [machine] }: { builtin?: boolean; above?: readonly AnyStateMachine[] } = {},
): string[] {
  const audit: Audit = { machine, builtin, above, faults: new Set() };
  const nodes = nodesOf(machine.root);
  auditImplementations(audit);
  if (mentionsSpawn(machine.config.context)) audit.faults.add(`the context of "${machine.id}": ${noSpawn}`);
  for (const node of nodes) auditNode(audit, node);
  auditIds(audit, nodes);
  return [...audit.faults];
}

interface Audit {
  readonly machine: AnyStateMachine;
  readonly builtin: boolean;
  /** It, and the machines that it is in: one that names itself is audited once. */
  readonly above: readonly AnyStateMachine[];
  /** A set: a named action that stands in five states is one fault where the fault is in its implementation. */
  readonly faults: Set<string>;
}

/** Functions an action of XState's is made of. The members in question are data that its creator put there. */
interface ActionFunction {
  (...args: never[]): unknown;
  readonly resolve?: unknown;
  readonly type?: string;
  readonly assignment?: unknown;
  readonly collect?: unknown;
  readonly src?: unknown;
  readonly id?: unknown;
  readonly systemId?: unknown;
  readonly syncSnapshot?: boolean;
  readonly to?: unknown;
  readonly delay?: unknown;
}

function auditImplementations(audit: Audit): void {
  const { actions, actors, guards } = audit.machine.implementations;
  for (const [name, logic] of Object.entries(actors as Record<string, unknown>))
    auditLogic(audit, `the actor "${name}": its logic`, name, logic);
  // Also the ones no state names: an enqueueActions may.
  for (const [name, action] of Object.entries(actions as Record<string, unknown>))
    auditFunction(audit, `the action "${name}"`, action);
  for (const [name, guard] of Object.entries(guards as Record<string, unknown>))
    auditGuard(audit, `the guard "${name}"`, guard);
}

/** Where it is a machine, what is wrong in it is told with it: what is mended in one go is known in one go. */
function auditLogic(audit: Audit, where: string, name: string, logic: unknown): void {
  if (callableOf(logic) !== undefined) return;
  audit.faults.add(`${where} would run unrecorded; ${wayOutOf(logic, name)}`);
  if (!isMachine(logic) || audit.above.includes(logic)) return;
  for (const fault of machineFaults(logic, { above: [...audit.above, logic] }))
    audit.faults.add(`in the machine "${logic.id}", ${fault}`);
}

function auditNode(audit: Audit, node: AnyStateNode): void {
  const state = `the state "${node.id}"`;
  for (const action of node.entry) auditAction(audit, `${state}, entry`, action);
  for (const action of node.exit) auditAction(audit, `${state}, exit`, action);
  if (node.type === "compound")
    for (const action of node.initial.actions) auditAction(audit, `${state}, initial`, action);
  for (const [k, invoke] of node.invoke.entries()) {
    auditSource(audit, `${state}, invoke`, givenSource(node, k) ?? invoke.src);
    if (invoke.systemId !== undefined) audit.faults.add(`${state}, invoke: ${noSystemId}`);
    if ("onSnapshot" in invoke && invoke.onSnapshot !== undefined)
      audit.faults.add(
        `${state}, invoke: onSnapshot never fires, a recorded actor has no snapshots; let it answer by its output`,
      );
  }
  for (const [event, transitions] of [...node.transitions, ["always", node.always ?? []] as const])
    for (const { guard, actions } of transitions) {
      const where = `${state}, on "${event}"`;
      if (guard !== undefined) auditGuard(audit, where, guard);
      for (const action of actions) auditAction(audit, where, action);
    }
}

/** An action as it stands in a state: a name, a name with params, or a function. */
function auditAction(audit: Audit, where: string, action: unknown): void {
  if (typeof action === "function") return auditFunction(audit, where, action);
  const name = nameOf(action);
  if (audit.builtin && name.startsWith("sagamesh.")) return;
  if (audit.machine.implementations.actions[name] === undefined)
    audit.faults.add(
      `${where}: the action "${name}" is not declared; declare it in setup, from assign, raise and the like`,
    );
}

/** Whether an action is a function of the author's own: a side effect that no ledger would hold. */
export function isOwnAction(action: unknown): boolean {
  const { resolve, type } = Object.assign({}, action) as Partial<ActionFunction>;
  return resolve === undefined || type === undefined || !recorded.has(type);
}

function auditFunction(audit: Audit, where: string, action: unknown): void {
  // Proof: every member is optional and `unknown` until looked at.
  const { type, ...parts } = Object.assign({}, action) as Partial<ActionFunction>;
  if (isOwnAction(action)) {
    audit.faults.add(
      `${where}: a function of your own is a side effect that is not recorded; ${insteadOf(action)}`,
    );
    return;
  }
  if (mentionsSpawn(parts.assignment)) audit.faults.add(`${where}: ${noSpawn}`);
  for (const assigner of [parts.assignment, ...(Object.values(parts.assignment ?? {}) as unknown[])])
    if (isAsync(assigner))
      audit.faults.add(`${where}: an async assign would put a promise into the context; invoke a tool`);
  if (typeof parts.collect === "function" && /\bsendParent\b/.test(String(parts.collect)))
    audit.faults.add(`${where}: ${noParent}`);
  if (type === "xstate.spawnChild") auditSpawnChild(audit, where, parts);
  if (type === "xstate.sendTo") auditSendTo(audit, where, parts);
  if (typeof parts.delay === "string") auditDelay(audit, where, parts.delay);
}

/** What an action of the author's own may become, by its text. */
function insteadOf(action: unknown): string {
  const text = String(action);
  const asks = /\b(?:prompt|confirm|readline|question)\s*\(/.test(text);
  if (asks) return "people are asked by an actor: invoke question({ to, answer }), bound by toActors";
  const prints = /\bconsole\.\w+\s*\(/.test(text);
  const prose =
    "what it prints is log(({ context, event }) => ...) of XState, which hosts write to their log";
  const calls =
    'what it does is a tool: spawnChild("tool", { id, input }) to go on at once, `invoke` to wait for its end; what it keeps is assign(...)';
  return prints ? `${prose}; ${calls}` : calls;
}

function auditSpawnChild(
  audit: Audit,
  where: string,
  { src, id, systemId, syncSnapshot }: Partial<ActionFunction>,
): void {
  auditSource(audit, `${where}, spawnChild`, src);
  if (id === undefined)
    audit.faults.add(`${where}: spawnChild needs an id, or XState makes one that differs in every process`);
  if (systemId !== undefined) audit.faults.add(`${where}, spawnChild: ${noSystemId}`);
  if (syncSnapshot === true)
    audit.faults.add(`${where}: syncSnapshot has no effect, a recorded actor has no snapshots; leave it out`);
}

function auditSendTo(audit: Audit, where: string, { to }: Partial<ActionFunction>): void {
  if (to === "#_parent") audit.faults.add(`${where}: ${noParent}`);
  if (to === "#_internal") audit.faults.add(`${where}: an event to the machine itself is raised; use raise`);
  if (typeof to !== "string") return;
  const target = nodesOf(audit.machine.root)
    .flatMap(({ invoke }) => invoke)
    .find(({ id }) => id === to);
  const logic: unknown =
    typeof target?.src === "string" ? audit.machine.implementations.actors[target.src] : undefined;
  const kind = callableOf(logic)?.kind;
  if (kind !== undefined && kind !== "saga")
    audit.faults.add(`${where}: "${to}" is a ${kind} and takes no signals; send to a saga or an agent`);
}

function auditSource(audit: Audit, where: string, src: unknown): void {
  if (typeof src !== "string")
    auditLogic(audit, `${where}: inline logic`, "name", callableOf(src) === undefined ? src : undefined);
  else if (!Object.hasOwn(audit.machine.implementations.actors, src))
    audit.faults.add(`${where}: the actor "${src}" is not declared; bind it in setup with toActors`);
}

/** The k-th actor of a state as its author wrote it: XState names an inline logic by the place where it stands. */
const givenSource = ({ config }: AnyStateNode, k: number): unknown =>
  ([config.invoke ?? []].flat() as { readonly src?: unknown }[])[k]?.src;

/** A guard: a name, a name with params, a function, or one of XState's that holds others. */
function auditGuard(audit: Audit, where: string, guard: unknown): void {
  if (typeof guard === "function") {
    if (isAsync(guard)) audit.faults.add(`${where}: an async guard is always true; decide from the context`);
    const inner: unknown = "guards" in guard ? guard.guards : [];
    for (const part of Array.isArray(inner) ? (inner as unknown[]) : []) auditGuard(audit, where, part);
    return;
  }
  const name = nameOf(guard);
  if (audit.machine.implementations.guards[name] === undefined)
    audit.faults.add(`${where}: the guard "${name}" is not declared; declare it in setup`);
}

/** XState takes an unknown delay as none: the event would be raised at once, in a loop perhaps. */
function auditDelay(audit: Audit, where: string, delay: string): void {
  if (!Object.hasOwn(audit.machine.implementations.delays, delay))
    audit.faults.add(`${where}: the delay "${delay}" is not declared; declare it in setup, in milliseconds`);
}

/** Results find their actor by its id, and states are stored by theirs: what may be active at once differs. */
function auditIds(audit: Audit, nodes: readonly AnyStateNode[]): void {
  const invokes = nodes.flatMap((node) => node.invoke.map(({ id }) => ({ node, id })));
  invokes.forEach((one, index) => {
    for (const other of invokes.slice(index + 1))
      if (one.id === other.id && mayMeet(one.node, other.node))
        audit.faults.add(
          `the states "${one.node.id}" and "${other.node.id}" both invoke under the id "${one.id}"; give each its own`,
        );
  });
  const seen = new Set<string>();
  for (const { id } of nodes) {
    if (seen.has(id)) audit.faults.add(`two states have the id "${id}"; give each its own`);
    seen.add(id);
  }
}

/** Whether both nodes can be active at once: one holds the other, or they part at a parallel state. */
function mayMeet(one: AnyStateNode, other: AnyStateNode): boolean {
  const above = lineOf(one);
  const meeting = lineOf(other).find((node) => above.includes(node));
  return meeting === one || meeting === other || meeting?.type === "parallel";
}

const lineOf = (node: AnyStateNode): AnyStateNode[] => [node, ...(node.parent ? lineOf(node.parent) : [])];

const nameOf = (reference: unknown): string =>
  typeof reference === "object" && reference !== null && "type" in reference
    ? String(reference.type)
    : String(reference);

const isAsync = (value: unknown): boolean =>
  typeof value === "function" && value.constructor.name === "AsyncFunction";

/**
 * Whether a function, or one of an object's, takes `spawn` out of its argument. By its text, so an alias gets
 * past; the door then stops the step.
 */
function mentionsSpawn(value: unknown): boolean {
  if (typeof value === "function") {
    const text = String(value);
    const takenOut = /^(?:async\s+)?(?:function\b\s*)?[\w$]*\s*\(\s*\{[^}]*\bspawn\b/;
    const called = /^\s*\(?\s*([\w$]+)\s*\)?\s*=>[^]*\b\1\.spawn\(/;
    return takenOut.test(text) || called.test(text);
  }
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((member) => typeof member === "function" && mentionsSpawn(member));
}
