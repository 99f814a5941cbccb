/**
 * Condition: whether a node of a workflow may start, as far as that can be said already.
 *
 * CO1 A condition is judged in three values: what is still open decides nothing before it must.
 * CO2 An `any` with one failed branch is as good as the others are: nothing cascades through it.
 */
import { canonicalJson, type Json } from "../../protocol/json.ts";
import type { Condition } from "../../protocol/workflow.ts";
import { atPointer, isPointer } from "./reference.ts";

/** `open`: it cannot be said yet. */
export type Truth = "yes" | "no" | "open";

/** Of a node's output, or the part that the condition names, with the condition's `value`. Pure. */
export type Predicate = (output: Json, value: Json) => boolean;
/** Predicates by the name that conditions give after `is`. */
export type Predicates = Readonly<Record<string, Predicate>>;

type Atom = Extract<Condition, { node: string }>;

const compare = (holds: (left: number, right: number) => boolean) => (output: Json, value: Json) =>
  typeof output === "number" && typeof value === "number" && holds(output, value);

/** What every workflow has besides its own. */
export const knownPredicates = {
  equals: (output, value) => canonicalJson(output) === canonicalJson(value),
  differs: (output, value) => canonicalJson(output) !== canonicalJson(value),
  atLeast: compare((left, right) => left >= right),
  atMost: compare((left, right) => left <= right),
  oneOf: (output, value) =>
    Array.isArray(value) && value.some((one) => canonicalJson(one) === canonicalJson(output)),
  present: (output) => output !== null,
} as const satisfies Predicates;

/** Judges a condition by what is said of each node it names. */
export function judged(condition: Condition, of: (atom: Atom) => Truth): Truth {
  if ("node" in condition) return of(condition);
  if ("not" in condition) return opposite[judged(condition.not, of)];
  const isAll = "all" in condition;
  const parts = ("all" in condition ? condition.all : condition.any).map((part) => judged(part, of));
  const [decisive, otherwise] = isAll ? (["no", "yes"] as const) : (["yes", "no"] as const);
  if (parts.includes(decisive)) return decisive;
  return parts.includes("open") ? "open" : otherwise;
}

const opposite = { yes: "no", no: "yes", open: "open" } as const satisfies Record<Truth, Truth>;

/** Whether what a condition says of a node holds of its output. Throws what the user's predicate throws. */
export function holdsOf({ is, at = "", value = null }: Atom, output: Json, predicates: Predicates): boolean {
  if (is === undefined) return true;
  const predicate = Object.hasOwn(predicates, is) ? predicates[is] : (knownPredicates as Predicates)[is];
  return predicate?.(atPointer(output, at) ?? null, value) === true;
}

/** The nodes that a condition names, each once, in its order. */
export function namedIn(condition: Condition): string[] {
  if ("node" in condition) return [condition.node];
  const parts = "not" in condition ? [condition.not] : "all" in condition ? condition.all : condition.any;
  return [...new Set(parts.flatMap(namedIn))];
}

/** What is wrong with a condition besides the nodes it names. */
export function conditionFaults(where: string, condition: Condition, predicates: Predicates): string[] {
  if ("node" in condition) {
    const { is, at } = condition;
    const isKnown = is === undefined || Object.hasOwn(predicates, is) || Object.hasOwn(knownPredicates, is);
    return [
      ...(isKnown ? [] : [`${where}: there is no predicate "${is}"`]),
      ...(at === undefined || isPointer(at) ? [] : [`${where}: "${at}" is no JSON pointer`]),
    ];
  }
  if ("not" in condition) return conditionFaults(where, condition.not, predicates);
  const parts = "all" in condition ? condition.all : condition.any;
  // No branch of nothing ever holds: such a node would never run, and no reader would be told why.
  const empty = "any" in condition && parts.length === 0 ? [`${where}: an "any" of nothing never holds`] : [];
  return [...empty, ...parts.flatMap((part) => conditionFaults(where, part, predicates))];
}
