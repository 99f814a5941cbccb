/**
 * Small tools and sagas for the kernel's tests: one tool of each effect class, and machines that do one thing.
 */
import { type AnyStateMachine, assign, setup } from "xstate";
import { z } from "zod";
import { compensation, reasonOf, toActors } from "../../actors/machine/callable.ts";
import { type AgentConfig, defineAgent } from "../../actors/agent/define.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import type { Policy } from "../../actors/contract/policy.ts";
import { defineTool, type Tool } from "../../actors/contract/tool.ts";

export const Of = z.object({ of: z.string() });
const Done = z.object({ id: z.string() });

export const look = defineTool({
  name: "look",
  description: "Looks.",
  effect: "read",
  input: Of,
  output: z.json(),
});

export const release = defineTool({
  name: "release",
  description: "Undoes a hold.",
  effect: "idempotent",
  input: z.object({ key: z.string(), id: z.string().optional() }),
  output: z.object({}),
  retry: { attemptsMax: 2, backoffMs: 100 },
});

const undo = {
  tool: release,
  input: ({ key, output }: { key: string; output?: { id: string } }) => ({ key, id: output?.id }),
};

export const hold = defineTool({
  name: "hold",
  description: "Holds.",
  effect: "idempotent",
  input: Of,
  output: Done,
  compensation: undo,
});
export const reserve = defineTool({
  name: "reserve",
  description: "Reserves.",
  effect: "probe",
  input: Of,
  output: Done,
  compensation: undo,
});

const chargeOf = (onDoubt: "ask" | "model" | "compensate") =>
  defineTool({
    name: `charge_${onDoubt}`,
    description: "Charges, once.",
    effect: "once",
    onDoubt,
    input: Of,
    output: Done,
    compensation: undo,
  });
export const chargeAsk = chargeOf("ask");
export const chargeModel = chargeOf("model");
export const chargeCompensate = chargeOf("compensate");

export const send = defineTool({
  name: "send",
  description: "Sends what cannot be unsent.",
  effect: "once",
  onDoubt: "model",
  input: Of,
  output: Done,
  compensation: "point_of_no_return",
});

/** A saga that calls one tool, and on its failure undoes everything and fails. */
export const calling = (tool: Tool, options: { policies?: readonly Policy[] } = {}): SagaDefinition =>
  defineSaga({
    name: "calling",
    ...options,
    version: 1,
    input: Of,
    output: z.json(),
    signals: { again: z.null(), stop: z.null() },
    machine: setup({
      types: { context: {} as { of: string; said: unknown }, input: {} as { of: string } },
      actors: toActors({ call: tool, compensation }),
    }).createMachine({
      id: "calling",
      initial: "calling",
      context: ({ input }) => ({ of: input.of, said: null }),
      states: {
        calling: {
          invoke: {
            id: "call",
            src: "call",
            input: ({ context }: { context: { of: string } }) => ({ of: context.of }),
            onDone: { target: "done", actions: assign({ said: ({ event }) => event.output }) },
            onError: { target: "undoing", actions: assign({ said: ({ event }) => reasonOf(event.error) }) },
          },
          on: { again: { target: "calling", reenter: true }, stop: "stopped" },
        },
        undoing: {
          invoke: { id: "undo", src: "compensation", input: { because: "it failed" }, onDone: "failed" },
        },
        stopped: { type: "final", tags: "failed" },
        done: { type: "final" },
        failed: { type: "final", tags: "failed" },
      },
      output: ({ context }) => ({ because: String(context.said), said: context.said }) as never,
    }),
  });

/** Machines made of lists of tools, which XState's types cannot follow. */
const erasedSetup = (tools: readonly Tool[]): { createMachine(config: object): AnyStateMachine } =>
  setup({
    actors: toActors(Object.fromEntries(tools.map((tool, k) => [`t${k}`, tool]))),
  });

/** A saga that calls its tools in the order given, then waits for `go`. Every failure is left unhandled. */
export const sequence = (...tools: readonly Tool[]): SagaDefinition =>
  defineSaga({
    name: "sequence",
    version: 1,
    input: z.json(),
    output: z.json(),
    signals: { go: z.null() },
    whenEarly: "keep",
    machine: erasedSetup(tools).createMachine({
      id: "sequence",
      initial: "s0",
      states: {
        ...Object.fromEntries(
          tools.map((_, k) => [
            `s${k}`,
            { invoke: { id: `t${k}`, src: `t${k}`, input: { of: `${k}` }, onDone: `s${k + 1}` } },
          ]),
        ),
        [`s${tools.length}`]: { on: { go: "done" } },
        done: { type: "final" },
      },
      output: "all done",
    }),
  });

/** A saga that calls its tools all at once and ends when all are settled. */
export const together = (...tools: readonly Tool[]): SagaDefinition =>
  defineSaga({
    name: "together",
    version: 1,
    input: z.json(),
    output: z.json(),
    signals: { again: z.null() },
    machine: erasedSetup(tools).createMachine({
      id: "together",
      type: "parallel",
      states: Object.fromEntries(
        tools.map((_, k) => [
          `r${k}`,
          {
            initial: "calling",
            states: {
              calling: { invoke: { id: `t${k}`, src: `t${k}`, input: { of: `${k}` }, onDone: "done" } },
              done: { type: "final" },
            },
          },
        ]),
      ),
    }),
  });

/** An agent with these parts; `finish` wants `{ answer }`. */
export const agentOf = (
  parts: Partial<AgentConfig<typeof Of, z.ZodType, Record<string, z.ZodType>>> = {},
): SagaDefinition =>
  defineAgent({
    name: "helper",
    version: 1,
    description: "Helps.",
    model: "scripted",
    instructions: "Help.",
    input: Of,
    output: z.object({ answer: z.string() }),
    signals: { note: z.object({ text: z.string() }), hint: z.null() },
    tools: [look, hold, send, chargeModel, chargeAsk],
    ...parts,
  });

export const call = (tool: string, input: unknown = { of: "x" }) => ({ tool, input: input as never });
export const finish = { calls: [call("finish", { output: { answer: "42" } })] };
