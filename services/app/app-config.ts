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
import type { ThrottleLimits } from "../../protocol/throttle.ts";
import type { ModelFallback } from "./fallback.ts";

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
  /** By the name that agents use: a model port, or the names of several that stand in for one another. */
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

type Shape = "table" | "objects" | "list" | readonly [has: readonly string[], made: string];

const made = "what defineSaga, defineAgent or defineWorkflow made";
const shapes: Readonly<Record<keyof AppConfig, Shape>> = {
  sagas: [["kind", "definition"], made],
  plans: "list",
  tools: [["kind", "effect"], "what defineTool made"],
  validators: [["kind", "definition"], "what defineValidator made"],
  predicates: "table",
  implementations: [["tool", "body"], "what implement made"],
  models: "objects",
  modelLimits: "table",
  policies: [["name", "judge"], "what definePolicy made"],
  formerPolicies: "list",
  prices: "table",
};

/**
 * What is wrong with the shape of an application's configuration, one line each; and as much of it as can be read, so
 * that its other faults are told together with these.
 */
export function readConfig(config: unknown): { readonly config: AppConfig; readonly faults: string[] } {
  if (typeof config !== "object" || config === null)
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
const unknownKey = (key: string): string =>
  `an application has nothing named "${key}"; it has ${Object.keys(shapes).join(", ")}`;

function readable(key: string, value: unknown, shape: Shape, faults: string[]): unknown {
  if (shape === "table" || shape === "objects") {
    if (isObject(value) && !Array.isArray(value))
      return shape === "table" ? value : objectsIn(key, value, faults);
    faults.push(`${key} is a table by name: ${key}: { name: ... }`);
    return undefined;
  }
  if (!Array.isArray(value)) {
    faults.push(`${key} is a list: ${key}: [...]`);
    return undefined;
  }
  if (shape === "list") return value;
  const [has, what] = shape;
  return value.filter((one: unknown, k) => {
    const isOne =
      isObject(one) && has.every((member) => isObject(one[member]) || typeof one[member] === "string");
    if (!isOne) faults.push(`${key}[${k}] is not ${what}${one === undefined ? "; it is undefined" : ""}`);
    return isOne;
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  (typeof value === "object" || typeof value === "function") && value !== null;

/** Those that are no object are told, with their names: a port of a file that does not export it, for example. */
function objectsIn(key: string, table: Record<string, unknown>, faults: string[]): object {
  const entries = Object.entries(table);
  for (const [name, value] of entries) if (!isObject(value)) faults.push(`${key}.${name} is ${typeof value}`);
  return Object.fromEntries(entries.filter(([, value]) => isObject(value)));
}
