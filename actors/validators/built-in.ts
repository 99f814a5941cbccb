/**
 * Validators: the ones that come with sagamesh, one for each type of what can be wrong in the work of one agent.
 * Those between agents: validators-between.ts.
 *
 * VL1 Each judges by code what code can judge: how to read the item is the user's, what follows from it is here. A
 *     `model` may be given for the rest, and is asked what the code left undecided.
 * VL2 Completeness comes first: what is missing is told before anything is judged, for the rules of an incomplete plan
 *     all hold.
 */
import type { z } from "zod";
import { canonicalJson, type Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { ValidatorAnswer, Finding, ValidationType } from "../../protocol/verdict.ts";
import { readWith } from "../values/schema.ts";
import {
  type ValidatorCheck,
  defineValidator,
  type CheckedMaterial,
  type Validator,
  type ValidatorConfig,
} from "./validator.ts";

/** What all built-in validators take: the type is theirs, and so is the check. */
export type Common<T extends z.ZodType> = Partial<Omit<ValidatorConfig<T>, "type" | "check">>;

/** Rejects with these findings, or accepts if there are none. */
export const found = (findings: readonly Finding[]): z.input<typeof ValidatorAnswer> =>
  findings.length === 0
    ? { verdict: "accept" }
    : {
        verdict: "reject",
        reason: findings
          .map(({ rule, what }) => `${rule}: ${what}`)
          .join("; ")
          .slice(0, limits.reasonLengthMax),
        findings: findings.slice(0, limits.findingsMax),
      };

export const undecided = (reason: string): z.input<typeof ValidatorAnswer> => ({
  verdict: "undecided",
  reason: reason.slice(0, limits.reasonLengthMax),
});

/** What is wrong counts before what cannot be told. */
export const foundOr = (
  findings: readonly Finding[],
  open: readonly string[],
): z.input<typeof ValidatorAnswer> =>
  findings.length === 0 && open.length > 0 ? undecided(open.join("; ")) : found(findings);

export const builtin = <T extends z.ZodType>(
  type: ValidationType,
  config: Common<T>,
  check: ValidatorCheck<T>,
): Validator => defineValidator<T>({ name: type, ...config, type, check });

/**
 * Syntactic: the item is what its schema says. A text is read as JSON first: prose in the place of a document is
 * rejected.
 */
export const syntacticValidity = ({
  schema,
  ...config
}: Common<z.ZodType<Json>> & { schema: z.ZodType }): Validator =>
  builtin("syntactic", config, ({ item }) => {
    let value: unknown = item;
    if (typeof item === "string" && !readWith(schema, item).success)
      try {
        value = JSON.parse(item);
      } catch {
        return found([{ rule: "json", what: "it is a text and no JSON" }]);
      }
    const read = readWith(schema, value);
    return found(read.success ? [] : [{ rule: "schema", what: read.reason }]);
  });

/** One thing that must hold. */
export interface ValidationRule<T extends z.ZodType = z.ZodType> {
  readonly id: string;
  /** In words: a model that is asked for the rest reads it, and a human. */
  readonly text: string;
  /** Pure. True or nothing wrong: it holds. False, or what is wrong: it does not. Undefined: it cannot be told. */
  readonly holds: (seen: CheckedMaterial<T>) => boolean | undefined | BrokenRule | readonly BrokenRule[];
}
/** What is wrong where a rule does not hold. */
export interface BrokenRule extends Partial<Finding> {
  readonly what: string;
}

/** VL2. Every rule is asked; `missing` names what the item lacks. */
export function byRules<T extends z.ZodType>(
  rules: readonly ValidationRule<T>[],
  missing?: (seen: CheckedMaterial<T>) => readonly string[],
): ValidatorCheck<T> {
  return (seen) => {
    const lacks = missing?.(seen) ?? [];
    if (lacks.length > 0)
      return found(lacks.map((what) => ({ rule: "complete", what: `${what} is missing` })));
    const findings: Finding[] = [];
    const open: string[] = [];
    for (const { id, text, holds } of rules) {
      const said = holds(seen);
      if (said === undefined) open.push(`${id} cannot be told`);
      else if (said === false) findings.push({ rule: id, what: text });
      else if (said !== true)
        for (const one of Array.isArray(said) ? (said as readonly BrokenRule[]) : [said as BrokenRule])
          findings.push({ rule: id, ...one });
    }
    return foundOr(findings, open);
  };
}

interface Ruled<T extends z.ZodType> {
  readonly rules: readonly ValidationRule<T>[];
  /** VL2. */
  readonly missing?: (seen: CheckedMaterial<T>) => readonly string[];
}

/** Constraint adherence: every rule holds, and nothing is missing. */
export const constraintAdherence = <T extends z.ZodType>({
  rules,
  missing,
  ...config
}: Common<T> & Ruled<T>): Validator => builtin("constraint_adherence", config, byRules(rules, missing));

/** Semantic: the item means what it is for. Rules where code can say so, a model for the rest. */
export const semanticValidity = <T extends z.ZodType>({
  rules,
  missing,
  ...config
}: Common<T> & Ruled<T>): Validator => builtin("semantic", config, byRules(rules, missing));

/** What one speaker says of one thing. */
export interface FactClaim {
  readonly about: string;
  readonly value: Json;
  /** Who says it. */
  readonly by?: string;
}

/**
 * Factual: what the item claims is what is known. With `closed` the known is all there is, and what is claimed of
 * anything else is made up; otherwise that is undecided.
 */
export const factualAccuracy = <T extends z.ZodType>({
  claims,
  known,
  closed = false,
  ...config
}: Common<T> & {
  claims: (seen: CheckedMaterial<T>) => readonly FactClaim[];
  known: Readonly<Record<string, Json>> | ((seen: CheckedMaterial<T>) => Readonly<Record<string, Json>>);
  closed?: boolean;
}): Validator =>
  builtin<T>("factual", config, (seen) => {
    const facts = typeof known === "function" ? known(seen) : known;
    const findings: Finding[] = [];
    const open: string[] = [];
    for (const { about, value, by } of claims(seen)) {
      const fact = Object.hasOwn(facts, about) ? facts[about] : undefined;
      const who = by === undefined ? "" : ` (${by})`;
      if (fact === undefined && !closed) open.push(`nothing is known of "${about}"`);
      else if (fact === undefined) findings.push({ rule: about, what: `there is no "${about}"${who}` });
      else if (canonicalJson(fact) !== canonicalJson(value))
        findings.push({
          rule: about,
          what: `it is ${short(fact)}, not ${short(value)}${who}`,
          ...byHow(fact, value),
        });
    }
    return foundOr(findings, open);
  });

export const short = (value: Json): string => canonicalJson(value).slice(0, 200);

/** How far two numbers are apart. */
export const byHow = (a: Json, b: Json): { by?: number } =>
  typeof a === "number" && typeof b === "number" ? { by: Math.abs(a - b) } : {};

/** A step of a sum: from a value, by these amounts, to another. */
export interface ReasoningStep {
  readonly rule: string;
  readonly from: number;
  readonly plus: readonly number[];
  readonly to: number;
  readonly unit?: string;
}

/** Reasoning: what the item concludes follows from what it starts from. Sums by code; a model for arguments in words. */
export const soundReasoning = <T extends z.ZodType>({
  steps,
  ...config
}: Common<T> & { steps: (seen: CheckedMaterial<T>) => readonly ReasoningStep[] | undefined }): Validator =>
  builtin<T>("reasoning", config, (seen) => {
    const all = steps(seen);
    if (all === undefined) return undefined;
    return found(
      all.flatMap(({ rule, from, plus, to, unit }) => {
        const sum = plus.reduce((total, one) => total + one, from);
        if (sum === to) return [];
        const what = `${[from, ...plus].join(" + ")} is ${sum}, not ${to}`;
        return [{ rule, what, by: Math.abs(sum - to), ...(unit === undefined ? {} : { unit }) }];
      }),
    );
  });

/**
 * Context preservation: what is pinned is still there. `kept` says what of it the item names; what it gave up on
 * purpose stands in `dropped`.
 */
export const contextPreservation = <T extends z.ZodType>({
  pinned,
  kept,
  dropped,
  ...config
}: Common<T> & {
  pinned: (seen: CheckedMaterial<T>) => readonly Json[];
  kept: (seen: CheckedMaterial<T>) => readonly Json[];
  dropped?: (seen: CheckedMaterial<T>) => readonly Json[];
}): Validator =>
  builtin<T>("context_preservation", config, (seen) => {
    const named = new Set([...kept(seen), ...(dropped?.(seen) ?? [])].map(canonicalJson));
    return found(
      pinned(seen)
        .filter((one) => !named.has(canonicalJson(one)))
        .map((one) => ({ rule: "pinned", what: `${short(one)} is lost` })),
    );
  });
