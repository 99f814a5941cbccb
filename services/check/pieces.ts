/**
 * Pieces: every function and action of a machine, each with its place and the event that it hears.
 *
 * PZ1 Finding them calls no function of the machine.
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";
import { nodesOf } from "../../actors/machine/snapshot.ts";

/** Something that a machine holds where a function may stand. */
export interface Piece {
  /** As a fault says it: `the state "a", on "go"`. */
  readonly where: string;
  readonly role: "action" | "guard" | "data";
  /** The event of the transition that it is of; undefined of all others. */
  readonly event?: string;
  /** A function, an action or guard of XState's, a name, or an object of functions. */
  readonly value: unknown;
}

/** Of all states, and of the context; named functions stand where they are used. */
export function piecesOf(machine: AnyStateMachine): Piece[] {
  const context: unknown = machine.config.context;
  return [
    { where: `the context of "${machine.id}"`, role: "data", value: context },
    ...nodesOf(machine.root).flatMap(piecesOfNode),
  ];
}

function piecesOfNode(node: AnyStateNode): Piece[] {
  const state = `the state "${node.id}"`;
  const acting = (at: string, actions: readonly unknown[]): Piece[] =>
    actions.map((value) => ({ where: `${state}, ${at}`, role: "action", value }));
  const initial = node.type === "compound" ? node.initial.actions : [];
  const transitions = [...node.transitions, ["always", node.always ?? []] as const];
  return [
    ...acting("entry", node.entry),
    ...acting("exit", node.exit),
    ...acting("initial", initial),
    ...node.invoke.map(({ input }): Piece => ({ where: `${state}, invoke`, role: "data", value: input })),
    { where: `${state}, output`, role: "data", value: node.output },
    ...transitions.flatMap(([event, all]) =>
      all.flatMap(({ guard, actions }): Piece[] => {
        const where = `${state}, on "${event}"`;
        const on = event === "always" ? {} : { event };
        const guards: Piece[] = guard === undefined ? [] : [{ where, role: "guard", ...on, value: guard }];
        return [...guards, ...actions.map((value): Piece => ({ where, role: "action", ...on, value }))];
      }),
    ),
  ];
}

/** What a piece is by its name, if it has one: what the machine's implementations say. */
export function namedValue(machine: AnyStateMachine, { role, value }: Piece): unknown {
  const name = nameOf(value);
  if (name === undefined || role === "data") return value;
  const { actions, guards } = machine.implementations;
  return ((role === "action" ? actions : guards) as Record<string, unknown>)[name];
}

/** The name of an action or a guard that is named, with params or without. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const isNamed =
    typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
  return isNamed ? (value.type as string) : undefined;
}

/** The text of every function in a value: of XState's actions and guards what their author gave them. */
export function textsOf(value: unknown, depth = 0): string[] {
  if (depth > 3 || value === null || value === undefined) return [];
  if (typeof value !== "function" && typeof value !== "object") return [];
  // Of XState's own actions and guards the function itself is XState's, and so are these members.
  const isOwn = typeof value === "function" && !("resolve" in value) && !("check" in value);
  const inner = Object.entries(value).flatMap(([name, member]: [string, unknown]) =>
    ["resolve", "execute", "check"].includes(name) ? [] : textsOf(member, depth + 1),
  );
  return isOwn ? [String(value), ...inner] : inner;
}
