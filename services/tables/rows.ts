/**
 * Rows: what a saga's account says, as rows of the tables. Pure: of the same account the same rows.
 *
 * BE1 A row says what the account says and works nothing out again. What may be long is cut or left out, as the schema says.
 */
import { promptTokens, sumOf } from "../../actors/kernel/spending.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Account, Change, DecidedIntent, StandingEffect, ToldIntent } from "../ledger/account.ts";
import { reasonOf } from "../ledger/closing-words.ts";
import type { TableName } from "./schema.ts";

/** What a cell holds. */
export type Cell = string | number | null;
/** A row of a table, by its columns; a column that is left out is null. */
export interface Row {
  readonly table: TableName;
  readonly cells: Readonly<Record<string, Cell | undefined>>;
}

/** Of an intent's arguments and result; beyond that they are null. */
const jsonMax = 8_192;

/** A moment as the tables have it; null for what is no time. */
export function timeText(ms: number | undefined): string | null {
  if (ms === undefined || !(Math.abs(ms) <= 8.64e15)) return null;
  return new Date(ms).toISOString().replace("T", " ").slice(0, -1);
}

/** The saga's own row. `fault`: why its ledger cannot be read on. */
export function sagaRow(account: Account, fault?: string): Row {
  const { saga, start, definition, spent, below, end, paused, fork } = account;
  const all = sumOf({ ...spent, unreportedTokens: 0 }, below);
  let [open, asks] = [0, 0];
  for (const { intent } of account.open.values()) {
    if (intent.kind !== "end") open += 1;
    if (intent.kind === "task") asks += 1;
  }
  const isFork = start.fork !== undefined;
  return {
    table: "sagas",
    cells: {
      ...{ saga, agent: definition.name, version: definition.version, hash: definition.hash },
      status: fault === undefined ? (end?.intent.status ?? "running") : "unreadable",
      ...{ started: timeText(account.startedAt), updated: timeText(account.updatedAt) },
      ended: end === undefined ? null : timeText(end.at),
      turns: account.turns,
      ...{ cost: all.usd, usd: spent.usd, tokens: spent.inputTokens + spent.outputTokens },
      ...{ input_tokens: spent.inputTokens, output_tokens: spent.outputTokens },
      ...{ model_calls: spent.steps, tool_calls: spent.toolCalls, children: spent.children },
      ...{ error: end?.intent.code, reason: end?.intent.reason },
      // A fork of a child has no parent.
      ...(isFork ? {} : { parent: start.parent?.saga, parent_intent: start.parent?.intent }),
      ...(isFork || start.tree === undefined
        ? { root: saga, depth: 0 }
        : { root: start.tree.root, depth: start.tree.depth }),
      ...{ fork_of: fork?.saga, fork_turn: fork?.turn },
      ...{ open, asks, in_doubt: account.doubts.size },
      ...{ paused: timeText(paused?.at), flags: account.flags.length },
      ...{ whole: 1, fault },
    },
  };
}

/** Of one that was archived, and whose turns were not read. */
export function archivedRow({ saga, definition, end, parent, fork, ...told }: Tombstone): Row {
  return {
    table: "sagas",
    cells: {
      ...{ saga, agent: definition.name, version: definition.version, hash: definition.hash },
      ...{ status: end.status, error: end.code, reason: end.reason, turns: told.turns },
      ...{
        started: timeText(told.startedAt),
        updated: timeText(told.endedAt),
        ended: timeText(told.endedAt),
      },
      ...{ parent: parent?.saga, parent_intent: parent?.intent, fork_of: fork?.saga, fork_turn: fork?.turn },
      ...{ open: 0, asks: 0, flags: 0, whole: 0 },
    },
  };
}

/** Of one of which nothing can be read. */
export const unreadableRow = (saga: SagaId, fault: string): Row => ({
  table: "sagas",
  cells: { saga, status: "unreadable", turns: 0, whole: 1, fault },
});

export const turnRow = ({ saga, turn, at, host, steps }: Turn): Row => ({
  table: "turns",
  cells: {
    ...{ saga, turn, at: timeText(at), host },
    took: steps.map(({ event }) => event.type).join(", "),
    decided: steps.flatMap(({ intents }) => intents.map(({ kind }) => kind)).join(", "),
  },
});

