/**
 * Defining sagas and agents.
 *
 * F3 Defining never throws for a fault: faults are collected, and the application's load tells all at once.
 */
import type { AnyStateMachine } from "xstate";
import { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import { describeError } from "../../protocol/errors.ts";
import { Name } from "../../protocol/ids.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { agentMachine } from "../agent/agent.ts";
import { budgetFaults, frameTokensOf } from "./budget-config.ts";
import { faultsBetween, writable } from "../kernel/between-sagas.ts";
import {
  type Asking,
  type Callable,
  callableOf,
  isSagaKind,
  type ModelCall,
  type Question,
  question,
  type SagaKind,
} from "../machine/callable.ts";
import {
  contextFaults,
  type ContextPolicy,
  type CuttingPolicy,
  cuttingPolicy,
  summarizeOf,
} from "./context-policy.ts";
import { requestFrame, reservedNames, shownSchema } from "../request/conversation.ts";
import type { Addressee, AgentBudget, AgentSpec, Budget, Definition } from "./definition.ts";
import type { SagaDefinition, Signals } from "./definition.ts";
import { readWith } from "../values/schema.ts";
import { machineFaults } from "../machine/faults.ts";
import { openMachine, type Machine } from "../machine/machine.ts";
import { heirs, policyFaults, policyNames } from "./inherit.ts";
import { memoryFaults } from "../kernel/memory.ts";
import {
  type MemoryConfig,
  MemoryEdit,
  memorySignal,
  type MemorySpec,
  memorySpec,
  type WithMemory,
} from "./memory-spec.ts";
import type { Policy } from "./policy.ts";
import { recallTool } from "../request/recall.ts";
import { isReserved } from "./reserved-signals.ts";
import { faultsOf, readApproval, readQuestion, withUsed } from "./terms.ts";
import type { Tool } from "./tool.ts";
import type { WorkflowSpec } from "../workflow/spec.ts";

export interface SagaConfig<I extends z.ZodType, O extends z.ZodType, S extends Signals> {
  /** A letter, then up to 63 letters, digits, _ or -. */
  name: string;
  /** Raise it when the machine decides otherwise than before; running sagas keep theirs. */
  version: number;
  description?: string;
  input: I;
  output: O;
  /** What the outside may send besides `cancel`; each is an event `{ type, data, at, from }`. */
  signals: S;
  /** `keep` (default): a signal that no state takes yet is offered again after each transition. */
  whenEarly?: "keep" | "ignore";
  machine: AnyStateMachine;
  /** Asked about every call of the machine's and of what it starts, before a call becomes an intent. */
  policies?: readonly Policy[];
  /** Shared with all below it; what it refuses is an error of the actor that asked, with BUDGET_EXCEEDED. */
  budget?: Budget;
}

/**
 * Makes any XState 5 machine durable. Its invokes and spawned children are tools, sagas and the reserved
 * callables bound by `toActors`; its delays are durable timers; its assigns and guards must be pure.
 */
export function defineSaga<I extends z.ZodType, O extends z.ZodType, S extends Signals>(
  config: SagaConfig<I, O, S>,
): SagaDefinition<I, O, S> {
  const inMachine = machineFaults(config.machine).map((fault) => `${config.name}: ${fault}`);
  const faults = [...commonFaults(config), ...inMachine];
  const machine = openMachine(config.machine);
  return saga("saga", config, {
    machine,
    callables: Object.values(config.machine.implementations.actors)
      .map(callableOf)
      .filter((callable) => callable !== undefined),
    faults,
    identity: {
      // Without its functions: their text differs between source and build.
      machine: toJson(config.machine.config),
      whenEarly: config.whenEarly ?? "keep",
      policies: policyNames(config.policies),
      budget: config.budget,
    },
    policies: config.policies,
    whenEarly: config.whenEarly ?? "keep",
    budget: config.budget,
  });
}

export interface AgentConfig<
  I extends z.ZodType,
  O extends z.ZodType,
  S extends Signals,
  M extends z.ZodType = z.ZodType,
> {
  name: string;
  version: number;
  description: string;
  /** The name of a model port of the application. */
  model: string;
  instructions: string;
  /** The first message; the input as JSON unless given. Pure. */
  prompt?: (input: z.infer<I>) => string;
  input: I;
  output: O;
  signals: S;
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
  /** Whom the model's questions are for, and on what terms; anybody, for a week, unless given. */
  ask?: Asking & { readonly otherwise?: Json };
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
  /** How much of the conversation its model is sent: `full()` (the default), `window(…)` or `selective(…)`. */
  context?: ContextPolicy;
  /** How often in a row its model is told that a reply cannot be taken before the saga fails; 3 unless given. */
  repairsMax?: number;
}

/**
 * Declares an agent: no loop, no machine, no call of a model. Besides its tools and agents the model sees
 * `wait`, `ask`, `undo` and `finish`.
 */
export function defineAgent<
  I extends z.ZodType,
  O extends z.ZodType,
  S extends Signals,
  M extends z.ZodType = z.ZodNever,
>(config: AgentConfig<I, O, S, M>): SagaDefinition<I, O, M extends z.ZodNever ? S : WithMemory<S>> {
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
    sends: writable(config.sends ?? []),
    handsOffTo: config.handsOffTo ?? [],
    ask: config.ask,
    whenCancelled: config.whenCancelled ?? "undo",
    references: config.references ?? false,
    asksForMore: config.budget?.atLimit === "ask",
  };
  const faults = [...commonFaults(config), ...calledFaults(spec), ...agentFaults(spec)];
  const frame =
    faults.length === 0 ? attempt(faults, `agent ${config.name}`, () => requestFrame(spec)) : undefined;
  const machine = openMachine(agentMachine(spec), { builtin: true });
  const signals = {
    ...config.signals,
    ...(memory === undefined ? {} : { [memorySignal]: MemoryEdit }),
  } as M extends z.ZodNever ? S : WithMemory<S>; // M is given where a memory is.
  return saga(
    "agent",
    { ...config, signals },
    {
      machine,
      // An agent may call another and hand its work over to it, too.
      callables: [
        ...new Set([...spec.tools, ...spec.agents, ...spec.handsOffTo, ...(config.uses ?? [])]),
        ...(config.ask === undefined ? [] : [question({ ...config.ask, answer: z.json() })]),
      ],
      faults,
      frame,
      instructions: spec.instructions,
      model: spec.model,
      identity: {
        frame,
        budget: config.budget,
        outputTokensMax: config.outputTokensMax,
        policies: policyNames(config.policies),
        memory: identityOf(memory),
        context,
        repairsMax: config.repairsMax,
        whenFlagged: config.whenFlagged,
        whenCancelled: config.whenCancelled,
        references: config.references,
      },
      whenEarly: "keep",
      whenFlagged: config.whenFlagged,
      budget: config.budget,
      outputTokensMax: config.outputTokensMax,
      policies: config.policies,
      memory,
      context,
      references: config.references,
    },
  );
}

