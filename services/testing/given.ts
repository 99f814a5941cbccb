/**
 * Given, when, then over ledgers: a saga tested by what came in and what it decided, without a clock, a mock or
 * an await.
 *
 *   given(bookTrip, started(trip), succeeded("book_flight", { bookingId: "F1" }))
 *     .when(failed("book_hotel", { code: "FULL", retry: false }))
 *     .then({ kind: "tool", name: "cancel_booking", undoes: "1-1" });
 *
 * Each argument is one turn; an array is one turn of several events. An intent is named by its id, or by the
 * tool, timer, task or call that is open under that name.
 *
 * GN1 Every turn goes through the ledger's own schema and text, and is folded a second time onto a state that was
 *     put to rest and revived: a test of anything is a test of replay, too.
 */
import { AssertionError } from "node:assert";
import { accept, type Acceptance } from "../../actors/kernel/accept.ts";
import type { Definition, SagaDefinition } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { foldTurn, stateFromJson, stateToJson } from "../../actors/kernel/replay.ts";
import { type OpenIntent, type SagaState, isOpen } from "../../actors/contract/state.ts";
import { contentTypes, decodeOwn, encodeJson } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import type { Event, Vote } from "../../protocol/event.ts";
import { IntentId, parseSagaId } from "../../protocol/ids.ts";
import type { Intent, IntentOf } from "../../protocol/intent.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import type { ModelMessage, ModelAnswer } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import { ledgerVersion, toStored, Turn } from "../../protocol/turn.ts";
import { holdsAll, shownLike, tellTurns } from "./story-shown.ts";

/** An event, or one that is known once it is known what is open. */
export type Happening = Event | ((story: Story) => Event);
/** One turn. */
export type Given = Happening | readonly Happening[];
/** What an intent must hold; members that are not named may be anything, and a text may be a pattern. */
export type Expected = Partial<Record<string, unknown>> & { readonly kind: Intent["kind"] };

export interface Options {
  /** Milliseconds since the epoch of the turn; one second after the turn before it unless given. */
  readonly at?: number;
}

/** A ledger so far, and what its last turn decided. */
export interface Story {
  readonly definition: Definition;
  readonly turns: readonly Turn[];
  readonly messages: readonly ModelMessage[];
  /** Throws before the first turn. */
  readonly state: SagaState;
  /** Intents of the last turn, in order; none if its event became no turn. */
  readonly intents: readonly Intent[];
  /** What the door said of the last event that came alone. */
  readonly acceptance: Acceptance["type"];
  /** The end, if the last turn or one before it recorded one. */
  readonly end: IntentOf<"end"> | undefined;
  /** Ids of all open intents. */
  readonly open: readonly IntentId[];
  /** The open intent of this name: a tool, a child, a timer, a task by what it is about, a call, or a kind. */
  intent(name: string): IntentId;
  /** Lets one more turn happen. */
  when(given: Given, options?: Options): Story;
  /** The last turn decided exactly these intents, in this order. */
  then(...expected: readonly Expected[]): Story;
  /** The last event was recorded and decided nothing. */
  thenNothing(): Story;
  /** The door refused the last event, with this code, and nothing was recorded. */
  thenRefused(code: string): Story;
  /** The door knew the last event, takes its own view for old, or finds its task over, and nothing was recorded. */
  thenNotTaken(as: "known" | "stale" | "taken" | "over"): Story;
}

/** The time of a story's first turn. */
export const storyBegan = Date.UTC(2026, 0, 1);

/** A ledger made of these turns. The first is usually `started(input)`. */
export function given(saga: SagaDefinition | Definition, ...past: readonly Given[]): Story {
  const definition = "definition" in saga ? saga.definition : saga;
  const nothing: Ledger = {
    definition,
    turns: [],
    messages: [],
    state: undefined,
    prev: "",
    last: undefined,
  };
  return past.reduce<Story>((story, turn) => story.when(turn), storyOf(nothing));
}

interface Ledger {
  readonly definition: Definition;
  readonly turns: readonly Turn[];
  readonly messages: readonly ModelMessage[];
  readonly state: SagaState | undefined;
  readonly prev: string;
  readonly last: { readonly acceptance: Acceptance; readonly intents: readonly Intent[] } | undefined;
}

