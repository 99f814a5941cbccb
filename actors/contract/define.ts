/**
 * Define: what definitions of every kind share. Each kind has a function of its own that comes here in the end.
 *
 * DC1 Defining never throws for a fault: faults are collected, and the application's load tells all at once.
 */
import type { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import { Name } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { ModelCall, Question } from "../machine/callable.ts";
import type { Machine } from "../machine/machine.ts";
import { readWith } from "../values/schema.ts";
import { type AgentBudget, budgetFaults } from "./budget-config.ts";
import type {
  Definition,
  Kind,
  LogsTo,
  Moves,
  SagaDefinition,
  SignalSchemas,
  WhenEarly,
} from "./definition.ts";
import { heirs, policyFaults } from "./inherit.ts";
import { memorySignal } from "./memory-spec.ts";
import { partsOf } from "./parts.ts";
import type { Policy } from "./policy.ts";
import { isReserved } from "./reserved-signals.ts";
import { faultsOf, readQuestion, withUsed } from "./terms.ts";
import { toolFaults, withCompensations } from "./tool-contract.ts";
import type { Tool } from "./tool.ts";

/** What a kind makes of what its author declared. */
export interface Parts<Own> {
  readonly own: Own;
  readonly machine: Machine;
  /** What its machine binds, and what may become an intent besides. */
  readonly callables: readonly unknown[];
  readonly faults: string[];
  readonly notes?: readonly string[];
  /** What of it decides, as data, by the words that name each: parts of the hash. */
  readonly identity: Readonly<Record<string, unknown>>;
  readonly whenEarly: WhenEarly;
  /** No part of the hash: nothing is decided from it, and running sagas follow what their host says. */
  readonly logs?: LogsTo | undefined;
  readonly whenFlagged?: "show" | "pause" | undefined;
  /** Of what is the same in every request; `limits.requestTokens` unless given. */
  readonly frameTokens?: number | undefined;
  /** Models it asks besides its single calls. */
  readonly models?: readonly string[];
  readonly budget?: AgentBudget | undefined;
  readonly outputTokensMax?: number | undefined;
  readonly policies?: readonly Policy[] | undefined;
}

/** What a definition of any kind is made of comes together here. */
export function define<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas, Own>(
  kind: Kind<Own>,
  config: {
    name: string;
    version: number;
    description?: string;
    input: I;
    output: O;
    signals: S;
    moves?: Moves | undefined;
  },
  parts: Parts<Own>,
): SagaDefinition<I, O, S> {
  const { name, version, description = "", input, output, signals, moves = "pinned" } = config;
  const callables = withUsed(parts.callables);
  const tools = new Map(withCompensations(callables.filter(isTool)).map((tool) => [tool.name, tool]));
  const policies = parts.policies ?? [];
  parts.faults.push(...sharedNames(name, callables), ...policyFaults(name, policies));
  parts.faults.push(...budgetFaults(name, parts));
  for (const tool of tools.values()) parts.faults.push(...toolFaults(tool));
  const questions = callables.filter(isQuestion);
  for (const one of questions) parts.faults.push(...questionFaults(name, one));
  const modelCalls = callables.filter(isModelCall);
  const made = partsOf({
    input,
    output,
    signals,
    tools: tools.values(),
    identity: identityOf(parts.identity, questions, moves),
  });
  const definition: Definition<Own> = {
    kind,
    own: parts.own,
    name,
    version,
    hash: digestOf([kind.name, name, version, made]).slice(0, 16),
    parts: made,
    moves,
    description,
    input,
    output,
    signals,
    whenEarly: parts.whenEarly,
    logs: parts.logs,
    machine: parts.machine,
    tools,
    sagas: heirs(
      callables.filter(isSaga).map((child) => [child.name, child.definition]),
      policies,
    ),
    modelCalls,
    models: [...new Set([...(parts.models ?? []), ...modelCalls.map(({ model }) => model)])],
    policies,
    budget: parts.budget ?? {},
    frameTokens: parts.frameTokens ?? limits.requestTokens,
    whenFlagged: parts.whenFlagged ?? "show",
    faults: parts.faults,
    notes: parts.notes ?? [],
  };
  return { kind: "saga", name, version, description, input, output, signals, definition };
}

const kindOf = (callable: unknown): unknown => (callable as { kind?: unknown }).kind;
const isTool = (callable: unknown): callable is Tool => kindOf(callable) === "tool";
const isSaga = (callable: unknown): callable is SagaDefinition => kindOf(callable) === "saga";

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

/** What every kind has of it. How it moves is a promise to its sagas, so a change of that is told like any other. */
const identityOf = (
  own: Parts<unknown>["identity"],
  questions: readonly Question[],
  moves: Moves,
): Parts<unknown>["identity"] => ({
  ...own,
  questions: questions.length === 0 ? undefined : questions.map(termsOf),
  moves: moves === "auto" ? moves : undefined,
});

export function commonFaults(config: {
  name: string;
  version: number;
  signals: SignalSchemas;
  moves?: Moves | undefined;
}): string[] {
  const faults: string[] = [];
  if (!Name.safeParse(config.name).success)
    faults.push(`"${config.name}" is not a name: a letter, then up to 63 letters, digits, _ or -`);
  if (!Number.isInteger(config.version) || config.version < 1)
    faults.push(`${config.name}: version must be 1 or more`);
  for (const name of Object.keys(config.signals)) {
    if (!Name.safeParse(name).success)
      faults.push(
        `${config.name}: "${name}" is not a signal's name: a letter, then up to 63 letters, digits, _ or -${name.includes(".") ? "; a dot would be a token of its subject" : ""}`,
      );
    if (isReserved(name) || name === memorySignal)
      faults.push(`${config.name}: the signal "${name}" is reserved; every saga has it`);
  }
  return faults;
}
