/**
 * App config: what an application is made of, and what of it cannot be read, for plain JavaScript may give anything.
 */
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import type { Policy } from "../../actors/contract/policy.ts";
import type { Implementation, Tool } from "../../actors/contract/tool.ts";
import type { Validator } from "../../actors/validators/validator.ts";
import type { Predicates } from "../../actors/values/condition.ts";
import type { ModelPrices } from "../../protocol/budget.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import type { ThrottleLimits } from "../../protocol/throttle.ts";
import { isFallback, type ModelFallback } from "./fallback.ts";

/** What an application is made of. */
export interface AppConfig {
  /** All that may be started here: sagas, agents and workflows, one list. */
  sagas?: readonly SagaDefinition[];
  /** Plans to run, as JSON: what `sagamesh plan` wrote. Each is a workflow of its name and version. */
  plans?: readonly unknown[];
  /** What plans may name, besides the tools of sagas, agents and implementations. */
  tools?: readonly Tool[];
  /** Who may judge what plans do: what a constraint names under `validators`. */
  validators?: readonly Validator[];
  /** What conditions and checks of plans may name after `is`, besides those that every workflow has. Pure. */
  predicates?: Predicates;
  /** Bodies of tools whose contract does not hold them. */
  implementations?: readonly Implementation[];
  /**
   * By the name that agents use: a model port, or the names of several that stand in for one another. A name that begins
   * with `claude-` need not stand here: hosts then ask Anthropic, with ANTHROPIC_API_KEY of their environment.
   */
  models?: Readonly<Record<string, ModelPort | ModelFallback>>;
  /** How fast each of these models may be asked over the whole mesh: so many at once, so many per second. */
  modelLimits?: Readonly<Record<string, ThrottleLimits>>;
  /** Asked about every call of every saga served here, before the saga's own. They are part of each one's hash. */
  policies?: readonly Policy[];
  /**
   * What `policies` was before, `[[]]` for nothing: sagas that were started under one of these go on under it. Those
   * of a list that is not here are parked until some host has it.
   */
  formerPolicies?: readonly (readonly Policy[])[];
  /**
   * US dollars for a million tokens, by the name that agents use for a model or its port's own; before the published
   * prices that come with sagamesh. Running sagas keep the prices they were started with.
   */
  prices?: ModelPrices;
}

type Shape =
  "table" | "functions" | "models" | "list" | "lists" | readonly [has: readonly string[], made: string];

const made = "what defineSaga, defineAgent or defineWorkflow made";
const shapes: Readonly<Record<keyof AppConfig, Shape>> = {
  sagas: [["kind", "definition"], made],
  plans: "list",
  tools: [["kind", "effect", "faults"], "what defineTool made"],
  validators: [["kind", "definition"], "what defineValidator made"],
  predicates: "functions",
  implementations: [["tool", "body", "faults"], "what implement made"],
  models: "models",
  modelLimits: "table",
  policies: [["name", "judge"], "what definePolicy made"],
  formerPolicies: "lists",
  prices: "table",
};

/**
 * What is wrong with the shape of an application's configuration, one line each; and as much of it as can be read, so
 * that its other faults are told together with these.
 */
export function readConfig(config: unknown): { readonly config: AppConfig; readonly faults: string[] } {
  if (typeof config !== "object" || config === null || Array.isArray(config))
    return { config: {}, faults: ["defineApp takes one object: defineApp({ sagas: [...] })"] };
  const faults: string[] = [];
  const read: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    const shape = Object.hasOwn(shapes, key) ? shapes[key as keyof AppConfig] : undefined;
    if (shape === undefined) faults.push(key === "agents" ? noAgents : unknownKey(key));
    else if (value !== undefined) read[key] = readable(key, value, shape, faults);
  }
  return { config: read, faults };
}

const noAgents = `an application has no list "agents": write sagas: [...] with all it serves, agents too`;
function unknownKey(key: string): string {
  const near = didYouMean(key, Object.keys(shapes));
  return `an application has nothing named "${key}"${near === "" ? `; it has ${Object.keys(shapes).join(", ")}` : near}`;
}

function readable(key: string, value: unknown, shape: Shape, faults: string[]): unknown {
  if (shape === "table" || shape === "functions" || shape === "models") {
    if (typeof value === "object" && isObject(value) && !Array.isArray(value))
      return shape === "table" ? value : soundIn(key, value, shape, faults);
    faults.push(`${key} is a table by name: ${key}: { name: ... }`);
    return undefined;
  }
  if (!Array.isArray(value)) {
    faults.push(`${key} is a list: ${key}: [...]`);
    return undefined;
  }
  if (shape === "list") return value;
  if (shape === "lists")
    return value.map((one, k) => readable(`${key}[${k}]`, one, shapes.policies, faults) ?? []);
  return itemsOf(key, value, shape, faults);
}

function itemsOf(
  key: string,
  value: readonly unknown[],
  [has, what]: readonly [has: readonly string[], made: string],
  faults: string[],
): unknown[] {
  return value.filter((one, k) => {
    const isOne =
      isObject(one) && has.every((member) => isObject(one[member]) || typeof one[member] === "string");
    const own = isObject(one) && Array.isArray(one["faults"]) ? (one["faults"] as string[]) : []; // As implement made it.
    if (!isOne && own.length > 0) faults.push(...own.map((fault) => `${key}[${k}]: ${fault}`));
    else if (!isOne)
      faults.push(`${key}[${k}] is not ${what}${one === undefined ? "; it is undefined" : ""}`);
    return isOne;
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  (typeof value === "object" || typeof value === "function") && value !== null;

/** Those that are none are told, with their names: a port of a file that does not export it, for example. */
function soundIn(
  key: string,
  table: Record<string, unknown>,
  shape: "functions" | "models",
  faults: string[],
): object {
  const entries = Object.entries(table);
  const isSound = (value: unknown): boolean =>
    shape === "functions" ? typeof value === "function" : isObject(value) && isModel(value);
  for (const [name, value] of entries) {
    if (isSound(value)) continue;
    const wanted = shape === "functions" ? "a function" : "a model port, or what modelFallback made";
    faults.push(
      isObject(value)
        ? `${key}.${name} is not ${wanted}`
        : `${key}.${name} is ${typeof value}, not ${wanted}`,
    );
  }
  return Object.fromEntries(entries.filter(([, value]) => isSound(value)));
}

const isModel = (value: Record<string, unknown>): boolean =>
  isFallback(value) ? Array.isArray(value.order) : typeof value["decide"] === "function";
