/**
 * Chart: a machine's states and transitions as data, for those who draw them.
 *
 * KH1 Finding them calls no function of the machine; what is a function is told by its name alone.
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { nodesOf } from "./snapshot.ts";

/** One state. Ids are those of XState: the path from the machine, joined by dots, unless its author gave another. */
export interface ChartState {
  readonly id: string;
  readonly name: string;
  /** The state that it is in; none for the machine itself. */
  readonly parent?: string;
  readonly type: "atomic" | "compound" | "parallel" | "final" | "history";
  /** Of a compound state: where it begins. */
  readonly initial?: string;
  /** What it invokes, by the machine's own names. */
  readonly invokes: readonly string[];
}

/** One transition. */
export interface ChartTransition {
  readonly from: string;
  /** Empty if it stays: it only acts. */
  readonly to: readonly string[];
  /** In words: a signal's name, `done NAME`, `error NAME`, `after 1000 ms`, `always`. */
  readonly on: string;
  /** A guard's name, or `guarded` where it has none. */
  readonly guard?: string;
}

/** All states, parents first, and all transitions in the order in which they are tried. */
export interface Chart {
  readonly states: readonly ChartState[];
  readonly transitions: readonly ChartTransition[];
}

/** The chart of a machine. */
export function chartOf({ root }: AnyStateMachine): Chart {
  const nodes = nodesOf(root);
  return { states: nodes.map(stateOf), transitions: nodes.flatMap(transitionsOf) };
}

/** What its author wrote, as JSON: a function as its name, what is no plain value as its kind. */
export const configOf = ({ config }: AnyStateMachine): Json => wordsIn(config, []) ?? null;

function wordsIn(value: unknown, within: readonly object[]): Json | undefined {
  if (typeof value === "function") return { type: value.name };
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object") return undefined;
  if (within.includes(value) || within.length === limits.nestingMax) return "[…]";
  const inner = [...within, value];
  if (Array.isArray(value)) return value.map((one) => wordsIn(one, inner) ?? null);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return { type: value.constructor.name };
  const members = Object.entries(value).map(([name, one]) => [name, wordsIn(one, inner)] as const);
  return Object.fromEntries(members.filter((one): one is [string, Json] => one[1] !== undefined));
}

const stateOf = (node: AnyStateNode): ChartState => ({
  id: node.id,
  name: node.key,
  ...(node.parent === undefined ? {} : { parent: node.parent.id }),
  type: node.type,
  ...(node.type === "compound" && node.initial.target[0] !== undefined
    ? { initial: node.initial.target[0].id }
    : {}),
  invokes: node.invoke.map(({ src, id }) => srcOr(src, id)),
});

/** XState names an inline logic by its place. */
const srcOr = (src: unknown, id: string): string =>
  typeof src === "string" && !src.startsWith("xstate.invoke.") ? src : id;

function transitionsOf(node: AnyStateNode): ChartTransition[] {
  const all = [...node.transitions, ["", node.always ?? []] as const];
  return all.flatMap(([event, transitions]) =>
    transitions.map(({ target, guard }) => {
      const named = guardName(guard);
      return {
        from: node.id,
        to: (target ?? []).map(({ id }) => id),
        on: wordsOf(event, node),
        ...(named === undefined ? {} : { guard: named }),
      };
    }),
  );
}

/** XState's own events in words. */
function wordsOf(event: string, node: AnyStateNode): string {
  if (event === "") return "always";
  const [, kind, actor = ""] = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event) ?? [];
  if (kind !== undefined) {
    const invoke = node.invoke.find(({ id }) => id === actor);
    return `${kind} ${srcOr(invoke?.src, actor)}`;
  }
  if (event.startsWith("xstate.done.state.")) return "done";
  const [, delay] = /^xstate\.after\.(.*)$/.exec(event) ?? [];
  if (delay === undefined) return event;
  const said = delay.slice(0, delay.length - node.id.length - 1);
  return /^\d+$/.test(said) ? `after ${said} ms` : `after ${said}`;
}

function guardName(guard: unknown): string | undefined {
  if (guard === undefined) return undefined;
  if (typeof guard === "string") return guard;
  const type: unknown =
    typeof guard === "object" && guard !== null && "type" in guard ? guard.type : undefined;
  return typeof type === "string" ? type : "guarded";
}
