/**
 * Define: what definitions of every kind share. Each kind has a function of its own that comes here in the end.
 *
 * F3 Defining never throws for a fault: faults are collected, and the application's load tells all at once.
 */
import type { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import { Name } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { isSagaKind, type ModelCall, type Question, type SagaKind } from "../machine/callable.ts";
import type { Machine } from "../machine/machine.ts";
import { readWith } from "../values/schema.ts";
import type { WorkflowSpec } from "../workflow/spec.ts";
import { budgetFaults } from "./budget-config.ts";
import { type CuttingPolicy, summarizeOf } from "./context-policy.ts";
import type { AgentBudget, Definition, SagaDefinition, Signals, RequestFrame } from "./definition.ts";
import { heirs, policyFaults } from "./inherit.ts";
import { memorySignal, type MemorySpec } from "./memory-spec.ts";
import type { Policy } from "./policy.ts";
import { isReserved } from "./reserved-signals.ts";
import { faultsOf, readQuestion, withUsed } from "./terms.ts";
import { contractOf, jsonSchema, toolFaults, withCompensations } from "./tool-contract.ts";
import type { Tool } from "./tool.ts";

export interface Parts {
  readonly machine: Machine;
  readonly callables: readonly unknown[];
  readonly faults: string[];
  readonly identity: unknown;
  readonly whenEarly: "keep" | "ignore";
  readonly whenFlagged?: "show" | "pause" | undefined;
  readonly frame?: RequestFrame | undefined;
  readonly frameTokens?: number;
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
export function define<I extends z.ZodType, O extends z.ZodType, S extends Signals>(
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
    frameTokens: parts.frameTokens ?? limits.requestTokens,
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
