/**
 * Tell: a recorded conversation as the ledger of a saga, decided by the kernel from what was said and what came back.
 *
 * TL1 The ledger is a true one: its turns are what the kernel decides from the recorded replies, results and words as
 *     events, so it folds, and each request has the digest of what this definition's model would have been sent.
 * TL2 What a reply's calls brought, and what the user said before the next reply, is one turn: the model was not
 *     asked in between.
 * TL3 Nothing is made up in silence: what the recording lacks and what is not told is noted.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { describeError } from "../../protocol/errors.ts";
import type { Event } from "../../protocol/event.ts";
import { type IntentId, placeOfCall, type SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { type ModelAnswer, ModelReply } from "../../protocol/model.ts";
import type { Step } from "../../protocol/turn.ts";
import { toolName, userMessage } from "./agent.ts";
import {
  type Conversation,
  createNotes,
  type Entry,
  faultIn,
  type Notes,
  type Observed,
  type Said,
} from "./conversation.ts";

export interface ToldTurn {
  readonly turn: number;
  readonly at: number;
  readonly steps: readonly Step[];
}

export interface Told {
  readonly turns: readonly ToldTurn[];
  readonly state: SagaState;
  readonly notes: readonly string[];
}

/** The names that stand for the observers, in a ledger that no host wrote. */
export const importer = "import";

/** Where no time is recorded: turns are a second apart from here, so that the same recording gives the same bytes. */
const timeless = Date.UTC(2000, 0, 1);
const pauseMs = 1_000;

/** What ends a benchmark's conversation; the user says it, and no model was shown it. */
const closing = /###(STOP|TRANSFER|OUT-OF-SCOPE)###/;

interface Telling {
  readonly saga: SagaId;
  readonly definition: Definition;
  readonly conversation: Conversation;
  readonly notes: Notes;
  readonly turns: ToldTurn[];
  state: SagaState | undefined;
  at: number;
  /** Calls of the latest reply that have no result yet, by the recording's ids. */
  waiting: Map<string, IntentId>;
  /** Those that the kernel refused, and that were so never performed. */
  refused: Set<string>;
}

/** The ledger. Throws RECORDING_INVALID for a result that is of no call. */
export function tell(saga: SagaId, definition: Definition, conversation: Conversation): Told {
  const notes = createNotes();
  const { input, rest, at } = opened(conversation, notes);
  const t: Telling = {
    ...{ saga, definition, conversation, notes },
    turns: [],
    state: undefined,
    at: (at ?? timeless) - pauseMs,
    waiting: new Map(),
    refused: new Set(),
  };
  const { name, version, hash } = definition;
  happen(t, [{ type: "start", definition: { name, version, hash }, input }], at, 1);
  for (let next = 0; next < rest.length && !isOver(t, rest[next]);) {
    const entry = rest[next] as Entry; // Proof: next is in rest.
    if (entry.type === "reply") {
      if (t.waiting.size > 0) takeGroup(t, [], true); // Of the reply before it nothing came at all.
      takeReply(t, entry, next + 1 < rest.length);
      next += 1;
    } else {
      const to = rest.findIndex(({ type }, index) => index > next && type === "reply");
      const group = rest.slice(next, to < 0 ? rest.length : to);
      takeGroup(t, group, to >= 0);
      next += group.length;
    }
  }
  const state = t.state as unknown as SagaState; // Proof: the start was a turn.
  noteGaps(t, rest, state);
  return { turns: t.turns, state, notes: [...conversation.notes, ...notes.all()] };
}

/** The words that began it, and what followed, with replies that were cut in two put together. */
function opened(
  { entries }: Conversation,
  notes: Notes,
): { input: string; rest: Entry[]; at: number | undefined } {
  const count = entries.findIndex(({ type }) => type !== "user");
  const first = entries.slice(0, count < 0 ? entries.length : count);
  const rest: Entry[] = [];
  for (const entry of entries.slice(first.length)) {
    const before = rest.at(-1);
    if (entry.type === "reply" && before?.type === "reply" && before.reply.calls?.length === 0) {
      notes.add("two replies in a row are one", entry.place);
      rest[rest.length - 1] = joined(before, entry);
    } else rest.push(entry);
  }
  const last = rest.at(-1);
  if (last?.type === "user" && closing.test(last.text)) {
    notes.add(
      `the user's closing words are left out, which no model was shown: ${JSON.stringify(last.text.slice(0, 200))}`,
      last.place,
    );
    rest.pop();
  }
  if (first.length === 0)
    notes.add("the recording has no words before the first reply: the input is empty", 0);
  const input = first.flatMap((entry) => (entry.type === "user" ? [entry.text] : [])).join("\n\n");
  return { input, rest, at: first.at(-1)?.at };
}

function joined(first: Said, second: Said): Said {
  const text = [first.reply.text, second.reply.text]
    .filter((one) => one !== undefined && one !== "")
    .join("\n\n");
  const { blocks: _blocks, ...reply } = second.reply; // Their places are of a shorter text.
  return { ...second, reply: { ...reply, ...(text === "" ? {} : { text }) } };
}

