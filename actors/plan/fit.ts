/**
 * Plan fit: whether all that one schema takes is taken by another, with three answers.
 *
 * JF1 "No" is shown by a value of the one that the other refuses, read as the runtime reads it. "Yes" is proved from the two
 *     schemas. All else is unknown, and the runtime's own schemas judge it when it runs.
 */
import { z } from "zod";
import { canonicalJson, type Json } from "../../protocol/json.ts";
import { atPointer } from "../values/reference.ts";
import { asSchema, requiredOf } from "./catalogue.ts";
import { formatExamples, type Path, type Witness, witnessesOf } from "./witness.ts";

/**
 * How sure a misfit is. `never`: no value has a part there that is taken. `sometimes`: some have, and others are of another
 * kind, or lack it. `bounds`: all are of the kind, and some are too long, too many, too great, or of another form.
 */
export type Grade = "never" | "sometimes" | "bounds";

/** A place at which it does not fit. */
export interface Misfit {
  readonly at: Path;
  readonly grade: Grade;
  readonly says: string;
  /** A value that is refused for it. */
  readonly example: Json;
}

export type Fit =
  | { readonly is: "yes" }
  | { readonly is: "no"; readonly misfits: readonly Misfit[] }
  | { readonly is: "unknown" };

/** JF1. Total: a schema that cannot be read is one of which nothing is known. */
export function fitOf(source: Json | undefined, target: Json | undefined): Fit {
  const reader = readerOf(target);
  if (reader === undefined) return { is: "unknown" };
  const witnesses = witnessesOf(source);
  const refusals = witnesses.map((witness) => ({ witness, told: refusalsOf(reader, witness) }));
  const misfits = misfitsIn(refusals);
  if (misfits.length > 0) return { is: "no", misfits };
  return { is: covers(source, target) ? "yes" : "unknown" };
}

function readerOf(schema: Json | undefined): z.ZodType | undefined {
  if (asSchema(schema) === undefined) return undefined;
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    return undefined;
  }
}

/** `kind`: it is something else. `value`: this one of its values. `form`: of another format. `bounds`: too much, too little. */
type Manner = "kind" | "value" | "form" | "bounds";
interface Refusal {
  readonly at: Path;
  readonly manner: Manner;
  readonly says: string;
}
type Issue = z.core.$ZodIssue;

function refusalsOf(reader: z.ZodType, witness: Witness): Refusal[] {
  const read = reader.safeParse(witness.value);
  return read.success ? [] : read.error.issues.flatMap(apart).flatMap((one) => refusalOf(one, witness) ?? []);
}

/** Each member that is not taken has its own place. */
const apart = (issue: Issue): Issue[] =>
  issue.code === "unrecognized_keys"
    ? issue.keys.map((key) => ({ ...issue, path: [...issue.path, key], keys: [key] }))
    : [issue];

/** Undefined where it says nothing: of what could be anything (OW1 of witness.ts), or of what the reader's schema is not sure of. */
function refusalOf(issue: Issue, witness: Witness): Refusal | undefined {
  const at = issue.path as Path; // Proof: of JSON.
  if (
    [...witness.open, ...(witness.filled ?? [])].some(
      (open) => isBelow(at, open) || (issue.code === "invalid_union" && isBelow(open, at)),
    )
  )
    return undefined;
  const is = partAt(witness.value, at);
  const isSample = witness.sampled.some((path) => isSame(path, at));
  const manner = mannerOf(issue, is, isSample, witness);
  return manner && { at, manner, says: saying(issue, is) };
}

function mannerOf(
  issue: Issue,
  is: Json | undefined,
  isSample: boolean,
  witness: Witness,
): Manner | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int" ? (isSample ? "bounds" : "kind") : "kind";
    case "unrecognized_keys":
      return "kind";
    case "invalid_value":
      if (issue.values.some((value) => typeof value === "object" && value !== null)) return undefined;
      return isSample ? "bounds" : "value";
    case "too_small":
    case "too_big":
    case "not_multiple_of":
      return isSample ? "bounds" : "value";
    case "invalid_format":
      if (!isSample) return "value";
      return issue.format !== "regex" && Object.values<Json | undefined>(formatExamples).includes(is)
        ? "form"
        : "bounds";
    case "invalid_union": {
      const manner = mildest(issue.errors.map((errors) => strictest(errors, issue.path, witness)));
      // Of what has parts not all are tried together: another choice of them may be taken.
      return manner !== undefined && typeof is === "object" && is !== null ? "form" : manner;
    }
    default:
      return undefined;
  }
}

