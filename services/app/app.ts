/**
 * App: an application as hosts and workers serve it.
 *
 * A1 What is wrong in an application is told at load, all faults at once, and nothing is served until it is
 *    right.
 */
import { z } from "zod";
import { twiceNamed } from "../../actors/contract/define.ts";
import type { Definition, Saga } from "../../actors/contract/definition.ts";
import type { Predicates } from "../../actors/values/condition.ts";
import { policyFaults, underPolicies } from "../../actors/contract/inherit.ts";
import type { PlanParts } from "../../actors/plan/workflow.ts";
import type { Validator } from "../../actors/validators/validator.ts";
import type { Policy } from "../../actors/contract/policy.ts";
import { recallTool } from "../../actors/request/recall.ts";
import type { AnyBody, Implementation, Tool } from "../../actors/contract/tool.ts";
import type { Prices } from "../../protocol/budget.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { ThrottleLimits } from "../../protocol/throttle.ts";
import { offeredBy, workflowsOf } from "./plans.ts";
import { type Fallback, fallbackFaults, isFallback } from "./fallback.ts";
import { priceFaults, type PriceOf, pricesBy, unpricedFaults } from "./prices.ts";

export interface AppConfig {
  sagas?: readonly Saga[];
  agents?: readonly Saga[];
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
  models?: Readonly<Record<string, ModelPort | Fallback>>;
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
  prices?: Prices;
}

export interface App {
  readonly type: "sagamesh.app";
  readonly config: AppConfig;
  readonly faults: readonly string[];
  /** The definition a ledger names, if this application serves it. */
  definition(ref: DefinitionRef): Definition | undefined;
  /** The definition a start names: the version it asks for, or the highest. */
  latest(name: string, version?: number): Definition | undefined;
  /** What a client may start by name, one of each name and version. */
  readonly startable: readonly Definition[];
  /** All that may run here: the same, and what agents start under their own policies. */
  readonly definitions: readonly Definition[];
  readonly tools: ReadonlyMap<string, Tool>;
  /** What plans may name. */
  readonly offered: PlanParts;
  readonly bodies: ReadonlyMap<string, AnyBody>;
  readonly models: ReadonlyMap<string, ModelPort>;
  /** Names under which several models stand in for one another, in their order. */
  readonly fallbacks: ReadonlyMap<string, readonly string[]>;
  readonly priceOf: PriceOf;
}

/** Declares what an application file exports by default. Faults are told when it is loaded, not here. */
export function defineApp(config: AppConfig): App {
  const policies = config.policies ?? [];
  const own = [...(config.sagas ?? []), ...(config.agents ?? [])];
  const offered = offeredBy(config, own);
  const planned = workflowsOf(config.plans ?? [], offered);
  const plain = collectDefinitions([...own, ...planned.workflows].map((saga) => saga.definition));
  const served = [policies, ...(config.formerPolicies ?? [])].map((above) =>
    plain.map((definition) => underPolicies(definition, above)),
  );
  const [startable = []] = served;
  const definitions = withHeirs(served.flat());
  const tools = new Map<string, Tool>();
  const faults = [...new Set(definitions.flatMap((definition) => definition.faults))];
  faults.push(...policyFaults("the application", policies), ...planned.faults);
  for (const tool of [
    ...definitions.flatMap((one) => [...one.tools.values()]),
    ...(config.implementations ?? []).map((one) => one.tool),
    ...(config.tools ?? []),
  ]) {
    const other = tools.get(tool.name);
    const isTold = definitions.some((one) => one.faults.includes(twiceNamed(one.name, "tools", tool.name)));
    if (other !== undefined && other !== tool && !isTold) faults.push(`two tools are named "${tool.name}"`);
    tools.set(tool.name, tool);
  }
  const { models, fallbacks, faults: modelFaults } = collectModels(config);
  faults.push(...modelFaults);
  for (const [model, limits] of Object.entries(config.modelLimits ?? {})) {
    if (!models.has(model) && !fallbacks.has(model))
      faults.push(`modelLimits names "${model}", which is not under models`);
    const read = ThrottleLimits.safeParse(limits);
    if (!read.success) faults.push(`modelLimits of "${model}": ${z.prettifyError(read.error)}`);
  }
  faults.push(...priceFaults(config.prices ?? {}));
  const byVersion = new Map<string, Definition>();
  for (const definition of startable) {
    const key = `${definition.name}@${definition.version}`;
    if (byVersion.has(key))
      faults.push(`two definitions are named "${definition.name}" version ${definition.version}`);
    byVersion.set(key, definition);
  }
  return {
    type: "sagamesh.app",
    config,
    faults: [...new Set(faults)],
    startable,
    definitions,
    tools,
    offered,
    bodies: collectBodies(config, tools),
    models,
    fallbacks,
    priceOf: pricesBy(config.prices ?? {}, models, fallbacks),
    definition: (ref) => definitions.find((one) => one.name === ref.name && one.hash === ref.hash),
    latest: (name, version) =>
      startable
        .filter((one) => one.name === name && (version === undefined || one.version === version))
        .sort((a, b) => b.version - a.version)[0],
  };
}

