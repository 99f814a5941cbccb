/**
 * An application that does every kind of thing once, and the outside world it does it to.
 *
 * The world is a file that processes only append to, a line for each thing done: it outlives whoever wrote it.
 * For `idempotent` and `probe` it holds what was asked for; a well-built outside would do it once per key.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import type { Effect } from "../../protocol/tool.ts";
import type { App } from "../../services/app/app.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import type { KillSwitch } from "./kill-switch.ts";

export interface Done {
  readonly tool: string;
  readonly key: string;
  readonly pid: number;
}

/** What was done to the world, in order. */
export const readWorld = (file: string): Done[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Done);

/** Every tool of the application with its class and place. */
export const killTools = {
  lookUp: { effect: "read", placement: "worker" },
  book: { effect: "idempotent", placement: "worker" },
  charge: { effect: "once", placement: "worker" },
  ship: { effect: "probe", placement: "worker" },
  stamp: { effect: "once", placement: "host" },
  file: { effect: "idempotent", placement: "host" },
  seal: { effect: "probe", placement: "host" },
} as const satisfies Record<string, { effect: Effect; placement: "worker" | "host" }>;

/** Short, so that a takeover's wait for a dead holder is short. */
const timeoutMs = 400;

function toolsOf(world: string, kill: KillSwitch) {
  const isKnown = (key: string) => readWorld(world).some((done) => done.key === key);
  return Object.entries(killTools).map(([name, { effect, placement }]) =>
    defineTool({
      name,
      description: name,
      effect,
      placement,
      timeoutMs,
      onDoubt: "model",
      ...(effect === "once" ? { compensation: "point_of_no_return" as const } : {}),
      input: z.object({ of: z.string() }),
      output: z.object({ key: z.string() }),
      perform: async (_, { key }) => {
        kill.before(`effect.${name}`);
        appendFileSync(world, `${JSON.stringify({ tool: name, key, pid: process.pid } satisfies Done)}\n`);
        kill.after(`effect.${name}`);
        return { key };
      },
      probe: async (key) =>
        isKnown(key) ? { outcome: "happened", output: { key } } : { outcome: "did_not_happen" },
    }),
  );
}

/**
 * One agent, `errand`: everything at once through workers, then everything at once in the host, a short wait,
 * the end. What a call came to does not change its course.
 */
export function killApp(world: string, kill: KillSwitch) {
  const tools = toolsOf(world, kill);
  const callsOf = (placement: "worker" | "host") =>
    tools
      .filter((tool) => tool.placement === placement)
      .map(({ name }) => ({ tool: name, input: { of: "errand" } }));
  const errand = defineAgent({
    name: "errand",
    version: 1,
    description: "Does every kind of thing once.",
    model: "script",
    instructions: "Do everything once.",
    input: z.object({}),
    output: z.object({ done: z.boolean() }),
    signals: {},
    tools,
  });
  const model = scriptedModel("script", ({ step }) => {
    if (step === 1) return { calls: callsOf("worker") };
    if (step === 2) return { calls: callsOf("host") };
    if (step === 3) return { calls: [{ tool: "wait", input: { forMs: 300 } }] };
    return { calls: [{ tool: "finish", input: { output: { done: true } } }] };
  });
  const app: App = defineApp({ sagas: [errand], models: { script: model } });
  return { errand, app };
}