export interface Parts {
  readonly machine: Machine;
  readonly callables: readonly unknown[];
  readonly faults: string[];
  readonly identity: unknown;
  readonly whenEarly: "keep" | "ignore";
  readonly whenFlagged?: "show" | "pause" | undefined;
  readonly frame?: Definition["frame"];
  readonly instructions?: string;
  readonly model?: string;
  readonly budget?: AgentBudget | undefined;
  readonly outputTokensMax?: number | undefined;
  readonly policies?: readonly Policy[] | undefined;
  readonly memory?: MemorySpec | undefined;
  readonly context?: CuttingPolicy | undefined;
  readonly workflow?: WorkflowSpec;
  readonly references?: boolean | undefined;
}

/** What a definition of any kind is made of comes together here. */
export function saga<I extends z.ZodType, O extends z.ZodType, S extends Signals>(
  kind: SagaKind,
  config: { name: string; version: number; description?: string; input: I; output: O; signals: S },
  parts: Parts,
): SagaDefinition<I, O, S> {
  const { name, version, description = "", input, output, signals } = config;
  const callables = withUsed(parts.callables);
  const tools = new Map(withCompensations(callables.filter(isTool)).map((tool) => [tool.name, tool]));
  const policies = parts.policies ?? [];
  parts.faults.push(...sharedNames(name, callables), ...policyFaults(name, policies));
  parts.faults.push(...budgetFaults(name, parts));
  for (const tool of tools.values()) parts.faults.push(...toolFaults(tool));
  const questions = callables.filter(isQuestion);
  for (const one of questions) parts.faults.push(...questionFaults(name, one));
  const modelCalls = callables.filter(isModelCall);
  const definition: Definition = {
    kind,
    name,
    version,
    hash: digestOf([
      kind,
      name,
      version,
      schemasOf(config),
      [...tools.values()].map(contractOf),
      parts.identity,
      ...questions.map(termsOf),
    ]).slice(0, 16),
    description,
    input,
    output,
    signals,
    whenEarly: parts.whenEarly,
    machine: parts.machine,
    tools,
    sagas: heirs(
      callables.filter(isSaga).map((child) => [child.name, child.definition]),
      policies,
    ),
    modelCalls,
    models: [
      ...new Set([
        ...(parts.model === undefined ? [] : [parts.model]),
        ...modelCalls.map(({ model }) => model),
        ...[summarizeOf(parts.context)?.model].filter((model) => model !== undefined),
      ]),
    ],
    policies,
    budget: parts.budget ?? {},
    outputTokensMax: parts.outputTokensMax,
    frameTokens: frameTokensOf(parts.frame),
    whenFlagged: parts.whenFlagged ?? "show",
    frame: parts.frame,
    frameDigest: digestOf(parts.frame ?? null),
    instructions: parts.instructions ?? "",
    context: parts.context,
    memory: parts.memory,
    ...{ workflow: parts.workflow, references: parts.references ?? false },
    faults: parts.faults,
  };
  return { kind, name, version, description, input, output, signals, definition };
}