/** Every definition reachable, as its author has it: a saga's children are served by whoever serves the saga. */
function collectDefinitions(roots: readonly Definition[]): Definition[] {
  const all = new Set(roots);
  for (const { sagas } of all) for (const child of sagas.values()) all.add(child.plain ?? child);
  return [...all];
}

/** And each as it is under the policies of who may start it. */
function withHeirs(roots: readonly Definition[]): Definition[] {
  const all = new Set(roots);
  for (const { sagas } of all) for (const child of sagas.values()) all.add(child);
  return [...all];
}

function collectModels(config: AppConfig): Pick<App, "models" | "fallbacks" | "faults"> {
  const named = Object.entries(config.models ?? {});
  const models = new Map(named.filter((entry): entry is [string, ModelPort] => !isFallback(entry[1])));
  const fallbacks = named.filter((entry): entry is [string, Fallback] => isFallback(entry[1]));
  return {
    models,
    fallbacks: new Map(fallbacks.map(([name, { order }]) => [name, order])),
    faults: fallbacks.flatMap(([name, one]) => fallbackFaults(name, one, (model) => models.has(model))),
  };
}

function collectBodies(config: AppConfig, tools: ReadonlyMap<string, Tool>): Map<string, AnyBody> {
  const bodies = new Map<string, AnyBody>();
  for (const tool of tools.values()) if (tool.body !== undefined) bodies.set(tool.name, tool.body);
  for (const { tool, body } of config.implementations ?? []) bodies.set(tool.name, body);
  return bodies;
}

/**
 * The tools that a worker performs: all with a body and placement "worker", or the ones named. Throws
 * TOOL_UNSERVED with every name that is none of them.
 */
export function workerTools(app: App, only?: readonly string[]): Tool[] {
  const all = [...app.tools.values()].filter(
    (tool) => tool.placement === "worker" && app.bodies.has(tool.name),
  );
  const missing = only?.filter((name) => !all.some((tool) => tool.name === name)) ?? [];
  if (missing.length > 0)
    throw new MeshError("TOOL_UNSERVED", `there is no implementation of ${missing.join(", ")}`);
  return all.filter((tool) => only === undefined || only.includes(tool.name));
}

/**
 * Throws APP_INVALID with every fault. For a host also: a tool with `placement: "host"` needs its body here,
 * and each model that is asked its port.
 */
export function assertServable(app: App, role: "host" | "worker"): void {
  const faults = [...app.faults];
  if (role === "host") {
    for (const { kind, name, models } of app.definitions)
      for (const model of models)
        if (!app.models.has(model) && !app.fallbacks.has(model))
          faults.push(`${kind} ${name}: no model port is named "${model}"; add it under models`);
    for (const definition of app.definitions) faults.push(...unpricedFaults(definition, app.priceOf));
    for (const tool of app.tools.values())
      if (tool.placement === "host" && tool !== recallTool && !app.bodies.has(tool.name))
        faults.push(`tool ${tool.name}: placement "host" needs its body in the application file`);
  }
  for (const { tool, body } of app.config.implementations ?? [])
    if (tool.effect === "probe" && body.probe === undefined)
      faults.push(`tool ${tool.name}: effect "probe" needs a probe`);
  const told = [...new Set(faults)];
  if (told.length > 0)
    throw new MeshError(
      "APP_INVALID",
      `${told.length} fault${told.length === 1 ? "" : "s"}:\n${told.map((fault) => `  - ${fault}`).join("\n")}`,
    );
}
