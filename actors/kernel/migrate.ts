/**
 * Migrate: whether a saga may go on under another definition, judged by its whole ledger.
 *
 * Owns: the judgement and its reasons, in words. Does not own: the record of a move (migrated.ts), who asks for one and
 * who takes it (services).
 *
 * MI1 A saga may be moved if the new definition, given all that came in, decides all that was decided: the same calls
 *     under the same keys, the same timers, tasks, children and ends, and each ends as it ended: a success that the new
 *     schema does not read would count as a failure, in silence. Of a model call the request may differ.
 * MI2 What is open goes on under the new definition only where its contract is the old one's: an open call the one that
 *     its intent names, and its placement; a task the very call that people are asked about; what stands what undoes
 *     it, a result its schema, a kept signal its own.
 * MI3 Where the old contract is not known, the saga stays where it is.
 */
import type { Closing } from "../../protocol/closing.ts";
import { digestOf } from "../../protocol/digest.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Intent } from "../../protocol/intent.ts";
import { canonicalJson } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Step, Turn } from "../../protocol/turn.ts";
import { contractOf } from "../contract/tool-contract.ts";
import type { Definition } from "../contract/definition.ts";
import { decideTurn } from "./fold.ts";
import { jsonSchema, readWith } from "../values/schema.ts";
import { lastMigration } from "./migrated.ts";
import { differenceOf, type Said } from "./replay.ts";
import { isReserved } from "../contract/reserved-signals.ts";
import type { SagaState } from "../contract/state.ts";

/** What was agreed with a tool or a child: data, so that it may come from the registry. */
export type Contract = Readonly<Record<string, unknown>>;

/** The contracts of the definition that a saga has; undefined where they are not known any more. */
export interface OldContracts {
  tool(name: string): Contract | undefined;
  child(name: string): Contract | undefined;
}

/** What a step decided: an intent, or as what it closed one. */
type Decided = Intent | Closing;

/** What keeps a saga where it is. */
export interface Obstacle {
  /** The first turn that would be another; 0 where it is the state that it rests in. */
  readonly turn: number;
  /** In words. */
  readonly why: string;
  readonly expected?: Decided;
  readonly got?: Decided;
}

/** A ledger under the new definition, as far as its decisions go. */
export type FoldedUnder =
  | {
      readonly can: true;
      readonly state: SagaState;
      readonly messages: ModelMessage[];
      /** How many requests to models the new definition would have sent otherwise. */
      readonly requestsDiffer: number;
    }
  | { readonly can: false; readonly obstacle: Obstacle };
export type Migration = FoldedUnder;

/** A child's contract: what it takes and gives. */
export const childContractOf = ({ input, output }: Pick<Definition, "input" | "output">): Contract => ({
  input: jsonSchema(input),
  output: jsonSchema(output),
});

/** The contracts of a definition that is at hand. */
export const contractsOf = ({ tools, sagas }: Definition): OldContracts => ({
  tool: (name) => {
    const tool = tools.get(name);
    return tool && contractOf(tool);
  },
  child: (name) => {
    const child = sagas.get(name);
    return child && childContractOf(child);
  },
});

/** Judges one ledger, in pieces. Pure; it may be long, and nothing is performed. */
export function* judgeMigration(
  to: Definition,
  turns: readonly Turn[],
  old: OldContracts,
): Generator<undefined, Migration> {
  return judgeRest(to, turns, yield* foldUnder(to, turns), old);
}

