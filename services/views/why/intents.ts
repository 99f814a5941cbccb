/**
 * Why, intents: what was to be done, and by whose leave; and how it ended.
 */
import type { IntentId } from "../../../protocol/ids.ts";
import type { Intent, IntentOf } from "../../../protocol/intent.ts";
import type { WhyTopic } from "../../../protocol/documents/why.ts";
import type { Begun } from "../../../protocol/turn.ts";
import type { StepPlace } from "../../ledger/account.ts";
import { describePlace } from "../children.ts";
import type { Place } from "../ledger-index.ts";
import { tellAsked } from "./decisions.ts";
import { tellTask } from "./people.ts";
import { begunRef, capital, intentRef, nameOf, retryRef, tell, type Telling, type Told } from "./telling.ts";
import { undoCause } from "./undoing.ts";
import { dateOf, lasting, listed, quoted, reasonOf, valueOf } from "./words.ts";

export function tellIntent(t: Telling, at: StepPlace, intent: Intent): Told {
  const { id } = intent;
  const say = (about: WhyTopic, text: string) => tell(at, about, text, [intentRef(id)], id);
  switch (intent.kind) {
    case "model":
      return tellAsked(t, at, intent);
    case "tool":
      return tellTool(t, at, intent);
    case "task":
      return tellTask(t, at, intent);
    case "saga":
      return say("child", childWords(t, at, intent));
    case "timer":
      return say(
        "waited",
        `A timer was set (${id}) for ${dateOf(intent.dueAt)}, ${lasting(intent.dueAt - at.at)} later${intent.for === undefined ? "" : `, to remind people of ${nameOf(t, intent.for)}`}.`,
      );
    case "signal":
      return say(
        "signal",
        `It sent the signal ${intent.name} to ${intent.saga} (${id})${proposedWords(t, id)}.`,
      );
    case "pause":
      return say("signal", `It paused itself (${id}), flagged by ${intent.by}: ${quoted(intent.reason)}.`);
    case "denied":
      return say("refused", deniedWords(t, intent));
    case "retry":
      return tellRetry(t, at, intent);
    case "end":
      return say("end", endWords(intent));
  }
}

/** A child whose place has come. */
export function tellBegun(t: Telling, at: StepPlace, { intent }: Begun): Told {
  return tell(
    at,
    "child",
    `${capital(nameOf(t, intent))} stood in line and begins.`,
    [begunRef(intent)],
    intent,
  );
}

function tellTool(t: Telling, at: StepPlace, intent: IntentOf<"tool">): Told {
  const { id, name, key, undoes, for: served } = intent;
  const input = valueOf(t.views.get(id)?.input);
  const say = (about: WhyTopic, text: string) => tell(at, about, text, [intentRef(id)], id);
  if (served !== undefined)
    return say("people", `${name} was to tell people of ${nameOf(t, served)} (${id}).`);
  if (undoes !== undefined)
    return say(
      "undone",
      `${capital(nameOf(t, undoes))} was to be undone by ${name} with ${input} (${id}), under the effect key ${key}: ${undoCause(t, at, id)}.`,
    );
  return say(
    "done",
    `${capital(name)} was to be done with ${input} (${id}), under the effect key ${key}${leaveWords(t, id, intent)}.`,
  );
}

/** By whose leave, and with whose arguments. */
function leaveWords(
  t: Telling,
  id: IntentId,
  { call, rewrittenBy, input }: IntentOf<"tool"> | IntentOf<"saga">,
): string {
  const place = t.index.places.get(id);
  const task = place === undefined ? undefined : approvedBy(t, place);
  const about = task === undefined ? undefined : t.views.get(task)?.intent;
  const editedBy = about?.kind === "task" ? about.after?.by : undefined;
  // A workflow's call has its arguments from the node, and no model's.
  const isModels = call !== undefined && place?.proposedBy !== undefined;
  const isOther = input !== undefined && (isModels || editedBy !== undefined);
  return [
    proposedWords(t, id),
    ...(task === undefined ? [] : [`, approved as ${nameOf(t, task)}`]),
    ...(rewrittenBy === undefined ? [] : [`, as the policy ${rewrittenBy} had rewritten it`]),
    ...(isOther && rewrittenBy === undefined
      ? [
          `, with the arguments that ${editedBy ?? "a human"} had put in the place of ${isModels ? "the model's" : "its own"}`,
        ]
      : []),
  ].join("");
}

