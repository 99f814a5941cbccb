/**
 * Why, decisions: what a model was asked on, what it answered, and what that cost.
 */
import { promptTokens, usdOf } from "../../../actors/kernel/spending.ts";
import type { EventOf } from "../../../protocol/event.ts";
import type { IntentOf } from "../../../protocol/intent.ts";
import type { Json } from "../../../protocol/json.ts";
import { ModelReply, type MessagePart } from "../../../protocol/model.ts";
import type { Usage } from "../../../protocol/result.ts";
import { isDecision } from "../../ledger/account-decisions.ts";
import type { News, StepPlace } from "../../ledger/account.ts";
import { ageOf, capital, eventRef, intentRef, nameOf, tell, type Telling, type Told } from "./telling.ts";
import { counted, dollarsOf, lasting, listed, outcomeWords, quoted, reasonOf, valueOf } from "./words.ts";

/** That a model was asked. */
export function tellAsked(t: Telling, at: StepPlace, intent: IntentOf<"model">): Told {
  const { id, name } = intent;
  const say = (text: string) => tell(at, "decided", text, [intentRef(id)], id);
  if (!isDecision(intent)) {
    const { summarize, prompt } = (intent.input ?? {}) as { summarize?: number; prompt?: string };
    if (typeof summarize === "number")
      return say(`A summary of the first ${counted(summarize, "message")} was asked of ${name} (${id}).`);
    return say(`The model ${name} was asked (${id}): ${quoted(prompt ?? "")}.`);
  }
  const before = t.index.superseded.get(id);
  const instead =
    before === undefined ? "" : ` It took the place of ${nameOf(t, before)}, which had not answered.`;
  return say(`${capital(nameOf(t, id))} was asked of ${name}${newsIn(t, id)}.${instead}`);
}

function newsIn(t: Telling, id: IntentOf<"model">["id"]): string {
  const shown = t.shown.get(id);
  if (shown !== undefined)
    return shown.length === 0
      ? ", told nothing new"
      : `, told ${listed(shown.map((part) => partWords(part)))}`;
  const news = (t.index.news.get(id) ?? []).map((one) => newsWords(t, one));
  if (news.length === 0) return "; nothing had come in since the decision before";
  return news.length === 1 && t.index.numbers.get(id) === 1
    ? `, on ${news[0] ?? ""}`
    : `; since the decision before there had come ${listed(news)}`;
}

function newsWords(t: Telling, { at, intent }: News): string {
  if (at.event.type === "forked") return "the fork";
  if (at.event.type === "migrated") return "the move to another definition";
  if (intent === undefined)
    return at.event.type === "signal" ? `the signal ${at.event.name} from ${at.event.from}` : "the request";
  const view = t.views.get(intent);
  if (view?.intent.kind === "denied") return `the refusal of ${nameOf(t, intent)}`;
  if (at.event.type === "task") return `${at.event.vote.by}'s word on ${nameOf(t, intent)}`;
  return at.event.type === "timer"
    ? `the firing of ${nameOf(t, intent)}`
    : `the result of ${nameOf(t, intent)}`;
}

/** With the definition: exactly what the message held. */
function partWords(part: MessagePart): string {
  switch (part.type) {
    case "text":
      return `the text ${quoted(part.text, 80)}`;
    case "result":
      return `that ${part.tool} (call ${part.call}) ${outcomeWords[part.outcome]}`;
    case "signal":
      return `the signal ${part.name} from ${part.from}`;
    case "memory":
      return `its memory, changed by ${part.by}`;
    case "instructions":
      return `new instructions from ${part.from}`;
  }
}

/** What came of asking a model. */
export function tellAnswered(
  t: Telling,
  at: StepPlace,
  event: EventOf<"result">,
  intent: IntentOf<"model">,
): Told {
  const { id } = intent;
  const say = (text: string) => tell(at, "decided", text, [eventRef(at)], id);
  const name = capital(nameOf(t, id));
  const { result } = event;
  const after = lasting(ageOf(t, id, at.at));
  if (result.outcome !== "succeeded") {
    const usage = "usage" in result ? result.usage : undefined;
    const cost = usage === undefined ? "" : ` It cost ${costWords(t, intent.name, usage)} all the same.`;
    return say(`${name} gave no answer (${result.outcome}): ${reasonOf(result)}.${cost}`);
  }
  const late = t.settled.has(id) || t.index.superseded.size === 0 ? "" : lateWord(t, at, id);
  const reply = ModelReply.safeParse(result.output);
  if (!reply.success) return say(`${name} answered after ${after}: ${valueOf(result.output)}.`);
  const { usage, text, calls, route } = reply.data;
  const asked = route === undefined ? "" : ` by ${route.asked}`;
  const words = [
    ...calls.map(({ tool, input, fault }) =>
      fault === undefined ? callWords(tool, input) : `${tool}, which cannot be read: ${fault}`,
    ),
    ...(text === undefined || text === "" ? [] : [`the words ${quoted(text)}`]),
  ];
  return say(
    `${name} was answered${asked} after ${after}, for ${costWords(t, intent.name, usage)}${late}: ${listed(words) || "nothing"}.`,
  );
}

/** A reply to a decision that another has taken the place of decides nothing. */
function lateWord({ index, decided }: Telling, { turn, step }: StepPlace, id: string): string {
  const next = [...index.superseded].find(([, before]) => before === id)?.[0];
  const place = next === undefined ? undefined : decided.get(next);
  const isLate = place !== undefined && (place.turn < turn || (place.turn === turn && place.step <= step));
  return isLate ? ", too late to count" : "";
}

/** A call as a model proposes it; the reserved ones in words. */
export function callWords(tool: string, input: Json): string {
  const said = (input ?? {}) as {
    signals?: unknown;
    forMs?: unknown;
    question?: unknown;
    calls?: unknown;
    because?: unknown;
    output?: Json;
  };
  switch (tool) {
    case "wait": {
      const signals = Array.isArray(said.signals)
        ? `for ${listed(said.signals.map(String), "or")}`
        : "for whatever comes";
      return `wait ${signals}${typeof said.forMs === "number" ? `, ${lasting(said.forMs)} at most` : ""}`;
    }
    case "ask":
      return `ask a human ${quoted(typeof said.question === "string" ? said.question : "")}`;
    case "undo":
      return `undo ${Array.isArray(said.calls) ? listed(said.calls.map((call) => `call ${String(call)}`)) : "calls"}${typeof said.because === "string" ? `, because ${quoted(said.because)}` : ""}`;
    case "finish":
      return `finish with ${valueOf(said.output)}`;
    default:
      return `call ${tool} with ${valueOf(input)}`;
  }
}

/** Tokens and, where they are known, dollars. */
export function costWords({ prices }: Telling, model: string, usage: Usage): string {
  if (promptTokens(usage) + usage.outputTokens === 0 && usage.usd === undefined)
    return "a cost that nobody reported";
  const price = prices[model];
  const usd = usage.usd ?? (price === undefined ? undefined : usdOf(usage, price));
  const tokens = `${promptTokens(usage).toLocaleString("en-US")} + ${counted(usage.outputTokens, "token")}`;
  return `${usage.estimated === true ? "about " : ""}${tokens}${usd === undefined ? "" : ` (${dollarsOf(usd)})`}`;
}
