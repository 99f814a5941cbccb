/**
 * Why, people: what they were asked, and what each of them said, when and in which role.
 */
import type { EventOf } from "../../../protocol/event.ts";
import type { IntentOf } from "../../../protocol/intent.ts";
import { isReserved } from "../../../actors/contract/reserved-signals.ts";
import type { StepPlace } from "../../ledger/account.ts";
import { ageOf, capital, eventRef, intentRef, nameOf, tell, type Telling, type Told } from "./telling.ts";
import { dateOf, lasting, listed, quoted, valueOf } from "./words.ts";

/** That people were asked. */
export function tellTask(t: Telling, at: StepPlace, intent: IntentOf<"task">): Told {
  const { id, about, question, to, quorum = 1, dueAt, tool, after, of, digest, rewrittenBy } = intent;
  const whom = to.length === 0 ? "anybody" : listed(to, "or");
  const many = quorum === 1 ? "" : `, ${quorum} of them,`;
  const until = `until ${dateOf(dueAt)}`;
  const follows = followsWords(t, after);
  const say = (text: string) =>
    tell(
      at,
      about === "doubt" ? "doubt" : "people",
      follows === "" ? capital(text) : `${follows}${text}`,
      [intentRef(id)],
      id,
    );
  if (about === "approval") {
    const rewritten = rewrittenBy === undefined ? "" : `, as the policy ${rewrittenBy} had rewritten it`;
    const seen = digest === undefined ? "" : `; the arguments' digest is ${digest.slice(0, 12)}`;
    const input = valueOf(t.views.get(id)?.input);
    return say(
      `${whom}${many} had ${until} to approve (${id}) the call of ${tool ?? "a tool"} with ${input}${rewritten}${seen}.`,
    );
  }
  const ofWhat = of === undefined ? "" : ` about ${nameOf(t, of)}`;
  return say(`${whom}${many} was asked${ofWhat} (${id}), ${until}: ${quoted(question, 300)}.`);
}

function followsWords(t: Telling, after: IntentOf<"task">["after"]): string {
  if (after === undefined) return "";
  return after.because === "edit"
    ? `As ${after.by ?? "somebody"} had changed the arguments, `
    : `As too few had spoken in time on ${nameOf(t, after.task)}, `;
}

/** What a person, or a saga in their place, said of a task. */
export function tellVote(t: Telling, at: StepPlace, { intent: id, vote }: EventOf<"task">): Told {
  const intent = t.views.get(id)?.intent;
  const { by, as, reason, digest } = vote;
  const who = `${by}${as === undefined ? "" : `, as ${as},`}`;
  const when = `${lasting(ageOf(t, id, at.at))} after it was asked`;
  const why = reason === undefined ? "" : `: ${quoted(reason)}`;
  const seen = digest === undefined ? "" : ` The vote is for the arguments ${digest.slice(0, 12)}.`;
  const signed =
    vote.signature === undefined ? "" : " It carries a signature, which `sagamesh verify` checks.";
  return tell(
    at,
    "people",
    `${who} ${saidWords(t, id, intent, vote)}, ${when}${why}.${seen}${signed}`,
    [eventRef(at)],
    id,
  );
}

function saidWords(
  t: Telling,
  id: IntentOf<"task">["id"],
  intent: { kind: string } | undefined,
  { vote, by, answer, input }: EventOf<"task">["vote"],
): string {
  const name = nameOf(t, id);
  const task = intent?.kind === "task" ? (intent as IntentOf<"task">) : undefined;
  switch (vote) {
    case "approve": {
      const said = t.approvals.get(id) ?? new Set<string>();
      t.approvals.set(id, said.add(by));
      const quorum = task?.quorum ?? 1;
      const of = quorum === 1 ? "" : ` (${said.size} of ${quorum})`;
      return `approved ${task?.tool === undefined ? name : `${task.tool}, ${name}`}${of}`;
    }
    case "deny":
      return `refused ${task?.tool === undefined ? name : `${task.tool}, ${name}`}`;
    case "edit":
      return `changed the arguments of ${task?.tool ?? "the call"}, ${name}, to ${valueOf(input)}`;
    case "answer":
      return `answered ${name} with ${valueOf(answer)}`;
  }
}

/** What came in from outside by name. */
export function tellSignal(
  t: Telling,
  at: StepPlace,
  { name, data, from, sentAt, to }: EventOf<"signal">,
): Told {
  const wait = at.at - sentAt;
  const late = wait < 60_000 ? "" : ` It had been sent ${lasting(wait)} before.`;
  const meant = to === undefined ? "" : ` It was meant for ${to}.`;
  const { reason } = (typeof data === "object" && data !== null ? data : {}) as { reason?: unknown };
  const why = typeof data === "string" ? data : typeof reason === "string" ? reason : undefined;
  const words = isReserved(name) ? reservedWords[name] : undefined;
  if (name === "cancel")
    t.calledOff ??= `${from} had called the saga off${why === undefined ? "" : `: ${quoted(why)}`}`;
  const said = data === null ? "" : `: ${why === undefined ? valueOf(data) : quoted(why)}`;
  const text =
    words === undefined ? `The signal ${name} came from ${from}${said}.` : `${from} ${words}${said}.`;
  return tell(at, name === "budget" ? "budget" : "signal", `${text}${late}${meant}`, [eventRef(at)]);
}

const reservedWords: Readonly<Record<string, string>> = {
  cancel: "called the saga off",
  pause: "paused the saga",
  resume: "let the saga go on",
  flagged: "flagged the saga",
  budget: "raised the budget by the signal budget",
  instruct: "gave new instructions",
};
