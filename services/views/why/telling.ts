/**
 * Why, telling: what every part of the story is given, and the form of its sentences.
 */
import type { ModelPrices } from "../../../protocol/budget.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { MessagePart } from "../../../protocol/model.ts";
import type { WhySentence, WhyTopic } from "../../../protocol/documents/why.ts";
import { oneLine } from "../graph/text.ts";
import type { Json } from "../../../protocol/json.ts";
import type { DecidedIntent, StepPlace } from "../../ledger/account.ts";
import type { LedgerIndex, Place } from "../ledger-index.ts";
import type { SagaView } from "../view.ts";

/** A sentence, and what of the ledger it tells. */
export interface Told extends WhySentence {
  readonly tells: readonly string[];
}

/** What a sentence says of an intent that it names. */
export interface Known {
  /** Of one that is over a part: what it is called, and what it is about. */
  readonly intent: DecidedIntent;
  /** Found in the model's reply where the intent only names the call; of one that is long over undefined. */
  readonly input: Json | undefined;
  /** Of a child that has no place when the ledger ends: how many begin before it, and it. */
  readonly inLine: number | undefined;
}

/** What is looked up by an intent's id. */
interface By<T> {
  get(id: IntentId): T | undefined;
}

export interface Telling {
  /** Of a fork, where it comes from. */
  readonly fork: SagaView["fork"];
  readonly views: By<Known>;
  /** Where an intent was decided, which is not known for ever, and what the account has of decisions. */
  readonly index: Pick<LedgerIndex, "numbers" | "news" | "superseded"> & { readonly places: By<Place> };
  /** When an intent was decided. */
  readonly decided: By<Pick<StepPlace, "turn" | "step" | "at">>;
  readonly prices: ModelPrices;
  /** What the last message before a decision held; only with the definition. */
  readonly shown: By<readonly MessagePart[]>;
  /** Votes that counted so far, by task. */
  readonly approvals: Map<IntentId, Set<string>>;
  /** Intents whose first definite word is in. */
  readonly settled: Set<IntentId>;
  /** What an undoing began with, by the intent that undoes. */
  readonly undoing: Map<IntentId, string>;
  /** Who called the saga off, and why, as a clause; undefined while it runs. */
  calledOff: string | undefined;
}

/** What a sentence may tell: an event, an intent, that it left the line, or a later attempt of one. */
export const eventRef = ({ turn, step }: Pick<StepPlace, "turn" | "step">): string => `event ${turn}.${step}`;
export const intentRef = (id: IntentId): string => `intent ${id}`;
export const begunRef = (id: IntentId): string => `begun ${id}`;
export const retryRef = (id: IntentId, attempt: number): string => `attempt ${id}#${attempt}`;

export const tell = (
  { turn, at }: Pick<StepPlace, "turn" | "at">,
  about: WhyTopic,
  text: string,
  tells: readonly string[],
  intent?: IntentId,
): Told => ({ turn, at, about, text: oneLine(text), tells, ...(intent === undefined ? {} : { intent }) });

/** An intent in a few words, with its id. */
export function nameOf({ views, index }: Telling, id: IntentId): string {
  const view = views.get(id);
  if (view === undefined) return id;
  const { intent } = view;
  switch (intent.kind) {
    case "tool":
    case "saga":
    case "denied":
      return `${intent.name} (${id})`;
    case "model": {
      const number = index.numbers.get(id);
      return number !== undefined
        ? `decision ${number} (${id})`
        : `the call of the model ${intent.name} (${id})`;
    }
    case "task":
      return `the ${intent.about === "stuck" ? "task about what could not be undone" : intent.about} (${id})`;
    case "timer":
      return `the timer (${id})`;
    case "signal":
      return `the signal ${intent.name} to ${intent.saga} (${id})`;
    case "pause":
      return `the pause (${id})`;
    case "end":
      return `the end (${id})`;
  }
}

/** How long an intent had been there when something happened. */
export const ageOf = ({ decided }: Telling, id: IntentId, at: number): number =>
  at - (decided.get(id)?.at ?? at);

/** A sentence's first word, unless it is the name of a person or a tool. */
export const capital = (text: string): string =>
  /^(?:the|a|decision|anybody|nobody) /.test(text) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text;