function storyOf(ledger: Ledger): Story {
  const { definition, turns, messages, last } = ledger;
  const recorded = turns.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents));
  const expectThat = (holds: boolean, what: string, expected: unknown, actual: unknown): Story => {
    if (!holds)
      throw new AssertionError({
        message: `${what}\n\n${tellTurns(turns)}`,
        expected,
        actual,
        operator: "deepStrictEqual",
      });
    return story;
  };
  const accepted = (type: Acceptance["type"]): Story =>
    expectThat(last?.acceptance.type === type, `the input was not ${type}`, type, describe(last?.acceptance));
  const story: Story = {
    definition,
    turns,
    messages,
    get state() {
      if (ledger.state === undefined)
        throw new Error("the story has not begun: its first turn is started(input)");
      return ledger.state;
    },
    intents: last?.intents ?? [],
    acceptance: last?.acceptance.type ?? "new",
    end: recorded.findLast((intent) => intent.kind === "end"),
    open: Object.keys(ledger.state?.open ?? {}) as IntentId[],
    intent: (name) => named(ledger, name),
    when: (turn, options) => storyOf(proceed(ledger, story, turn, options)),
    then: (...expected) => {
      accepted("new");
      const intents = last?.intents ?? [];
      const holds =
        intents.length === expected.length && expected.every((one, k) => holdsAll(intents[k], one));
      return expectThat(
        holds,
        "the turn decided otherwise",
        expected,
        intents.map((one, k) => shownLike(one, expected[k])),
      );
    },
    thenNothing: () => story.then(),
    thenRefused: (code) => {
      accepted("refused");
      const got = last?.acceptance.type === "refused" ? last.acceptance.error.code : undefined;
      return expectThat(got === code, "the input was refused for another reason", code, got);
    },
    thenNotTaken: accepted,
  };
  return story;
}

function proceed(ledger: Ledger, story: Story, turn: Given, options: Options = {}): Ledger {
  const happenings = (Array.isArray(turn) ? turn : [turn]) as readonly Happening[];
  const told = happenings.map((one) => (typeof one === "function" ? one(story) : one));
  const at = options.at ?? (ledger.turns.at(-1)?.at ?? storyBegan - 1_000) + 1_000;
  const judged = told.map((event): Acceptance => judge(ledger, event, at));
  const events = judged.flatMap((one) => (one.type === "new" ? [one.event] : []));
  const [first] = judged;
  if (events.length === 0)
    return { ...ledger, last: { acceptance: first ?? { type: "known" }, intents: [] } };
  return append(
    ledger,
    at,
    events,
    judged.find(({ type }) => type !== "new") ?? { type: "new", event: events[0] as Event },
  );
}

const judge = ({ definition, state }: Ledger, event: Event, now: number): Acceptance =>
  state === undefined ? { type: "new", event } : accept(definition, state, event, now);

/** GN1 */
function append(ledger: Ledger, at: number, events: readonly Event[], acceptance: Acceptance): Ledger {
  const { definition, state } = ledger;
  const saga = state?.saga ?? parseSagaId("saga-1");
  const decided = decideTurn(definition, state, { saga, at, events });
  const { steps } = decided;
  const bytes = encodeJson(
    toStored({
      v: ledgerVersion,
      saga,
      turn: decided.state.turn,
      at,
      host: "given",
      prev: ledger.prev,
      steps,
    }),
  );
  const turn = Turn.parse(decodeOwn(bytes, contentTypes.json));
  const rested =
    state === undefined ? undefined : stateFromJson(definition, throughText(stateToJson(definition, state)));
  const folded = foldTurn(definition, rested, turn);
  const [live, again] = [decided.state, folded.state].map((one) =>
    canonicalJson(stateToJson(definition, one)),
  );
  if (live !== again)
    throw new AssertionError({
      message: `turn ${turn.turn} folds otherwise from a state at rest`,
      expected: live,
      actual: again,
    });
  return {
    definition,
    turns: [...ledger.turns, turn],
    messages: [...ledger.messages, ...folded.said],
    state: decided.state,
    prev: chainHash(bytes),
    last: { acceptance, intents: turn.steps.flatMap(({ intents }) => intents) },
  };
}

const throughText = (value: Json): Json => JSON.parse(JSON.stringify(value)) as Json;

function named({ state, turns }: Ledger, name: string): IntentId {
  if (IntentId.safeParse(name).success) return name as IntentId;
  const open = Object.values(state?.open ?? {});
  const found = open.find((one) => namesOf(one).includes(name));
  if (found !== undefined) return found.intent.id;
  const names = open.map((one) => `${one.intent.id} (${namesOf(one).join(", ")})`);
  throw new Error(
    `nothing open is named "${name}" after turn ${turns.length}; open: ${names.join("; ") || "nothing"}`,
  );
}