const order = ["bounds", "form", "value", "kind"] as const;
const strictest = (
  errors: readonly Issue[],
  at: readonly PropertyKey[],
  witness: Witness,
): Manner | undefined => {
  const manners = errors.map((one) => refusalOf({ ...one, path: [...at, ...one.path] }, witness)?.manner);
  // One of which nothing is known may be taken, if nothing else is wrong with this option.
  return order.findLast((one) => manners.includes(one));
};
/** Of options, the one that it is nearest to; if one of them may be right, nothing is said. */
const mildest = (manners: readonly (Manner | undefined)[]): Manner | undefined =>
  manners.includes(undefined) ? undefined : order.find((one) => manners.includes(one));

/** By place, how sure it is. */
function misfitsIn(
  all: readonly { readonly witness: Witness; readonly told: readonly Refusal[] }[],
): Misfit[] {
  const places = new Map<string, Path>();
  for (const { at } of all.flatMap(({ told }) => told)) places.set(JSON.stringify(at), at);
  const misfits = [...places.values()].map((at): Misfit => {
    // Of lists that are too short to have it nothing is said, nor of those that stand for their length.
    const having = all.filter(({ witness: { value, filled = [] } }) => {
      if (filled.some((path) => isBelow(at, path))) return false;
      const parent = at.length === 0 ? value : partAt(value, at.slice(0, -1));
      const isThere = typeof at.at(-1) === "number" ? partAt(value, at) : parent;
      return isThere !== undefined;
    });
    const here = having.flatMap(({ witness: { value }, told }) =>
      told.filter((one) => isSame(one.at, at)).map((one) => ({ ...one, value })),
    );
    const worst = order.findLast((manner) => here.some((one) => one.manner === manner)) ?? "bounds";
    const isAll = having.every(({ told }) =>
      told.some((one) => isSame(one.at, at) && (one.manner === "kind" || one.manner === "value")),
    );
    const shown = here.find(({ manner }) => manner === worst);
    const grade = isAll ? "never" : worst === "kind" || worst === "form" ? "sometimes" : "bounds";
    return { at, grade, says: said(shown?.says ?? "", grade), example: shown?.value ?? null };
  });
  // The items of a list are alike: of equal words the first's are enough.
  const first = ({ at }: Misfit) => at.map((key) => (typeof key === "number" ? 0 : key));
  return misfits.filter(
    (one) =>
      !misfits.some(
        (other) => other.at !== one.at && isSame(other.at, first(one)) && other.says === one.says,
      ),
  );
}

const said = (says: string, grade: Grade): string =>
  grade === "never" ? `it ${says}` : `it may be that it ${says}`;

function saying(issue: Issue, is: Json | undefined): string {
  if (is === undefined) return "is not there, and is required";
  const short = JSON.stringify(is).slice(0, 40);
  if (issue.code === "invalid_type") return `is ${kindOf(is)}, and ${withArticle(issue.expected)} is wanted`;
  if (issue.code === "invalid_value")
    return `is ${short}, and ${issue.values.map((value) => JSON.stringify(value)).join(" or ")} is wanted`;
  if (issue.code === "unrecognized_keys") return "is there, and is not taken";
  if (issue.code === "invalid_union") return `is ${short}, and none of what may be given is that`;
  return `is ${short}, and that is not taken: ${issue.message}`;
}

const kindOf = (value: Json): string =>
  withArticle(
    value === null
      ? "null"
      : Array.isArray(value)
        ? "array"
        : Number.isInteger(value)
          ? "integer"
          : typeof value,
  );
const withArticle = (type: string): string =>
  type === "null" ? type : `${/^[aeiou]/.test(type) ? "an" : "a"} ${type === "int" ? "integer" : type}`;