function happen(
  t: Telling,
  events: readonly Event[],
  at: number | undefined,
  place: number,
): readonly Step[] {
  t.at = Math.max(t.at + 1, at ?? t.at + pauseMs);
  try {
    const decided = decideTurn(t.definition, t.state, { saga: t.saga, at: t.at, events });
    t.state = decided.state;
    t.turns.push({ turn: decided.state.turn, at: t.at, steps: decided.steps });
    return decided.steps;
  } catch (error) {
    throw faultIn(t.conversation.from, `message ${place} cannot be told: ${describeError(error)}`, error);
  }
}

const openModel = (state: SagaState | undefined): IntentId | undefined =>
  Object.values(state?.open ?? {}).findLast(({ intent }) => intent.kind === "model")?.intent.id;

/** What the recording goes on with after the saga's end is no part of it. */
function isOver({ state, notes }: Telling, next: Entry | undefined): boolean {
  const isEnded = state !== undefined && (state.phase.kind === "ended" || state.phase.kind === "ending");
  if (isEnded && next !== undefined)
    notes.add("the saga ends before it; what follows is left out", next.place);
  return isEnded;
}

/** A reply that only says something, and is not the last word, waits for the user: here that is a call. */
function takeReply(t: Telling, { reply, ids, place, at }: Said, goesOn: boolean): void {
  const intent = openModel(t.state);
  if (intent === undefined)
    throw faultIn(t.conversation.from, `message ${place}: a reply that nothing asked for`);
  const waits = goesOn && (reply.calls ?? []).length === 0 && reply.text !== undefined;
  if (waits) t.notes.add("a reply that only speaks and is answered is told with a call of wait", place);
  const said = ModelReply.parse({
    ...reply,
    calls: waits
      ? [waitForUser]
      : (reply.calls ?? []).map((call) => ({ ...call, tool: toolName(call.tool) })),
  } satisfies ModelAnswer);
  const result = { outcome: "succeeded", output: said as unknown as Json } as const;
  const steps = happen(t, [{ type: "result", intent, attempt: 1, by: importer, result }], at, place);
  const started = new Map(
    steps.flatMap(({ intents }) =>
      intents.flatMap((one): [number, IntentId][] =>
        one.kind === "tool" && one.call !== undefined ? [[placeOfCall(one.call), one.id]] : [],
      ),
    ),
  );
  t.waiting = new Map(ids.flatMap((id, k) => pairOf(id, started.get(k))));
  t.refused = new Set(ids.filter((_, k) => !started.has(k)));
}

const waitForUser = { tool: "wait", input: { signals: [userMessage] } };
const pairOf = <T>(id: string, value: T | undefined): [string, T][] =>
  value === undefined ? [] : [[id, value]];

/** TL2. Of a call that has no result though the model was asked again, it is told that there was none. */
function takeGroup(t: Telling, group: readonly Entry[], goesOn: boolean): void {
  const events: Event[] = [];
  for (const entry of group) if (entry.type === "result") events.push(...resultOf(t, entry));
  if (goesOn)
    for (const [id, intent] of t.waiting) {
      t.notes.add(`the result of a call is missing: it failed`, group[0]?.place ?? 0);
      events.push(failure(intent, `the recording holds no result of the call ${id}`));
    }
  if (goesOn) t.waiting = new Map();
  for (const entry of group)
    if (entry.type === "user")
      events.push({
        type: "signal",
        name: userMessage,
        data: { text: entry.text },
        id: `message-${entry.place}`,
        from: "user",
        sentAt: entry.at ?? t.at + pauseMs,
      });
  if (events.length > 0)
    happen(t, events, group.findLast(({ at }) => at !== undefined)?.at, group[0]?.place ?? 0);
}

function resultOf(t: Telling, { id, output, isError, place }: Observed): Event[] {
  const intent = t.waiting.get(id);
  if (intent === undefined && t.refused.delete(id)) {
    t.notes.add("the result of a call that cannot be read here is left out", place);
    return [];
  }
  if (intent === undefined)
    throw faultIn(
      t.conversation.from,
      `message ${place}: a result of the call ${id}, which was not made just before, or has one`,
    );
  t.waiting.delete(id);
  if (!isError)
    return [{ type: "result", intent, attempt: 1, by: importer, result: { outcome: "succeeded", output } }];
  t.notes.add("a result that says it is an error is a failure", place);
  return [failure(intent, typeof output === "string" ? output : JSON.stringify(output))];
}

const failure = (intent: IntentId, reason: string): Event => ({
  type: "result",
  intent,
  attempt: 1,
  by: importer,
  result: { outcome: "failed", code: "TOOL_FAILED", reason, retry: false },
});

/** TL3. */
function noteGaps({ notes }: Telling, rest: readonly Entry[], state: SagaState): void {
  const replies = rest.filter((entry) => entry.type === "reply");
  if (!rest.some(({ at }) => at !== undefined))
    notes.add("no times are recorded: each turn is told a second after the one before, from 2000-01-01", 0);
  const unpriced = replies.filter(({ hasUsage }) => !hasUsage).length;
  if (unpriced > 0)
    notes.add(`what ${unpriced} of ${replies.length} replies used is not recorded, and counts as nothing`, 0);
  if (replies.some(({ reply }) => hasOpaque(reply)))
    notes.add(
      "thinking and what else only its provider reads is kept, and is sent to no model: here other text stands before it",
      0,
    );
  if (state.phase.kind === "running") notes.add("it ends in the middle, and so the saga still runs", 0);
}

const hasOpaque = ({ blocks = [] }: ModelAnswer): boolean =>
  blocks.some(({ kind, message }) => kind === "verbatim" || message !== undefined);
