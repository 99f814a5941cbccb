/**
 * The sagas of the simulated application. What they do is given in their input, so a seed can make it up.
 *
 * - `journey`: a machine that goes through stages, one of them a child; `errand` is the same without children.
 * - `crowd`: starts many errands at once, most of which stand in line; only where the profile asks for it.
 * - `planner`: an agent whose scripted model proposes the batches of its plan.
 *
 * A place (`<stage>-<tool>`, `b<batch>.<k>`) names each call of a program: it is what the world is told.
 */
import { type AnyStateMachine, assign, enqueueActions, setup, spawnChild } from "xstate";
import { z } from "zod";
import { compensation, modelCall, question, reasonOf, toActors } from "../../actors/machine/callable.ts";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import type { ModelRequest } from "../../protocol/model.ts";
import type { ScriptedAnswer } from "../../services/models/scripted.ts";
import { tools, type ToolName } from "./contracts.ts";

/** The stages of a journey, each with what it calls at once. */
export const stages = {
  money: ["charge", "hold"],
  mixed: ["deposit", "book", "reserve"],
  here: ["reserveHere", "peek", "look"],
  fees: ["fee", "deposit"],
  order: ["order", "wire"],
  spend: ["spend"],
  ask: ["confirm"],
  think: ["thought"],
  child: ["errand"],
  pause: [],
  go: [],
} as const satisfies Record<string, readonly string[]>;
export type Stage = keyof typeof stages;

const JourneyInput = z.object({
  todo: z.array(z.string()),
  /** Whether a failed call undoes the journey or is passed over. */
  strict: z.boolean(),
  pauseMs: z.number(),
  /** What a child is to do. */
  errand: z.array(z.string()),
});
export type JourneyInput = z.infer<typeof JourneyInput>;

const signals = {
  go: z.object({ n: z.number() }),
  change: z.object({ reason: z.string() }),
  note: z.object({ text: z.string() }),
};
const Outcome = z.object({ because: z.string().optional(), standing: z.array(z.string()) });

interface Context {
  readonly input: JourneyInput;
  readonly n: number;
  readonly because?: string;
  readonly standing: readonly string[];
}

function journeyMachine(name: string, offered: readonly Stage[], errand?: SagaDefinition): AnyStateMachine {
  const inputOf =
    (src: string) =>
    ({ context }: { context: Context }) => {
      const place = `${context.n}-${src}`;
      if (src === "confirm") return { question: place };
      if (src === "thought") return { prompt: place };
      if (src === "errand") return { ...context.input, todo: context.input.errand, errand: [] };
      return { place };
    };
  const because = assign({ because: ({ event }: { event: { error?: unknown } }) => reasonOf(event.error) });
  const calling = (src: string) => ({
    initial: "open",
    states: {
      open: {
        invoke: {
          ...{ id: src, src, input: inputOf(src), onDone: "closed" },
          onError: [
            {
              guard: ({ context }: { context: Context }) => context.input.strict,
              target: `#${name}.undoing`,
              actions: because,
            },
            { target: "closed" },
          ],
        },
      },
      closed: { type: "final" },
    },
  });
  const stageState = (stage: Stage) => {
    if (stage === "pause") return { after: { pause: "next" } };
    if (stage === "go") return { on: { go: "next" }, after: { patience: "next" } };
    return {
      type: "parallel",
      onDone: "next",
      states: Object.fromEntries(stages[stage].map((src) => [src, calling(src)])),
    };
  };
  const config = {
    id: name,
    initial: "next",
    context: ({ input }: { input: JourneyInput }) => ({ input, n: 0, standing: [] }),
    on: {
      change: {
        target: ".undoing",
        actions: assign({
          because: ({ event }: { event: { data: { reason: string } } }) => event.data.reason,
        }),
      },
    },
    states: {
      next: {
        entry: assign({ n: ({ context }: { context: Context }) => context.n + 1 }),
        always: [
          ...offered.map((stage) => ({
            guard: ({ context }: { context: Context }) => context.input.todo[context.n - 1] === stage,
            target: stage,
          })),
          { target: "done" },
        ],
      },
      ...Object.fromEntries(offered.map((stage) => [stage, stageState(stage)])),
      undoing: {
        on: { change: {} },
        invoke: {
          ...{
            id: "undo",
            src: "compensation",
            input: ({ context }: { context: Context }) => ({ because: context.because ?? "" }),
          },
          onDone: {
            target: "undone",
            actions: assign({
              standing: ({ event }: { event: { output: { standing: string[] } } }) => event.output.standing,
            }),
          },
        },
      },
      done: { type: "final" },
      undone: { type: "final", tags: "failed" },
    },
    output: ({ context: { because, standing } }: { context: Context }) => ({ because, standing }),
  };
  const bound = setup({
    types: { input: {} as JourneyInput, context: {} as Context },
    actors: toActors({
      ...tools,
      compensation,
      confirm: question({ to: ["desk"], answer: z.boolean(), withinMs: 600_000 }),
      thought: modelCall({ model: "script", instructions: "think" }),
      // Proof: a machine that is offered no stage with a child names none.
      ...((errand === undefined ? {} : { errand }) as { errand: SagaDefinition }),
    }),
    delays: { pause: ({ context }) => context.input.pauseMs, patience: 2_500 },
  });
  // Proof: made of the parts above; setup cannot type states that are made by a loop.
  return bound.createMachine(config as never) as unknown as AnyStateMachine;
}

