/**
 * App: an application as hosts and workers serve it.
 *
 * A1 What is wrong in an application is told at load, all faults at once, and nothing is served until it is
 *    right.
 */
import type { Definition, Saga } from "../actors/definition.ts";
import type { AnyBody, Implementation, Tool } from "../actors/tool.ts";
import { MeshError } from "../protocol/errors.ts";
import type { DefinitionRef } from "../protocol/event.ts";
import type { ModelPort } from "../protocol/model.ts";

export interface AppConfig {
  sagas?: readonly Saga[];
  agents?: readonly Saga[];
  /** Bodies of tools whose contract does not hold them. */
  implementations?: readonly Implementation[];
  /** Model ports by the name that agents use. */
  models?: Readonly<Record<string, ModelPort>>;
}

export interface App {
  readonly type: "sagamesh.app";
  readonly config: AppConfig;
  readonly faults: readonly string[];
  /** The definition a ledger names, if this application serves it. */
  definition(ref: DefinitionRef): Definition | undefined;
  /** The definition a start names: the version it asks for, or the highest. */
  latest(name: string, version?: number): Definition | undefined;
  readonly definitions: readonly Definition[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly bodies: ReadonlyMap<string, AnyBody>;
  readonly models: ReadonlyMap<string, ModelPort>;
}

/** Declares what an application file exports by default. Faults are told when it is loaded, not here. */
export function defineApp(config: AppConfig): App {
  const definitions = collectDefinitions(
    [...(config.sagas ?? []), ...(config.agents ?? [])].map((saga) => saga.definition),
  );
  const tools = new Map<string, Tool>();
  const faults = [...new Set(definitions.flatMap((definition) => definition.faults))];
  for (const tool of [
    ...definitions.flatMap((one) => [...one.tools.values()]),
    ...(config.implementations ?? []).map((one) => one.tool),
  ]) {
    const other = tools.get(tool.name);
    if (other !== undefined && other !== tool) faults.push(`two tools are named "${tool.name}"`);
    tools.set(tool.name, tool);
  }
  const models = new Map(Object.entries(config.models ?? {}));
  const byVersion = new Map<string, Definition>();
  for (const definition of definitions) {
    const key = `${definition.name}@${definition.version}`;
    if (byVersion.has(key))
      faults.push(`two definitions are named "${definition.name}" version ${definition.version}`);
    byVersion.set(key, definition);
  }
  return {
    type: "sagamesh.app",
    config,
    faults: [...new Set(faults)],
    definitions,
    tools,
    bodies: collectBodies(config, tools),
    models,
    definition: (ref) => definitions.find((one) => one.name === ref.name && one.hash === ref.hash),
    latest: (name, version) =>
      definitions
        .filter((one) => one.name === name && (version === undefined || one.version === version))
        .sort((a, b) => b.version - a.version)[0],
  };
}

/** Every definition reachable: a saga's children are served by whoever serves the saga. */
function collectDefinitions(roots: readonly Definition[]): Definition[] {
  const all = new Set(roots);
  for (const definition of all) for (const child of definition.sagas.values()) all.add(child);
  return [...all];
}

function collectBodies(config: AppConfig, tools: ReadonlyMap<string, Tool>): Map<string, AnyBody> {
  const bodies = new Map<string, AnyBody>();
  for (const tool of tools.values()) if (tool.body !== undefined) bodies.set(tool.name, tool.body);
  for (const { tool, body } of config.implementations ?? []) bodies.set(tool.name, body);
  return bodies;
}

/**
 * Throws APP_INVALID with every fault. For a host also: a tool with `placement: "host"` needs its body here,
 * and an agent's model its port.
 */
export function assertServable(app: App, role: "host" | "worker"): void {
  const faults = [...app.faults];
  if (role === "host") {
    for (const definition of app.definitions) {
      const model = definition.frame?.model;
      if (model !== undefined && !app.models.has(model))
        faults.push(`agent ${definition.name}: no model port is named "${model}"; add it under models`);
    }
    for (const tool of app.tools.values())
      if (tool.placement === "host" && !app.bodies.has(tool.name))
        faults.push(`tool ${tool.name}: placement "host" needs its body in the application file`);
  }
  for (const { tool, body } of app.config.implementations ?? [])
    if (tool.effect === "probe" && body.probe === undefined)
      faults.push(`tool ${tool.name}: effect "probe" needs a probe`);
  if (faults.length > 0)
    throw new MeshError(
      "APP_INVALID",
      `${faults.length} fault${faults.length === 1 ? "" : "s"}:\n${[...new Set(faults)].map((fault) => `  - ${fault}`).join("\n")}`,
    );
}