const kindOf = (callable: unknown): unknown => (callable as { kind?: unknown }).kind;
const isTool = (callable: unknown): callable is Tool => kindOf(callable) === "tool";
const isSaga = (callable: unknown): callable is SagaDefinition => isSagaKind(kindOf(callable));

const isModelCall = (callable: unknown): callable is ModelCall => kindOf(callable) === "model";

const isQuestion = (callable: unknown): callable is Question => kindOf(callable) === "question";

/** An intent names its tool or saga, so two of one name would be taken for each other. */
function sharedNames(where: string, callables: readonly unknown[]): string[] {
  const tools = withCompensations(callables.filter(isTool));
  const sagas = [...new Set(callables.filter(isSaga).map(({ definition }) => definition))];
  const twice = (all: readonly { name: string }[], what: "tools" | "sagas") =>
    all
      .filter(({ name }, index) => all.findIndex((other) => other.name === name) < index)
      .map(({ name }) => twiceNamed(where, what, name));
  return [...twice(tools, "tools"), ...twice(sagas, "sagas")];
}

/** How a definition tells that two of what it names are called alike; the application then need not. */
export const twiceNamed = (where: string, what: "tools" | "sagas" | "calls", name: string): string =>
  `${where}: two of its ${what} are named "${name}"`;

function questionFaults(where: string, question: Question): string[] {
  const { output, otherwise, withinMs } = question;
  const faults: string[] = faultsOf(`${where}: a question`, readQuestion(question));
  if (!(withinMs > 0 && withinMs <= limits.timerMaxMs))
    faults.push(`${where}: a question's withinMs is ${withinMs}, not between 1 and ${limits.timerMaxMs}`);
  const fits = otherwise === undefined ? undefined : readWith(output, toJson(otherwise));
  if (fits?.success === false)
    faults.push(`${where}: the default of a question does not fit its answer: ${fits.reason}`);
  return faults;
}

/** Terms as data, for what is hashed and shown. What is wrong with them is a fault of its own. */
function termsOf(question: Question): unknown {
  const read = readQuestion(question);
  return "fault" in read ? null : read.asked;
}

function withCompensations(tools: readonly Tool[]): Tool[] {
  const all = new Set(tools);
  for (const tool of all) if (typeof tool.compensation === "object") all.add(tool.compensation.tool);
  return [...all];
}

/** A tool's contract as data: what the registry shows and the definition's hash covers. */
export function contractOf(tool: Tool): Record<string, unknown> {
  const { name, description, effect, placement, timeoutMs, retry, onDoubt, concurrencyMax, compensation } =
    tool;
  const policies = policyNames(tool.policies);
  const approval = typeof tool.approval === "object" ? readApproval(tool.approval) : undefined;
  return {
    ...{ name, description, effect, placement, timeoutMs, retry, onDoubt, concurrencyMax },
    compensation: typeof compensation === "object" ? compensation.tool.name : compensation,
    ...(policies === undefined ? {} : { policies }),
    ...(approval === undefined || "fault" in approval ? {} : { approval: approval.asked }),
    input: jsonSchema(tool.input),
    output: jsonSchema(tool.output),
  };
}

