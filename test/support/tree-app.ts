/**
 * A tree of agents: a lead, its parts, a leaf below each part. For tests of what becomes of a tree whose hosts die.
 *
 * The outside world is a file to which every act appends a line; it outlives whoever wrote it.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import type { ModelRequest } from "../../protocol/model.ts";
import { defineApp } from "../../services/app/app.ts";
import { type ScriptedAnswer, scriptedModel } from "../../services/models/scripted.ts";

/** A line of the outside world. `of` names who held, `key` is the act's own, `holds` what a release lets go. */
export interface TreeAct {
  readonly tool: "hold" | "release" | "stamp";
  readonly of: string;
  readonly key: string;
  readonly holds?: string;
}

export const readActs = (world: string): TreeAct[] =>
  readFileSync(world, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as TreeAct);

/**
 * `wait`: everybody stays where it is until it is cancelled. `finish`: each ends when its work is done. `outlive`: all
 * but the lead do.
 */
const Work = z.object({
  of: z.string(),
  parts: z.int(),
  then: z.enum(["wait", "finish", "outlive"]),
  leaf: z.boolean(),
});
type Work = z.infer<typeof Work>;

/** Long enough to be killed in. */
const releaseMs = 150;

const Done = z.object({ done: z.array(z.string()) });

/** `mayRelease` is awaited before each release, by the worker that performs it. */
export function treeApp(world: string, mayRelease: (of: string) => Promise<void> = () => delay(releaseMs)) {
  const act = (line: TreeAct) => appendFileSync(world, `${JSON.stringify(line)}\n`);
  const release = defineTool({
    name: "release",
    description: "Lets go what was held.",
    effect: "idempotent",
    input: z.object({ of: z.string(), holds: z.string() }),
    output: z.object({}),
    perform: async ({ of, holds }, { key }) => {
      await mayRelease(of);
      act({ tool: "release", of, key, holds });
      return {};
    },
  });
  const hold = defineTool({
    name: "hold",
    description: "Holds something.",
    effect: "idempotent",
    input: z.object({ of: z.string() }),
    output: z.object({}),
    compensation: { tool: release, input: ({ input: { of }, key }) => ({ of, holds: key }) },
    perform: async ({ of }, { key }) => {
      act({ tool: "hold", of, key });
      return {};
    },
  });
  const stamp = defineTool({
    name: "stamp",
    description: "Does what cannot be undone.",
    effect: "idempotent",
    input: z.object({ of: z.string() }),
    output: z.object({}),
    compensation: "point_of_no_return",
    perform: async ({ of }, { key }) => {
      act({ tool: "stamp", of, key });
      return {};
    },
  });
  const parts = { version: 1, description: "One of a tree.", model: "script", instructions: "Do your part." };
  const agentOf = (name: string, agents: Parameters<typeof defineAgent>[0]["agents"] = []) =>
    defineAgent({ ...parts, name, input: Work, output: Done, signals: {}, tools: [hold, stamp], agents });
  const leaf = agentOf("leaf");
  const part = agentOf("part", [leaf]);
  const lead = agentOf("lead", [part]);
  const app = defineApp({ sagas: [lead], models: { script: scriptedModel("script", decide) } });
  return { lead, app };
}

/** First its own work, then what is below, then the end. */
function decide(request: ModelRequest): ScriptedAnswer {
  const [first] = request.messages;
  const told = first?.role === "user" ? first.parts[0] : undefined;
  const work = Work.parse(told?.type === "text" ? JSON.parse(told.text) : undefined);
  const { of, then } = work;
  const below = childrenOf(
    work,
    request.tools.map(({ name }) => name),
  );
  if (request.step === 1)
    return {
      calls: [
        { tool: "hold", input: { of } },
        ...(below.length > 0 ? [] : [{ tool: "stamp", input: { of } }]),
      ],
    };
  if (request.step === 2 && below.length > 0) return { calls: below };
  return then !== "finish"
    ? { calls: [{ tool: "wait", input: { forMs: 3_600_000 } }] }
    : { calls: [{ tool: "finish", input: { output: { done: [of] } } }] };
}

function childrenOf(work: Work, tools: readonly string[]) {
  const name = tools.find((tool) => tool === "part" || tool === "leaf");
  if (name === undefined || (name === "leaf" && !work.leaf)) return [];
  const count = name === "part" ? work.parts : 1;
  return Array.from({ length: count }, (_, k) => ({
    tool: name,
    input: { ...work, of: `${work.of}.${k}`, then: work.then === "outlive" ? "finish" : work.then },
  }));
}
