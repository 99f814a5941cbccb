/**
 * The application file of the chaos run's hosts and workers: the sagas and tools of the simulator, with bodies that
 * act on an outside world in another process and misbehave now and then.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  type AnyBody,
  implement,
  NotPerformed,
  type PerformContext,
  type Tool,
} from "../../actors/contract/tool.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { systemChance } from "../../services/runtime/system.ts";
import { deferredMs, isDeferred, tools, undoTools } from "../simulation/contracts.ts";
import { errand, journey, planner, replyOf } from "../simulation/sagas.ts";
import { askWorld, nameVariable } from "./door.ts";

/** Not of the seed: which attempt comes when is not, either. */
const { random } = systemChance;
const between = (min: number, max: number): number => min + random() * (max - min);
const by = `${process.env[nameVariable] ?? "somebody"}#${process.pid}`;

const mishapRate = 0.06;
const mishaps = ["not performed", "threw before", "threw after", "hung", "nonsense"] as const;
const mishap = (): (typeof mishaps)[number] | undefined =>
  random() < mishapRate ? mishaps[Math.floor(random() * mishaps.length)] : undefined;

function bodyOf(tool: Tool): Omit<AnyBody, "accepts"> {
  const perform = async (
    given: unknown,
    { key, attempt, abort, defer, callbackUrl }: PerformContext,
  ): Promise<unknown> => {
    const input = given as { place: string; madeWithKey?: string }; // Proof: read by the tool's schema.
    const wrong = mishap();
    await delay(between(20, random() < 0.1 ? 1_000 : 700), undefined, { signal: abort });
    // What a body says it did not do, nobody else may have done under its key before.
    if (wrong === "not performed" && (await askWorld({ type: "found", key }, abort)) === undefined)
      throw new NotPerformed("not today");
    if (wrong === "threw before") throw new Error("threw before it acted");
    const asked = {
      ...{ sentAt: Date.now(), tool: tool.name, effect: tool.effect, key, place: input.place },
      ...{ by, attempt, undoes: input.madeWithKey },
    };
    if (isDeferred(tool.name)) {
      await askWorld({ type: "later", asked, callbackUrl }, abort);
      if (wrong === "threw after") throw new Error("threw after it acted");
      return defer({ withinMs: deferredMs });
    }
    const output = await askWorld({ type: "act", asked }, abort);
    if (wrong === "threw after") throw new Error("threw after it acted");
    if (wrong === "hung") await delay(10_000, undefined, { signal: abort });
    await delay(between(0, 100), undefined, { signal: abort }); // Long enough to die between the deed and its report.
    return wrong === "nonsense" && tool.effect === "once" ? { nonsense: true } : output;
  };
  if (tool.effect !== "probe") return { perform };
  return {
    perform,
    probe: async (key) => {
      const output = await askWorld({ type: "found", key });
      return output === undefined ? { outcome: "did_not_happen" } : { outcome: "happened", output };
    },
  };
}

/** The scripted model at a distance. */
function distantModel(): ModelPort {
  const script = scriptedModel("script", replyOf);
  return {
    name: "script",
    decide: async (request, context) => {
      await delay(between(100, 1_500), undefined, { signal: context.abort });
      return script.decide(request, context);
    },
  };
}

export default defineApp({
  sagas: [journey, errand, planner],
  implementations: [...Object.values(tools), ...undoTools].map((tool) =>
    implement(tool as Tool, bodyOf(tool)),
  ),
  models: { script: distantModel() },
});