/** A schema as data, with what JSON Schema cannot say left open. */
export const jsonSchema = (schema: z.ZodType): unknown =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });

const schemasOf = (config: { input: z.ZodType; output: z.ZodType; signals: Signals }): unknown => [
  jsonSchema(config.input),
  jsonSchema(config.output),
  Object.entries(config.signals).map(([name, schema]) => [name, jsonSchema(schema)]),
];

export function commonFaults(config: { name: string; version: number; signals: Signals }): string[] {
  const faults: string[] = [];
  if (!Name.safeParse(config.name).success)
    faults.push(`"${config.name}" is not a name: a letter, then up to 63 letters, digits, _ or -`);
  if (!Number.isInteger(config.version) || config.version < 1)
    faults.push(`${config.name}: version must be 1 or more`);
  for (const name of Object.keys(config.signals)) {
    if (!Name.safeParse(name).success) faults.push(`${config.name}: "${name}" is not a signal's name`);
    if (isReserved(name) || name === memorySignal)
      faults.push(`${config.name}: the signal "${name}" is reserved; every saga has it`);
  }
  return faults;
}

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

/** What is wrong with an agent's memory, context policy and bound on repairs. */
function agentFaults({ name, tools, agents, signals, memory, context, repairsMax }: AgentSpec): string[] {
  const known = Object.keys(signals);
  // A compensating tool's success may change the memory as well.
  const callables = [...withCompensations(tools), ...agents].map((callable) => callable.name);
  const isBounded = repairsMax === undefined || (Number.isInteger(repairsMax) && repairsMax >= 0);
  return [
    ...memoryFaults(name, memory, { callables, signals: known }),
    ...contextFaults(name, context, known),
    ...(isBounded ? [] : [`${name}: repairsMax is ${repairsMax}, not a whole number from 0`]),
  ];
}

/** A memory as data: what of it decides, without its functions, whose text differs between source and build. */
const identityOf = (memory: MemorySpec | undefined): unknown =>
  memory && {
    schema: jsonSchema(memory.schema),
    initial: memory.initial,
    on: Object.keys(memory.on).sort(),
    signals: Object.keys(memory.signals).sort(),
  };

function toolFaults(tool: Tool): string[] {
  const where = `tool ${tool.name}`;
  const faults = policyFaults(where, tool.policies ?? []);
  if (!Name.safeParse(tool.name).success) faults.push(`"${tool.name}" is not a tool's name`);
  for (const bound of ["concurrencyMax", "perSecondMax"] as const) {
    const value = tool[bound];
    if (value === undefined) continue;
    if (tool.placement === "host")
      faults.push(`${where}: ${bound} holds over the mesh, so it needs placement "worker"`);
    if (!(value > 0) || (bound === "concurrencyMax" && !Number.isInteger(value)))
      faults.push(`${where}: ${bound} is ${value}`);
  }
  if (typeof tool.approval === "object")
    faults.push(...faultsOf(`${where}: approval`, readApproval(tool.approval)));
  if (tool.effect === "probe" && tool.body !== undefined && tool.body.probe === undefined)
    faults.push(`${where}: effect "probe" needs a probe beside its perform`);
  if (tool.timeoutMs <= 0) faults.push(`${where}: timeoutMs must be more than 0`);
  if (tool.retry.attemptsMax < 1) faults.push(`${where}: retry.attemptsMax must be 1 or more`);
  if (typeof tool.compensation === "object") {
    const { effect, name } = tool.compensation.tool;
    if (effect !== "idempotent" && effect !== "probe")
      faults.push(
        `${where}: its compensation "${name}" is "${effect}"; only "idempotent" or "probe" can be retried until it is done`,
      );
  } else if (tool.onDoubt === "compensate")
    faults.push(`${where}: onDoubt "compensate" needs a compensation`);
  return faults;
}

function attempt<T>(faults: string[], where: string, run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    faults.push(`${where}: ${describeError(error)}`);
    return undefined;
  }
}
