/**
 * App: an application as hosts and workers serve it.
 *
 * AP1 What is wrong in an application is told at load, all faults at once, and nothing is served until it is
 *     right.
 */
import { kindFaults } from "../../actors/kinds.ts";
import { z } from "zod";
import type { Definition } from "../../actors/contract/definition.ts";
import { policyFaults, underPolicies } from "../../actors/contract/inherit.ts";
import type { PlanParts } from "../../actors/plan/workflow.ts";
import { recallTool } from "../../actors/request/recall.ts";
import { builtIn } from "../../actors/schedule/define.ts";
import { toolFaults } from "../../actors/contract/tool-contract.ts";
import type { AnyBody, Tool } from "../../actors/contract/tool.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { ThrottleLimits } from "../../protocol/throttle.ts";
import { toolLabel } from "../../protocol/tool.ts";
import { type AppConfig, readConfig } from "./app-config.ts";
import { collectTools } from "./tools.ts";
import { offeredBy, workflowsOf } from "./plans.ts";
import { type ModelFallback, fallbackFaults, isFallback } from "./fallback.ts";
import { noPort } from "./provider-models.ts";
import { priceFaults, type PriceOf, pricesBy, unpricedFaults } from "./prices.ts";

/** An application, read: what hosts and workers serve, and all that is wrong with it. */
export interface App {
  readonly type: "sagamesh.app";
  /** As given, so that an application made of this one has the same faults. */
  readonly config: AppConfig;
  readonly faults: readonly string[];
  /** What is likely a slip and harms nothing. It is served, and told by what serves it. */
  readonly notes: readonly string[];
  /** The definition a ledger names, if this application serves it. */
  definition(ref: DefinitionRef): Definition | undefined;
  /** The definition a start names: the version it asks for, or the highest. */
  latest(name: string, version?: number): Definition | undefined;
  /** What a client may start by name, one of each name and version. */
  readonly startable: readonly Definition[];
  /** All that may run here: the same, and what agents start under their own policies. */
  readonly definitions: readonly Definition[];
  /** By the digests of their contracts, so that several versions of a tool stand beside each other. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** What plans may name. */
  readonly offered: PlanParts;
  /** What performs a tool here, by the digest of its contract. */
  readonly bodies: ReadonlyMap<string, AnyBody>;
  readonly models: ReadonlyMap<string, ModelPort>;
  /** Names under which several models stand in for one another, in their order. */
  readonly fallbacks: ReadonlyMap<string, readonly string[]>;
  readonly priceOf: PriceOf;
}

/** Declares what an application file exports by default. Faults are told when it is loaded, not here. */
export function defineApp(given: AppConfig): App {
  const { config, faults: shapeFaults } = readConfig(given);
  const policies = config.policies ?? [];
  const own = config.sagas ?? [];
  const offered = offeredBy(config, own);
  const planned = workflowsOf(config.plans ?? [], offered);
  const plain = collectDefinitions([...own, ...planned.workflows].map((saga) => saga.definition));
  const served = [policies, ...(config.formerPolicies ?? [])].map((above) =>
    plain.map((definition) => underPolicies(definition, above)),
  );
  const [startable = []] = served;
  const definitions = withHeirs(served.flat());
  const faults = [...shapeFaults, ...definitions.flatMap((one) => [...one.faults, ...kindFaults(one)])];
  faults.push(...policyFaults("the application", policies), ...planned.faults);
  for (const one of config.implementations ?? []) faults.push(...one.faults, ...toolFaults(one.tool));
  for (const tool of config.tools ?? []) faults.push(...toolFaults(tool));
  const { tools, bodies, faults: contractFaults } = collectTools(config, definitions);
  faults.push(...contractFaults);
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
  for (const { name } of builtIn)
    if (definitions.some((one) => one.name === name))
      faults.push(`"${name}" is the name of what is built in`);
  return {
    type: "sagamesh.app",
    config: given,
    faults: [...new Set(faults)],
    notes: [...new Set(definitions.flatMap((one) => one.notes))],
    startable,
    definitions,
    tools,
    offered,
    bodies,
    models,
    fallbacks,
    priceOf: pricesBy(config.prices ?? {}, models, fallbacks),
    // What is built in can be read by every application, and is served by hosts (services/schedules).
    definition: (ref) =>
      [...definitions, ...builtIn].find((one) => one.name === ref.name && one.hash === ref.hash),
    latest: (name, version) =>
      startable
        .filter((one) => one.name === name && (version === undefined || one.version === version))
        .sort((a, b) => b.version - a.version)[0],
  };
}