/** What a planner proposes at once; `undo` undoes the calls of the first batch. */
export type Batch =
  | { readonly calls: readonly ToolName[] }
  | { readonly wait: number }
  | { readonly child: readonly string[] }
  | { readonly reserved: "ask" | "undo" | "nonsense" };

const PlannerInput = z.object({ plan: z.array(z.custom<Batch>()) });

const forErrands: readonly Stage[] = ["money", "mixed", "here", "pause"];

/** The sagas in one version: what they do is the same in each, and one of them is never decided by another's host. */
export function sagasOf(version: number) {
  const common = { version, input: JourneyInput, output: Outcome, signals, whenEarly: "keep" as const };
  const errand = defineSaga({ ...common, name: "errand", machine: journeyMachine("errand", forErrands) });
  const journey = defineSaga({
    ...common,
    name: "journey",
    machine: journeyMachine("journey", Object.keys(stages) as Stage[], errand),
  });
  const planner = defineAgent({
    ...{ name: "planner", version, description: "carries out a plan", model: "script" },
    ...{ instructions: "Carry out the plan.", input: PlannerInput, output: z.object({ ok: z.boolean() }) },
    ...{ signals, agents: [errand] },
    tools: [
      tools.look,
      tools.peek,
      tools.book,
      tools.hold,
      tools.reserve,
      tools.charge,
      tools.deposit,
      tools.fee,
    ],
  });
  return { errand, journey, planner };
}

export const { errand, journey, planner } = sagasOf(1);
/** How many of a crowd's errands run at once; the others stand in line. */
export const crowdPlaces = 2;

/** A journey with many errands at once. Apart from the others: what a seed of those was stays so. */
export function crowdOf(version: number, part: SagaDefinition): SagaDefinition {
  const bound = setup({ actors: toActors({ part, compensation }) }) as unknown as {
    createMachine(config: object): AnyStateMachine;
  };
  const ended = [
    { guard: ({ context }: Ends) => context.left === 1, target: "done" },
    { actions: assign({ left: ({ context }: Ends) => context.left - 1 }) },
  ];
  const failed = { guard: ({ context }: Ends) => context.input.strict, target: "undoing" };
  return defineSaga({
    name: "crowd",
    version,
    input: JourneyInput,
    output: Outcome,
    signals,
    budget: { childrenOpenMax: crowdPlaces, childrenInLineMax: 20 },
    machine: bound.createMachine({
      id: "crowd",
      context: ({ input }: { input: JourneyInput }) => ({ input, left: input.todo.length }),
      initial: "running",
      states: {
        running: {
          entry: enqueueActions((({ context: { input }, enqueue }: Begins) => {
            for (const [k, stage] of input.todo.entries())
              enqueue(
                spawnChild("part", { id: `part${k}`, input: { ...input, todo: [stage, ...input.errand] } }),
              );
          }) as never),
          on: {
            change: "undoing",
            "xstate.done.actor.*": ended,
            "xstate.error.actor.*": [failed, ...ended],
          },
        },
        undoing: {
          on: { "xstate.done.actor.*": {}, "xstate.error.actor.*": {} },
          invoke: { id: "undo", src: "compensation", input: { because: "changed" }, onDone: "undone" },
        },
        done: { type: "final" },
        undone: { type: "final", tags: "failed" },
      },
      output: { standing: [] },
    }),
  });
}

interface Ends {
  readonly context: { readonly input: JourneyInput; readonly left: number };
}
interface Begins extends Ends {
  readonly enqueue: (action: unknown) => void;
}

/** As a deployment would bring them. */
export const second = sagasOf(2);
export const crowds = { first: crowdOf(1, errand), second: crowdOf(2, second.errand) };

/** The model of a planner, and of the journeys' single thoughts. Pure: what it says follows from the request. */
export function replyOf({ messages, step, tools: offered }: ModelRequest): ScriptedAnswer {
  const usage = { inputTokens: 1, outputTokens: 1 };
  if (offered.length === 0) return { text: "a thought", usage };
  const first = messages[0]?.role === "user" ? messages[0].parts[0] : undefined;
  const { plan } = JSON.parse(first?.type === "text" ? first.text : "{}") as { plan: Batch[] };
  const said = messages.filter((message) => message.role === "assistant");
  const batch = plan[said.length];
  const call = (tool: string, input: unknown) => ({ tool, input: input as never });
  if (batch === undefined) return { calls: [call("finish", { output: { ok: true } })], usage };
  if ("wait" in batch) return { calls: [call("wait", { signals: ["go"], forMs: batch.wait })], usage };
  if ("child" in batch)
    return {
      calls: [call("errand", { todo: batch.child, strict: step % 2 === 0, pauseMs: 300, errand: [] })],
      usage,
    };
  if ("calls" in batch)
    return { calls: batch.calls.map((name, k) => call(name, { place: `b${said.length}.${k}` })), usage };
  if (batch.reserved === "ask") return { calls: [call("ask", { question: "go on?" })], usage };
  if (batch.reserved === "nonsense") return { text: "I think that I am done.", usage };
  const earlier = said.flatMap((message) => (message.role === "assistant" ? message.calls.slice(0, 1) : []));
  return { calls: [call("undo", { calls: earlier.slice(0, 1).map(({ id }) => id) })], usage };
}