const namesOf = (open: OpenIntent): string[] => {
  const { intent, actor } = open;
  return [
    "name" in intent ? intent.name : undefined,
    intent.kind === "task" ? intent.about : undefined,
    isOpen(open, "timer") ? open.timer : undefined,
    actor,
    isOpen(open, "task") ? open.call?.actor : undefined,
    intent.kind,
  ].filter((name) => name !== undefined);
};

const describe = (acceptance: Acceptance | undefined): string | undefined =>
  acceptance?.type === "refused" ? `refused: ${acceptance.error.message}` : acceptance?.type;

/** The saga starts. */
export const started =
  (input: unknown, parent?: { saga: string; intent: string }): Happening =>
  ({ definition: { name, version, hash } }) => ({
    type: "start",
    definition: { name, version, hash },
    input: toJson(input),
    follows: "xstate",
    causes: true,
    errorNames: true,
    ...(parent === undefined ? {} : { parent: parent as Extract<Event, { type: "start" }>["parent"] }),
  });

/** A signal from outside; the same `id` again is the same signal. */
export const signalled =
  (
    signal: string,
    data: unknown = null,
    options: { id?: string; from?: string; sentAt?: number } = {},
  ): Happening =>
  ({ turns }) => ({
    type: "signal",
    name: signal,
    data: toJson(data),
    id: options.id ?? `${signal}-${turns.length}`,
    from: options.from ?? "outside",
    sentAt: options.sentAt ?? turns.at(-1)?.at ?? storyBegan,
  });

/** A result of the open intent's present attempt, or of the attempt given. */
export const resulted =
  (intent: string, result: Result, attempt?: number): Happening =>
  (story) => {
    const id = story.intent(intent);
    return {
      type: "result",
      intent: id,
      attempt: attempt ?? story.state.open[id]?.attempt ?? 1,
      by: "somebody",
      result,
    };
  };

/** The result of a call that succeeded, with its output. */
export const succeeded = (intent: string, output: unknown = null, attempt?: number): Happening =>
  resulted(intent, { outcome: "succeeded", output: toJson(output) }, attempt);

/** A failure; without `retry: false` it may be tried again. */
export const failed = (
  intent: string,
  why: Partial<Omit<Extract<Result, { outcome: "failed" }>, "outcome">> = {},
  attempt?: number,
): Happening =>
  resulted(intent, { outcome: "failed", code: "TOOL_FAILED", reason: "it failed", ...why }, attempt);

/** The result of an effect of which it is unknown whether it happened. */
export const inDoubt = (intent: string, reason = "nobody reported", attempt?: number): Happening =>
  resulted(intent, { outcome: "in_doubt", code: "IN_DOUBT", reason }, attempt);

/** The result of a call that was called off. */
export const cancelled = (intent: string, reason = "its claim was won", attempt?: number): Happening =>
  resulted(intent, { outcome: "cancelled", code: "CANCELLED", reason }, attempt);

/** The performer hands the matter to the outside. */
export const deferred =
  (intent: string, withinMs: number, attempt?: number): Happening =>
  (story) => {
    const id = story.intent(intent);
    const dueAt = (story.turns.at(-1)?.at ?? storyBegan) + withinMs;
    return { type: "deferred", intent: id, attempt: attempt ?? story.state.open[id]?.attempt ?? 1, dueAt };
  };

/** A timer falls due, or the deadline of a task or of a deferred call. */
export const fired =
  (intent: string): Happening =>
  (story) => ({ type: "timer", intent: story.intent(intent) });

/** A human speaks. */
export const voted =
  (
    task: string,
    vote: Vote["vote"],
    options: {
      by?: string;
      /** The role in which they speak. */
      as?: string;
      answer?: unknown;
      /** The arguments that an edit puts in the place of the model's. */
      input?: unknown;
      digest?: string;
      reason?: string;
      id?: string;
    } = {},
  ): Happening =>
  (story) => ({
    type: "task",
    intent: story.intent(task),
    id: options.id ?? `vote-${story.turns.length}`,
    vote: {
      vote,
      by: options.by ?? "somebody",
      ...(options.as === undefined ? {} : { as: options.as }),
      ...(options.digest === undefined ? {} : { digest: options.digest }),
      ...(options.reason === undefined ? {} : { reason: options.reason }),
      ...(options.input === undefined ? {} : { input: toJson(options.input) }),
      ...(options.answer === undefined ? {} : { answer: toJson(options.answer) }),
    },
  });

/** The model replies to the open decision. */
export const replied = (answer: Partial<ModelAnswer>): Happening =>
  succeeded("model", { model: "scripted", ...answer });