function proposedWords(t: Telling, id: IntentId): string {
  const place = t.index.places.get(id);
  if (place?.proposedBy !== undefined) return `, as ${nameOf(t, place.proposedBy)} had proposed`;
  const call = place !== undefined && "call" in place.intent ? place.intent.call : undefined;
  return call === undefined ? "" : `, for the node ${call.slice(0, call.lastIndexOf("."))}`;
}

/** The approval that let a call through, by the event that it was decided on. */
export function approvedBy(t: Telling, { event, intent }: Place): IntentId | undefined {
  if ((intent.kind !== "tool" && intent.kind !== "saga") || intent.undoes !== undefined) return undefined;
  if (intent.for !== undefined) return undefined; // It serves a task, and no policy judges it.
  const about = "intent" in event ? t.views.get(event.intent)?.intent : undefined;
  const task = about?.kind === "saga" && about.for !== undefined ? t.views.get(about.for)?.intent : about;
  return task?.kind === "task" && task.about === "approval" ? task.id : undefined;
}

function childWords(t: Telling, at: StepPlace, intent: IntentOf<"saga">): string {
  const { id, name, saga, undoes, for: served, budget } = intent;
  const read = `\`sagamesh why ${saga}\` tells its story`;
  if (undoes !== undefined)
    return `${capital(nameOf(t, undoes))} was told to undo what it had done (${id}): ${undoCause(t, at, id)}; ${read}.`;
  if (served !== undefined)
    return `The saga ${saga} of ${name} was to speak first on ${nameOf(t, served)} (${id}); ${read}.`;
  const limits = Object.entries(budget ?? {}).map(([what, amount]) => `${amount} ${what}`);
  const slice = limits.length === 0 ? "" : `, with a slice of the budget: ${listed(limits)}`;
  const place = t.views.get(id)?.inLine;
  const waits = place === undefined ? "" : `; it is ${describePlace(place)}`;
  const when = intent.inLine === true ? " when there is a place for it" : "";
  return `The sub-agent ${name} was to be started${when} as ${saga} (${id}) with ${valueOf(t.views.get(id)?.input)}${leaveWords(t, id, intent)}${slice}${waits}; ${read}.`;
}

function deniedWords(t: Telling, { id, name, code, reason, for: served }: IntentOf<"denied">): string {
  if (served !== undefined)
    return `${capital(name)} could not serve ${nameOf(t, served)} (${id}): ${reasonOf({ code, reason })}.`;
  const [, policy, why] = code === "POLICY_DENIED" ? (/^policy (.+?): (.*)$/s.exec(reason) ?? []) : [];
  if (policy !== undefined) return `The policy ${policy} refused the call of ${name} (${id}): ${why ?? ""}.`;
  if (code === "SIGNAL_NOT_TAKEN")
    return `The signal ${name} was dropped (${id}): ${reason}; \`whenEarly\` of the definition may keep it.`;
  return `The call of ${name} was refused (${id}): ${reasonOf({ code, reason })}.`;
}

function tellRetry(t: Telling, at: StepPlace, { id, attempt, notBefore, ask }: IntentOf<"retry">): Told {
  const isAdopted = at.event.type === "adopted";
  const wait = notBefore - at.at;
  const lost = isAdopted
    ? `; what became of the attempt before, which another incarnation may have begun, the ledger does not say`
    : "";
  const asks = ask === undefined ? "" : `, asking ${ask}`;
  const text = `Attempt ${attempt} of ${nameOf(t, id)} was to follow${wait <= 0 ? " at once" : `, ${lasting(wait)} later at the earliest`}${asks}${lost}.`;
  return tell(at, "recovery", text, [retryRef(id, attempt)], id);
}

function endWords({ id, status, output, code, reason, standing }: IntentOf<"end">): string {
  const how =
    status === "completed"
      ? `completed with ${valueOf(output, 300)}`
      : `${status}: ${reasonOf({ code, reason }) || "no reason was given"}`;
  const left =
    standing.length === 0
      ? ""
      : ` ${status === "completed" ? "In doubt" : "Not undone"}: ${listed(standing)}.`;
  return `The saga ended (${id}), ${how}.${left}`;
}