export function intentRow(account: Account, told: ToldIntent): Row {
  const { intent, place, ended } = told;
  return {
    table: "intents",
    cells: {
      ...{ saga: account.saga, intent: intent.id, turn: place.turn, at: timeText(place.at) },
      ...{ kind: intent.kind, name: nameOf(intent), outcome: outcomeOf(account, told) },
      ...{ code: ended?.code, reason: reasonOf(account, told), attempt: told.attempt },
      deferred: told.deferred === undefined ? 0 : 1,
      ...{ ended: timeText(ended?.at), ended_turn: ended?.turn },
      said_by: ended?.from ?? told.said.at(-1)?.vote.by,
      ...{ call: "call" in intent ? intent.call : undefined, other: otherOf(intent) },
      ...{ undoes: "undoes" in intent ? intent.undoes : undefined },
      ...{ serves: "for" in intent ? intent.for : undefined },
      ...{ due: timeText("dueAt" in intent ? intent.dueAt : undefined) },
      ...{ key: "key" in intent ? intent.key : undefined },
      ...{ input: jsonText(told.input), output: jsonText(ended?.output) },
    },
  };
}

/** A deferred call that was given up before its answer came may have happened. */
function outcomeOf({ open }: Account, { intent, ended }: ToldIntent): string | undefined {
  if (ended !== undefined) return ended.as === "cancelled" && ended.stands === true ? "in_doubt" : ended.as;
  return intent.kind !== "end" && open.has(intent.id) ? "open" : undefined;
}

function nameOf(intent: DecidedIntent): string | undefined {
  if (intent.kind === "task") return intent.about;
  if (intent.kind === "end") return intent.status;
  return "name" in intent ? intent.name : undefined;
}

const otherOf = (intent: DecidedIntent): string | undefined =>
  intent.kind === "saga" || intent.kind === "signal" ? intent.saga : undefined;

function jsonText(value: Json | undefined): string | null {
  const text = value === undefined ? undefined : JSON.stringify(value);
  return text === undefined || text.length > jsonMax ? null : text;
}

/** Undefined for what is no task. */
export function taskRow(account: Account, told: ToldIntent): Row | undefined {
  const { intent, place, ended, said } = told;
  if (intent.kind !== "task") return undefined;
  const subject = intent.of === undefined ? undefined : account.intents.get(intent.of)?.intent;
  return {
    table: "tasks",
    cells: {
      ...{ saga: account.saga, intent: intent.id },
      ...{ about: intent.about, question: intent.question, asked: timeText(place.at) },
      ...{ whom: intent.to.join(", "), due: timeText(intent.dueAt), quorum: intent.quorum ?? 1 },
      tool: subject?.kind === "tool" ? subject.name : intent.tool,
      ...{ call: intent.of, digest: intent.digest },
      ...{ state: ended?.as ?? "open", ended: timeText(ended?.at) },
      ...{ said_by: ended?.from ?? said.at(-1)?.vote.by, votes: said.length },
    },
  };
}

/**
 * As it stands, or undone; undefined where it neither stands nor was undone: it did not happen after all. `effect`: as it stood
 * before it was undone.
 */
export function effectRow(account: Account, effect: StandingEffect): Row | undefined {
  const stands = account.effects.get(effect.intent);
  const undone_by = account.undone.get(effect.intent);
  if (stands === undefined && undone_by === undefined) return undefined;
  const { intent, tool, key, outcome } = stands ?? effect;
  const now = stands === undefined ? { stands: 0, undone_by } : { stands: 1 };
  return { table: "effects", cells: { saga: account.saga, intent, tool, key, outcome, ...now } };
}

/** What a call of a model has cost, as its turn told it. */
export function spendingRow(
  { saga, definition, fork }: Account,
  { at }: Pick<Turn, "at">,
  { intent, attempt, usage, usd }: Extract<Change, { type: "paid" }>,
): Row {
  const cacheRead = usage.cacheReadTokens ?? 0;
  const cacheWrite = usage.cacheWriteTokens ?? 0;
  return {
    table: "spending",
    cells: {
      ...{ saga, intent: intent.intent.id, attempt, at: timeText(at), day: timeText(at)?.slice(0, 10) },
      ...{ agent: definition.name, model: intent.intent.kind === "model" ? intent.intent.name : undefined },
      input_tokens: promptTokens(usage) - cacheRead - cacheWrite,
      ...{ cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite, output_tokens: usage.outputTokens },
      ...{ usd, inherited: fork !== undefined && fork.effects === undefined ? 1 : 0 },
    },
  };
}
