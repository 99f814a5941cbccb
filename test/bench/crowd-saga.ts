/**
 * A saga with a crowd of open intents: a machine with so many parallel calls, or an agent whose model makes so many in one
 * reply. Each call takes a while in its host and does nothing.
 */
import { setup } from "xstate";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import { limits } from "../../protocol/limits.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { scriptedModel } from "../../services/models/scripted.ts";

/** `machine`: a parallel state of calls. `agent`: one reply of calls. */
export type CrowdKind = "machine" | "agent";

export const crowdName = (kind: CrowdKind): string => `crowd-${kind}`;

const dwell = (toolMs: number) =>
  defineTool({
    name: "dwell",
    description: "takes a while",
    effect: "read",
    placement: "host",
    input: z.object({ k: z.int() }),
    output: z.object({}),
    perform: async () => {
      await new Promise((resolve) => setTimeout(resolve, toolMs));
      return {};
    },
  });

/** The saga, and the models that it asks. Its input is empty: how many calls it makes is part of the definition. */
export function crowdOf(
  kind: CrowdKind,
  calls: number,
  toolMs: number,
): { saga: SagaDefinition; models: Record<string, ModelPort> } {
  return kind === "machine"
    ? { saga: crowdMachine(calls, toolMs), models: {} }
    : { saga: crowdAgent(calls, toolMs), models: { crowd: crowdModel(calls) } };
}

function crowdMachine(calls: number, toolMs: number) {
  const region = (k: number) => ({
    initial: "calling" as const,
    states: {
      calling: { invoke: { id: `call-${k}`, src: "dwell" as const, input: { k }, onDone: "done" } },
      done: { type: "final" as const },
    },
  });
  const machine = setup({ actors: toActors({ dwell: dwell(toolMs) }) }).createMachine({
    id: "crowd",
    type: "parallel",
    states: Object.fromEntries(Array.from({ length: calls }, (_, k) => [`r${k}`, region(k)])),
    output: {},
  });
  return defineSaga({
    name: crowdName("machine"),
    version: 1,
    input: z.object({}),
    output: z.object({}),
    signals: {},
    machine,
    budget: { intentsOpenMax: limits.intentsOpenCeiling },
  });
}

const crowdAgent = (calls: number, toolMs: number) =>
  defineAgent({
    name: crowdName("agent"),
    version: 1,
    description: "Makes many calls at once.",
    model: "crowd",
    instructions: "Make the calls.",
    input: z.object({}),
    output: z.object({}),
    signals: {},
    tools: [dwell(toolMs)],
    callsPerReplyMax: calls,
    budget: { intentsOpenMax: limits.intentsOpenCeiling },
  });

const crowdModel = (calls: number) =>
  scriptedModel("crowd", ({ step }) =>
    step === 1
      ? { calls: Array.from({ length: calls }, (_, k) => ({ tool: "dwell", input: { k } })) }
      : { calls: [{ tool: "finish", input: { output: {} } }] },
  );
