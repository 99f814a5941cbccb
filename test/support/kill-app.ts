/**
 * An application that does every kind of thing once, and the outside world it does it to.
 *
 * The world is a file that processes only append to, a line for each thing done: it outlives whoever wrote it.
 * For `idempotent` and `probe` it holds what was asked for; a well-built outside would do it once per key.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { type AnyStateMachine, assign, enqueueActions, setup, spawnChild } from "xstate";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
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
  const { crowd, part } = crowdOf(world, kill);
  const app: App = defineApp({ sagas: [errand, crowd, part], models: { script: model } });
  return { errand, crowd, app };
}

/** How many parts of a crowd run at once, and how many there are. */
export const crowdPlaces = 2;
export const crowdSize = 6;

/** A saga with more children than places, each of which does one thing to the world. */
function crowdOf(world: string, kill: KillSwitch) {
  const dot = defineTool({
    name: "dot",
    description: "dot",
    effect: "idempotent",
    placement: "host",
    input: z.object({ of: z.string() }),
    output: z.object({ key: z.string() }),
    perform: async (_, { key }) => {
      kill.before("effect.dot");
      appendFileSync(world, `${JSON.stringify({ tool: "dot", key, pid: process.pid } satisfies Done)}\n`);
      kill.after("effect.dot");
      return { key };
    },
  });
  const part = defineSaga({
    name: "part",
    version: 1,
    input: z.object({ of: z.string() }),
    output: z.json(),
    machine: setup({
      types: { context: {} as { of: string }, input: {} as { of: string } },
      actors: toActors({ dot }),
    }).createMachine({
      context: ({ input }) => input,
      initial: "dotting",
      states: {
        dotting: { invoke: { src: "dot", input: ({ context }) => context, onDone: "done" } },
        done: { type: "final" },
      },
    }),
  });
  const bound = setup({ actors: toActors({ part }) }) as unknown as {
    createMachine(config: object): AnyStateMachine;
  };
  const crowd = defineSaga({
    name: "crowd",
    version: 1,
    input: z.object({}),
    output: z.json(),
    budget: { childrenOpenMax: crowdPlaces, childrenInLineMax: crowdSize },
    machine: bound.createMachine({
      context: { left: crowdSize },
      initial: "running",
      states: {
        running: {
          entry: enqueueActions((({ enqueue }: { enqueue: (action: unknown) => void }) => {
            for (let k = 0; k < crowdSize; k++)
              enqueue(spawnChild("part", { id: `part${k}`, input: { of: `${k}` } }));
          }) as never),
          on: {
            "xstate.done.actor.*": [
              { guard: ({ context }: { context: { left: number } }) => context.left === 1, target: "done" },
              { actions: assign({ left: ({ context }: { context: { left: number } }) => context.left - 1 }) },
            ],
          },
        },
        done: { type: "final" },
      },
    }),
  });
  return { crowd, part };
}