/** MI1, in pieces, a turn each. */
export function* foldUnder(to: Definition, turns: readonly Turn[]): Generator<undefined, FoldedUnder> {
  let state: SagaState | undefined;
  let requestsDiffer = 0;
  const last = lastMigration(turns);
  const isMoved = last?.event.to.hash === to.hash; // What was decided before has been compared then.
  const messages: ModelMessage[] = [];
  for (const turn of turns) {
    const obstacle = (why: string, more: Partial<Obstacle> = {}): Migration => ({
      can: false,
      obstacle: { turn: turn.turn, why, ...more },
    });
    try {
      const events = turn.steps.map(({ event }) => event);
      const decided = decideTurn(to, state, { saga: turn.saga, at: turn.at, events });
      const difference = differenceOf(turn, decided.steps, "but for requests");
      if (difference !== undefined) {
        const { expected, got } = difference;
        if (!isDecided(expected) || !isDecided(got))
          return obstacle("the new definition lets other children leave the line");
        return obstacle(inWords(to, { expected, got }, turns), {
          ...(expected === undefined ? {} : { expected }),
          ...(got === undefined ? {} : { got }),
        });
      }
      if (!isMoved || turn.turn >= last.turn) requestsDiffer += otherRequests(turn.steps, decided.steps);
      messages.push(...decided.said);
      ({ state } = decided);
    } catch (error) {
      if (!isMeshError(error)) throw error;
      return obstacle(`the new definition cannot take what came in: ${error.message}`);
    }
    yield;
  }
  if (state === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
  return { can: true, state, messages, requestsDiffer };
}

/** MI2 of a ledger that is folded already: what it needs the old contracts for. */
export function judgeRest(
  to: Definition,
  turns: readonly Turn[],
  folded: FoldedUnder,
  old: OldContracts,
): Migration {
  if (!folded.can) return folded;
  const obstacle = priceObstacle(to, turns) ?? restObstacle(to, folded.state, turns, old);
  return obstacle === undefined ? folded : { can: false, obstacle };
}

function otherRequests(recorded: readonly Step[], decided: readonly Step[]): number {
  const others = decided.flatMap(({ intents }) => intents);
  return recorded
    .flatMap(({ intents }) => intents)
    .filter((intent, k) => {
      const other = others[k];
      return intent.kind === "model" && other?.kind === "model" && intent.request !== other.request;
    }).length;
}

function inWords(
  to: Definition,
  { expected, got }: { readonly expected: Decided | undefined; readonly got: Decided | undefined },
  turns: readonly Turn[],
): string {
  if (isClosing(expected) || isClosing(got)) return endWords(expected as Closing, got as Closing, turns);
  if (expected === undefined) return `nothing more was decided there; ${to.name} would decide ${brief(got)}`;
  if (expected.kind === "tool" && !to.tools.has(expected.name))
    return `"${expected.name}" was called, which the new definition does not have`;
  if (expected.kind === "saga" && !to.sagas.has(expected.name))
    return `"${expected.name}" was started, which the new definition does not have`;
  if (got?.kind === "denied" && expected.kind !== "denied")
    return `${brief(expected)} was decided; the new definition refuses it: ${got.reason}`;
  if (got?.kind !== expected.kind)
    return `${brief(expected)} was decided; the new definition decides ${brief(got)}`;
  const members = [...new Set([...Object.keys(expected), ...Object.keys(got)])].filter(
    (key) => canonicalJson((expected as Members)[key]) !== canonicalJson((got as Members)[key]),
  );
  return `${brief(expected)} was decided; the new definition decides it with another ${members.join(", ")}`;
}

const isDecided = (one: Said | undefined): one is Decided | undefined =>
  one === undefined || "as" in one || "kind" in one;

const isClosing = (one: Decided | undefined): one is Closing => one !== undefined && "as" in one;

function endWords(expected: Closing | undefined, got: Closing | undefined, turns: readonly Turn[]): string {
  const id = (expected ?? got)?.intent ?? "";
  const intent = turns
    .flatMap(({ steps }) => steps.flatMap(({ intents }) => intents))
    .find((one) => one.id === id && one.kind !== "retry");
  const name = intent !== undefined && "name" in intent ? intent.name : id;
  if (expected?.as === "succeeded" && got?.code === "BAD_RESULT")
    return `what ${name} gave does not fit the output of the new definition's`;
  const ended = (one: Closing | undefined) => (one === undefined ? "nothing" : `${one.intent} as ${one.as}`);
  return `of ${name}, ${ended(expected)} ended there; under the new definition ${ended(got)}`;
}

type Members = Readonly<Record<string, unknown>>;

function brief(intent: Intent | undefined): string {
  if (intent === undefined) return "nothing";
  const name = "name" in intent ? ` ${intent.name}` : intent.kind === "task" ? ` (${intent.about})` : "";
  const words: Partial<Record<Intent["kind"], string>> = {
    tool: "a call of",
    model: "a call of the model",
    saga: "the start of",
    denied: "the refusal of",
    signal: "the signal",
  };
  return `${words[intent.kind] ?? `a ${intent.kind}`}${name}`;
}

/** Dollars are counted by the prices of the first turn, which knows the old models only. */
function priceObstacle(to: Definition, turns: readonly Turn[]): Obstacle | undefined {
  const start = turns[0]?.steps[0]?.event;
  const prices = start?.type === "start" ? start.prices : undefined;
  const unknown = prices && to.models.find((model) => prices[model] === undefined);
  return unknown === undefined
    ? undefined
    : {
        turn: 0,
        why: `its dollars are counted by the prices it was started with, which have none for the model ${unknown}`,
      };
}

const isSame = (a: unknown, b: unknown): boolean => digestOf(a ?? null) === digestOf(b ?? null);

/** MI2 of the state that the saga rests in. */
function restObstacle(
  to: Definition,
  state: SagaState,
  turns: readonly Turn[],
  old: OldContracts,
): Obstacle | undefined {
  const recorded = recordedCalls(turns);
  const why =
    pauseObstacle(state) ??
    openObstacle(to, state, recorded, old) ??
    taskObstacle(state, recorded) ??
    standingObstacle(to, state, old) ??
    signalObstacle(to, state);
  return why === undefined ? undefined : { turn: 0, why };
}

/** Asking anew is a decision, and a paused saga makes none. */
function pauseObstacle({ paused, open, held = [] }: SagaState): string | undefined {
  if (paused === undefined) return undefined;
  const isAsking = Object.values(open).some(({ intent }) => intent.kind === "model");
  return isAsking || held.some(({ kind }) => kind === "retry")
    ? "it is paused while a model is asked: resume it first"
    : undefined;
}

type Recorded = ReadonlyMap<string, Intent>;

/** What was recorded of calls, and of calls that people were asked about, by intent. */
const recordedCalls = (turns: readonly Turn[]): Recorded =>
  new Map(
    turns
      .flatMap(({ steps }) => steps.flatMap(({ intents }) => intents))
      .flatMap((intent) => (intent.kind === "tool" || intent.kind === "task" ? [[intent.id, intent]] : [])),
  );

/** A call that goes on: under which name, and under which contract the new definition makes it. */
interface GoingOn {
  readonly id: string;
  readonly name: string;
  /** Undefined: it is a child. */
  readonly contract: string | undefined;
}

const goingOn = ({ open, doubts }: SagaState): GoingOn[] => [
  ...Object.entries(open).flatMap(([id, { intent }]): GoingOn[] => {
    if (intent.kind === "tool") return [{ id, name: intent.name, contract: intent.contract }];
    const runs = intent.kind === "saga" && intent.undoes === undefined;
    return runs ? [{ id, name: intent.name, contract: undefined }] : [];
  }),
  ...Object.entries(doubts).flatMap(([id, { outcome, tool, contract }]) =>
    outcome === "in_doubt" ? [{ id, name: tool, contract }] : [],
  ),
];

/** The members of a contract by the words in which a change is told. */
const members: readonly (readonly [string, string])[] = [
  ["effect", "effect"],
  ["input", "input"],
  ["output", "output"],
  ["compensation", "compensation"],
  ["undoneBy", "compensation"],
  ["version", "version"],
];

function openObstacle(
  to: Definition,
  state: SagaState,
  recorded: Recorded,
  old: OldContracts,
): string | undefined {
  for (const call of goingOn(state)) {
    const { id, name, contract } = call;
    const tool = contract === undefined ? undefined : to.tools.get(name);
    const child = contract === undefined ? to.sagas.get(name) : undefined;
    const now = tool === undefined ? child && childContractOf(child) : contractOf(tool);
    const before = contract === undefined ? old.child(name) : old.tool(name);
    if (now === undefined) return `${name} (${id}) is open, and the new definition does not have it`;
    if (before === undefined)
      return `${name} (${id}) is open, and its contract is not known any more: serve the old definition`;
    const was = recorded.get(id);
    const isSameContract = contract !== undefined && was?.kind === "tool" && was.contract === contract;
    const changed = members
      .filter(([member]) => !isSame(before[member], now[member]))
      .map(([, word]) => word);
    const told = [
      ...(isSameContract ? [] : changed), // Where the contract is the same, its wording alone may differ.
      ...(isSame(before["placement"], now["placement"]) ? [] : ["placement"]),
    ];
    if (told.length > 0)
      return `${name} (${id}) is open, and its ${[...new Set(told)].join(" and ")} changed`;
    if (contract !== undefined && !isSameContract) return `${name} (${id}) is open, and its contract changed`;
  }
  return undefined;
}

/** People say yes to what they were shown. */
function taskObstacle({ open }: SagaState, recorded: Recorded): string | undefined {
  for (const [id, { intent }] of Object.entries(open)) {
    const was = recorded.get(id);
    if (intent.kind === "task" && was?.kind === "task" && was.digest !== intent.digest)
      return `people are asked about ${intent.tool ?? "a call"} (${id}), and its contract changed`;
  }
  return undefined;
}

/** What undoes a standing effect was promised when it was done. */
function standingObstacle(to: Definition, { effects }: SagaState, old: OldContracts): string | undefined {
  for (const { intent, tool, child } of effects) {
    const now = child === undefined ? to.tools.get(tool) : undefined;
    const before = child === undefined ? old.tool(tool) : undefined;
    if (now === undefined) continue;
    if (before === undefined)
      return `${tool} (${intent}) stands, and it is not known any more what undoes it: serve the old definition`;
    if (!isSame(undoing(before), undoing(contractOf(now))))
      return `${tool} (${intent}) stands, and what undoes it changed`;
  }
  return undefined;
}

const undoing = ({ compensation, undoneBy }: Contract) => [compensation, undoneBy];

function signalObstacle(to: Definition, { kept, held = [] }: SagaState): string | undefined {
  const waiting = [...kept, ...held.flatMap((one) => (one.kind === "signal" ? [one.signal] : []))];
  for (const { name, data } of waiting) {
    if (isReserved(name)) continue;
    const schema = Object.hasOwn(to.signals, name) ? to.signals[name] : undefined;
    if (schema === undefined) return `the signal "${name}" is kept, which the new definition does not take`;
    const read = readWith(schema, data);
    if (!read.success) return `the signal "${name}" is kept and does not fit the new schema: ${read.reason}`;
  }
  return undefined;
}