/** Every definition reachable, as its author has it: a host that serves a saga serves its children, too. */
function collectDefinitions(roots: readonly Definition[]): Definition[] {
  const all = new Set(roots);
  for (const { sagas } of all) for (const child of sagas.values()) all.add(child.plain ?? child);
  return [...all];
}

/** Each of them, and each child as it is under the policies of the definitions that may start it. */
function withHeirs(roots: readonly Definition[]): Definition[] {
  const all = new Set(roots);
  for (const { sagas } of all) for (const child of sagas.values()) all.add(child);
  return [...all];
}

function collectModels(config: AppConfig): Pick<App, "models" | "fallbacks" | "faults"> {
  const named = Object.entries(config.models ?? {});
  const models = new Map(named.filter((entry): entry is [string, ModelPort] => !isFallback(entry[1])));
  const fallbacks = named.filter((entry): entry is [string, ModelFallback] => isFallback(entry[1]));
  return {
    models,
    fallbacks: new Map(fallbacks.map(([name, { order }]) => [name, order])),
    faults: fallbacks.flatMap(([name, one]) => fallbackFaults(name, one, (model) => models.has(model))),
  };
}

/**
 * The tools that a worker performs: all with a body and placement "worker", or the ones named: `post` is every version
 * of it, `post@2` that one. Throws TOOL_UNSERVED with every name that is none of them.
 */
export function workerTools(app: App, only?: readonly string[]): Tool[] {
  const all = [...app.tools].flatMap(([contract, tool]) =>
    tool.placement === "worker" && app.bodies.has(contract) ? [tool] : [],
  );
  const isNamed = (tool: Tool, name: string) => name === tool.name || name === `${tool.name}@${tool.version}`;
  const missing = only?.filter((name) => !all.some((tool) => isNamed(tool, name))) ?? [];
  if (missing.length > 0)
    throw new MeshError("TOOL_UNSERVED", `there is no implementation of ${missing.join(", ")}`);
  return all.filter((tool) => only === undefined || only.some((name) => isNamed(tool, name)));
}

/** The tools for workers whose body this application lacks: calls of them wait for a worker that has it. */
export const bodilessTools = (app: App): Tool[] =>
  [...app.tools].flatMap(([contract, tool]) =>
    tool.placement === "worker" && !app.bodies.has(contract) ? [tool] : [],
  );

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
          faults.push(`${kind.name} ${name}: ${noPort(model)}`);
    for (const definition of app.definitions) faults.push(...unpricedFaults(definition, app.priceOf));
    for (const [contract, tool] of app.tools)
      if (tool.placement === "host" && tool !== recallTool && !app.bodies.has(contract))
        faults.push(`tool ${toolLabel(tool)}: placement "host" needs its body in the application file`);
  }
  for (const [contract, tool] of app.tools) {
    const { effect, body: own } = tool;
    const body = app.bodies.get(contract);
    if (effect === "probe" && body !== own && body?.probe === undefined)
      faults.push(`tool ${toolLabel(tool)}: effect "probe" needs a probe`);
  }
  const told = [...new Set(faults)];
  if (told.length > 0)
    throw new MeshError(
      "APP_INVALID",
      `${told.length} fault${told.length === 1 ? "" : "s"}:\n${told.map((fault) => `  - ${fault}`).join("\n")}`,
    );
}
