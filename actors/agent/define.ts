/**
 * Defining agents: whose next step a model decides.
 */
import { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import { describeError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { contextFaults, type ContextPolicy, cuttingPolicy, summarizeOf } from "../contract/context-policy.ts";
import { commonFaults, define, twiceNamed } from "../contract/define.ts";
import type { Moves, SagaDefinition, SignalSchemas } from "../contract/definition.ts";
import { policyNames } from "../contract/inherit.ts";
import {
  type MemoryConfig,
  MemoryEdit,
  memorySignal,
  type MemorySpec,
  memorySpec,
  type WithMemory,
} from "../contract/memory-spec.ts";
import type { Policy } from "../contract/policy.ts";
import { withCompensations } from "../contract/tool-contract.ts";
import { jsonSchema } from "../values/schema.ts";
import type { Tool } from "../contract/tool.ts";
import { type AskTerms, type Callable, question } from "../machine/callable.ts";
import { openMachine } from "../machine/machine.ts";
import type { Addressee, AgentSpec } from "../request/agent-spec.ts";
import { faultsBetween, writable } from "../request/between-sagas.ts";
import { frameTokensOf, requestFrame, reservedNames } from "../request/conversation.ts";
import { shownSchema } from "../request/shown-schema.ts";
import { recallTool } from "../request/recall.ts";
import { agentMachine } from "./agent.ts";
import { agentKind, type AgentOwn } from "./kind.ts";
import { memoryFaults } from "./memory.ts";
import { readGiven } from "../contract/given.ts";
import { agentInstead, AgentShape } from "./shape.ts";
import type { AgentBudget } from "../contract/budget-config.ts";

/** What `defineAgent` takes. */
export interface AgentConfig<
  I extends z.ZodType,
  O extends z.ZodType,
  S extends SignalSchemas,
  M extends z.ZodType = z.ZodType,
> {
  name: string;
  version: number;
  /** How its sagas move to a newer version; `pinned` unless given. */
  moves?: Moves;
  description: string;
  /** The name of a model port of the application. */
  model: string;
  instructions: string;
  /** The first message; the input as JSON unless given. Pure. */
  prompt?: (input: z.infer<I>) => string;
  input: I;
  output: O;
  /** What the outside may send besides the reserved ones; none unless given. */
  signals?: S;
  tools: readonly Tool[];
  agents?: readonly SagaDefinition[];
  /** Whose running sagas it may write to, by the signals these declare: the reserved call `send`. */
  sends?: readonly Addressee[];
  /** Who may take its work over, to the end: the reserved call `hand_off`. */
  handsOffTo?: readonly SagaDefinition[];
  /**
   * What a flag does beside being recorded and shown to the model: `show` (default) nothing, `pause` stops the agent
   * until a human resumes it.
   */
  whenFlagged?: "show" | "pause";
  /**
   * What a cancel does before everything is undone: `undo` (default) nothing, `ask` gives the model one last reply,
   * whose calls are still carried out: to decline politely, to tell those concerned. A second cancel cuts it short.
   */
  whenCancelled?: "undo" | "ask";
  /**
   * Whether its model may refer to earlier results in arguments, `{ "$ref": "call 3.0 /bookingId" }`, and say with
   * `$after` what a call rests on; the model is told how. No unless given.
   */
  references?: boolean;
  /** The people the model's questions are for, and on what terms; anyone, for a week, unless given. */
  ask?: AskTerms & { readonly otherwise?: Json };
  /** Tools and sagas that the terms of approvals may name and the model does not see. See `Tool.uses`. */
  uses?: readonly Callable[];
  budget?: AgentBudget;
  /**
   * The most tokens one decision may write, thinking included. Unless given: what its model port has for a default,
   * and 32,000 where the budget counts tokens or dollars, less as that runs low.
   */
  outputTokensMax?: number;
  /** Asked about every call of the model's and of its sub-agents', before a call becomes an intent. */
  policies?: readonly Policy[];
  /** What it is to know however long it runs; none unless given. */
  memory?: MemoryConfig<S, M>;
  /** How much of the conversation its model is sent; `fullContext()`, all of it, unless given. */
  context?: ContextPolicy;
  /** How often in a row its model is told that a reply cannot be taken before the saga fails; 3 unless given. */
  repairsMax?: number;
  /** How many calls one reply may make; a reply with more cannot be taken, and the model is told. 256 unless given. */
  callsPerReplyMax?: number;
}

/**
 * Declares an agent: no loop, no machine, no call of a model. Besides its tools and agents the model sees
 * `wait`, `ask`, `undo` and `finish`.
 */
export function defineAgent<
  I extends z.ZodType,
  O extends z.ZodType,
  S extends SignalSchemas = Record<string, never>,
  M extends z.ZodType = z.ZodNever,
>(given: AgentConfig<I, O, S, M>): SagaDefinition<I, O, M extends z.ZodNever ? S : WithMemory<S>> {
  const { config: read, faults: inShape } = readGiven("agent", AgentShape, given, agentInstead);
  const config = { ...read, signals: read.signals ?? ({} as S) }; // Proof: S is this where no signals are given.
  const memory = config.memory === undefined ? undefined : memorySpec(config.memory);
  const context = cuttingPolicy(config.context);
  const spec: AgentSpec = {
    name: config.name,
    model: config.model,
    instructions: config.instructions,
    // The kernel parses the input with this agent's own schema before the machine begins.
    prompt: (config.prompt as ((input: unknown) => string) | undefined) ?? ((input) => JSON.stringify(input)),
    output: config.output,
    signals: config.signals,
    tools: context?.kind === "selective" ? [...config.tools, recallTool] : config.tools,
    agents: config.agents ?? [],
    memory,
    context,
    repairsMax: config.repairsMax,
    callsPerReplyMax: config.callsPerReplyMax,
    sends: writable(config.sends ?? []),
    handsOffTo: config.handsOffTo ?? [],
    ask: config.ask,
    whenCancelled: config.whenCancelled ?? "undo",
    references: config.references ?? false,
    asksForMore: config.budget?.atLimit === "ask",
  };
  const faults = [...inShape, ...commonFaults(config), ...calledFaults(spec), ...agentFaults(spec)];
  const frame =
    faults.length === 0 ? attempt(faults, `agent ${config.name}`, () => requestFrame(spec)) : undefined;
  const machine = openMachine(agentMachine(spec), { builtin: true });
  const signals = {
    ...config.signals,
    ...(memory === undefined ? {} : { [memorySignal]: MemoryEdit }),
  } as M extends z.ZodNever ? S : WithMemory<S>; // M is given where a memory is.
  return define(
    agentKind,
    { ...config, signals },
    {
      own: {
        frame,
        frameDigest: digestOf(frame ?? null),
        instructions: spec.instructions,
        context,
        memory,
        references: config.references ?? false,
        outputTokensMax: config.outputTokensMax,
      },
      machine,
      // An agent may call another and hand its work over to it, too.
      callables: [
        ...new Set([...spec.tools, ...spec.agents, ...spec.handsOffTo, ...(config.uses ?? [])]),
        ...(config.ask === undefined ? [] : [question({ ...config.ask, answer: z.json() })]),
      ],
      faults,
      frameTokens: frame && frameTokensOf(frame),
      models: [spec.model, ...[summarizeOf(context)?.model].filter((model) => model !== undefined)],
      identity: identityOf(read, { frame, memory, context }),
      whenEarly: "keep",
      whenFlagged: config.whenFlagged,
      budget: config.budget,
      outputTokensMax: config.outputTokensMax,
      policies: config.policies,
    },
  );
}

/** What of an agent decides, as data. */
const identityOf = (
  config: AgentConfig<z.ZodType, z.ZodType, SignalSchemas>,
  { frame, memory, context }: Pick<AgentOwn, "frame" | "memory" | "context">,
): Readonly<Record<string, unknown>> => ({
  model: config.model,
  instructions: config.instructions,
  frame,
  budget: config.budget,
  outputTokensMax: config.outputTokensMax,
  policies: policyNames(config.policies),
  memory: memoryIdentity(memory),
  context,
  repairsMax: config.repairsMax,
  callsPerReplyMax: config.callsPerReplyMax,
  whenFlagged: config.whenFlagged,
  whenCancelled: config.whenCancelled,
  references: config.references,
});

/** Two tools of one name, or two sagas, are told of any definition; to a model a tool and a saga are both calls. */
function calledFaults(spec: AgentSpec): string[] {
  const { name: agent, tools, agents } = spec;
  const faults = faultsBetween(spec);
  const names = new Set(tools.map(({ name }) => name));
  for (const { name } of agents) if (names.has(name)) faults.push(twiceNamed(agent, "calls", name));
  for (const { name, input } of [...tools, ...agents]) {
    if (reservedNames(spec).has(name) || (name === recallTool.name && !tools.includes(recallTool)))
      faults.push(`${agent}: the tool name "${name}" is reserved; the model has it already`);
    attempt(faults, `${agent}: the input of "${name}" cannot be shown to a model`, () => shownSchema(input));
  }
  return faults;
}

/** What is wrong with an agent's memory, context policy and bounds on its replies. */
function agentFaults(spec: AgentSpec): string[] {
  const { name, tools, agents, signals, memory, context, repairsMax, callsPerReplyMax: calls = 1 } = spec;
  const known = Object.keys(signals);
  // A compensating tool's success may change the memory as well.
  const callables = [...withCompensations(tools), ...agents].map((callable) => callable.name);
  const isBounded = repairsMax === undefined || (Number.isInteger(repairsMax) && repairsMax >= 0);
  return [
    ...memoryFaults(name, memory, { callables, signals: known }),
    ...contextFaults(name, context, known),
    ...(isBounded ? [] : [`${name}: repairsMax is ${repairsMax}, not a whole number from 0`]),
    ...(Number.isInteger(calls) && calls >= 1 && calls <= limits.intentsOpenCeiling
      ? []
      : [
          `${name}: callsPerReplyMax is ${calls}, not a whole number above 0 to ${limits.intentsOpenCeiling}`,
        ]),
  ];
}

/** A memory as data: what of it decides, without its functions, whose text differs between source and build. */
const memoryIdentity = (memory: MemorySpec | undefined): unknown =>
  memory && {
    schema: jsonSchema(memory.schema),
    initial: memory.initial,
    on: Object.keys(memory.on).sort(),
    signals: Object.keys(memory.signals).sort(),
  };

function attempt<T>(faults: string[], where: string, run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    faults.push(`${where}: ${describeError(error)}`);
    return undefined;
  }
}
