/**
 * Why, results: how tools, sub-agents, timers and deferred calls ended.
 */
import type { EventOf } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { WhyTopic } from "../../../protocol/documents/why.ts";
import type { StepPlace } from "../../ledger/account.ts";
import { tellAnswered } from "./decisions.ts";
import { reportWords } from "./origin.ts";
import { ageOf, capital, eventRef, nameOf, tell, type Telling, type Told } from "./telling.ts";
import { counted, dateOf, dollarsOf, lasting, reasonOf, valueOf } from "./words.ts";

/** A result; undefined where it is silent (why-silent.ts). */
export function tellResult(t: Telling, at: StepPlace, event: EventOf<"result">): Told {
  const { intent: id, result } = event;
  const intent = t.views.get(id)?.intent;
  if (intent?.kind === "model") {
    const told = tellAnswered(t, at, event, intent);
    t.settled.add(id);
    return told;
  }
  const isLate = t.settled.has(id);
  const isRetried = at.intents.some((next) => next.kind === "retry" && next.id === id);
  if (!isRetried) t.settled.add(id);
  const undoes = intent !== undefined && "undoes" in intent ? intent.undoes : undefined;
  const words = outcomeWords(t, at, event, undoes);
  const used = spentWords(event);
  const late = isLate ? "A late word: " : "";
  const more = isRetried ? " It is tried again." : "";
  const text = `${words}${used}; ${reportWords(event.by)}${event.attempt > 1 ? `, of attempt ${event.attempt}` : ""}.`;
  return tell(
    at,
    topicOf(result.outcome, undoes, intent?.kind),
    `${late}${late === "" ? capital(text) : text}${more}`,
    [eventRef(at)],
    id,
  );
}

function topicOf(outcome: string, undoes: IntentId | undefined, kind: string | undefined): WhyTopic {
  if (outcome === "in_doubt") return "doubt";
  if (undoes !== undefined) return "undone";
  return kind === "saga" ? "child" : "done";
}

function outcomeWords(
  t: Telling,
  { at }: StepPlace,
  { intent, result }: EventOf<"result">,
  undoes: IntentId | undefined,
): string {
  const name = nameOf(t, intent);
  const after = lasting(ageOf(t, intent, at));
  switch (result.outcome) {
    case "succeeded":
      return undoes === undefined
        ? `${name} succeeded after ${after}: ${valueOf(result.output)}`
        : `${name} undid ${nameOf(t, undoes)} after ${after}`;
    case "failed":
      return `${name} failed after ${after}: ${reasonOf(result)}`;
    case "denied":
      return `${name} was refused after ${after}: ${reasonOf(result)}`;
    case "cancelled":
      return `${name} was cancelled after ${after}: ${reasonOf(result)}`;
    case "in_doubt":
      return `nobody knows whether ${name} happened: ${reasonOf(result)}`;
  }
}

/** Of a child's end: what it and all below it have used. */
function spentWords({ spent }: EventOf<"result">): string {
  if (spent === undefined) return "";
  const dollars = spent.usd === 0 ? "" : ` (${dollarsOf(spent.usd)})`;
  return `; with all below it, it used ${counted(spent.inputTokens + spent.outputTokens, "token")}${dollars}`;
}

export const tellDeferred = (t: Telling, at: StepPlace, { intent, dueAt }: EventOf<"deferred">): Told =>
  tell(
    at,
    "waited",
    `${capital(nameOf(t, intent))} was handed to the outside, which had until ${dateOf(dueAt)} to answer.`,
    [eventRef(at)],
    intent,
  );

/** A timer of its own, a task's deadline, or a deferred call's. */
export function tellTimer(t: Telling, at: StepPlace, { intent: id }: EventOf<"timer">): Told {
  const intent = t.views.get(id)?.intent;
  const after = lasting(ageOf(t, id, at.at));
  const say = (text: string) => tell(at, "waited", text, [eventRef(at)], id);
  if (intent?.kind === "timer") {
    const reminds = intent.for === undefined ? "" : `, to remind people of ${nameOf(t, intent.for)}`;
    return say(`${capital(nameOf(t, id))} fired after ${after}${reminds}.`);
  }
  if (intent?.kind !== "task") {
    t.settled.add(id);
    return say(`The time that the outside had to answer ${nameOf(t, id)} was over after ${after}.`);
  }
  const holds =
    intent.next !== undefined || intent.otherwise === undefined
      ? ""
      : ` What holds then: ${valueOf(intent.otherwise)}.`;
  return say(`The time for ${nameOf(t, id)} was over after ${after}, and too few had spoken.${holds}`);
}