const pointerOf = (path: Path): string =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
const partAt = (value: Json, path: Path): Json | undefined => atPointer(value, pointerOf(path));
const isSame = (a: Path, b: Path): boolean => a.length === b.length && isBelow(a, b);
const isBelow = (path: Path, above: Path): boolean => above.every((key, k) => path[k] === key);

type Schema = Readonly<Record<string, Json>>;

/** Keywords of a reader that are looked at here; one with others is not said to take anything. */
const words: ReadonlySet<string> = new Set(
  "$schema title description default type const enum anyOf properties required additionalProperties items minItems maxItems minLength maxLength pattern format minimum maximum".split(
    " ",
  ),
);

/** Whether all that the one takes is taken by the other; false where that is not seen. */
function covers(source: Json | undefined, target: Json | undefined): boolean {
  const [from, to] = [asSchema(source), asSchema(target)];
  if (to === undefined || from === undefined) return false;
  if (Object.keys(to).every((key) => ["$schema", "title", "description", "default"].includes(key)))
    return true;
  if (!Object.keys(to).every((key) => words.has(key))) return false;
  const values = "const" in from ? [from["const"]] : from["enum"];
  if (Array.isArray(values)) return values.every((value) => readerOf(to)?.safeParse(value).success === true);
  const options = from["anyOf"] ?? from["oneOf"];
  if (Array.isArray(options)) return options.every((option) => covers(option, to));
  if (Array.isArray(from["type"])) return from["type"].every((type) => covers({ ...from, type }, to));
  if (Array.isArray(to["anyOf"]))
    return !("type" in to) && !("properties" in to) && to["anyOf"].some((option) => covers(from, option));
  if (Array.isArray(to["type"])) return to["type"].some((type) => covers(from, { ...to, type }));
  return "const" in to || "enum" in to ? false : coversType(from, to);
}

function coversType(from: Schema, to: Schema): boolean {
  const [is, wanted] = [from["type"], to["type"]];
  if (is !== wanted && !(is === "integer" && wanted === "number")) return false;
  switch (is) {
    case "null":
    case "boolean":
      return true;
    case "string":
      return (
        atLeast(from, to, "minLength", 0) &&
        atMost(from, to, "maxLength", Infinity) &&
        ["pattern", "format"].every((key) => !(key in to) || to[key] === from[key])
      );
    case "number":
    case "integer": {
      const reach = is === "integer" ? Number.MAX_SAFE_INTEGER : Infinity;
      return atLeast(from, to, "minimum", -reach) && atMost(from, to, "maximum", reach);
    }
    case "array":
      return (
        !("prefixItems" in from) &&
        atLeast(from, to, "minItems", 0) &&
        atMost(from, to, "maxItems", Infinity) &&
        (!("items" in to) || covers(from["items"] ?? {}, to["items"]))
      );
    case "object":
      return coversMembers(from, to);
    default:
      return false;
  }
}

const bound = (schema: Schema, key: string, otherwise: number): number => {
  const value = schema[key];
  return typeof value === "number" ? value : otherwise;
};
const atLeast = (from: Schema, to: Schema, key: string, otherwise: number): boolean =>
  bound(from, key, otherwise) >= bound(to, key, otherwise);
const atMost = (from: Schema, to: Schema, key: string, otherwise: number): boolean =>
  bound(from, key, otherwise) <= bound(to, key, otherwise);

function coversMembers(from: Schema, to: Schema): boolean {
  const [has, wants] = [asSchema(from["properties"]) ?? {}, asSchema(to["properties"]) ?? {}];
  const isClosed = from["additionalProperties"] === false;
  const given = new Set(requiredOf(from));
  const others = Object.keys(has).filter((key) => !Object.hasOwn(wants, key));
  const more = to["additionalProperties"];
  return (
    requiredOf(to).every((key) => given.has(key)) &&
    Object.entries(wants).every(([key, schema]) =>
      Object.hasOwn(has, key) ? covers(has[key], schema) : isClosed || isAnything(schema),
    ) &&
    (more === undefined || more === true || isAnything(more) || (isClosed && others.length === 0))
  );
}

const isAnything = (schema: Json): boolean => canonicalJson(schema) === "{}" || schema === true;
