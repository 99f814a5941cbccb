/**
 * Why, sum: what a story comes to.
 */
import type { IntentId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { IntentView } from "../view.ts";
import { tellHosts } from "./hosts.ts";
import { approvedBy } from "./intents.ts";
import { reportWords } from "./origin.ts";
import { capital, nameOf, tell, type Telling, type Told } from "./telling.ts";
import { counted, dateOf, dollarsOf, lasting, listed, outcomeWords } from "./words.ts";

export function sumOf(t: Telling, turns: readonly Turn[]): Told[] {
  const last = turns.at(-1);
  if (last === undefined) return [];
  return [
    ...costs(t, last),
    ...waits(t, last),
    ...refusals(t, last),
    ...leaves(t, last),
    ...tellHosts(turns),
    ...retries(t, last),
    ...remains(t, last),
  ];
}

function costs({ view }: Telling, last: Turn): Told[] {
  const { spent, below } = view;
  const { steps, inputTokens, outputTokens, usd, toolCalls, children } = spent;
  const words = [
    counted(steps, "decision"),
    `${inputTokens.toLocaleString("en-US")} + ${counted(outputTokens, "token")}`,
    ...(usd === 0 ? [] : [dollarsOf(usd)]),
    counted(toolCalls, "call") + " of tools",
    ...(children === 0 ? [] : [counted(children, "sub-agent")]),
  ];
  const under =
    below === undefined
      ? ""
      : ` Below it: ${counted(below.inputTokens + below.outputTokens, "token")}${below.usd === 0 ? "" : `, ${dollarsOf(below.usd)}`}${below.unreportedTokens === 0 ? "" : `, and ${counted(below.unreportedTokens, "token")} that nobody reported`}.`;
  return [tell(last, "cost", `It cost ${listed(words)}.${under}`, [])];
}

const longestMax = 3;

/** What it waited for: what had an end, and how long it took to it. */
function waits(t: Telling, last: Turn): Told[] {
  const { startedAt, updatedAt } = t.view;
  const times = new Map(t.index.steps.map(({ turn, at }) => [turn, at]));
  const waited = t.view.intents
    .filter(
      ({ intent, settledTurn }) =>
        intent.kind !== "end" && intent.kind !== "denied" && settledTurn !== undefined,
    )
    .map((view) => ({
      id: view.intent.id,
      ms:
        (times.get(view.settledTurn ?? 0) ?? updatedAt) -
        (t.index.places.get(view.intent.id)?.at ?? updatedAt),
    }))
    .filter(({ ms }) => ms >= 1_000)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, longestMax);
  const longest = waited.map(({ id, ms }) => `${nameOf(t, id)} (${lasting(ms)})`);
  const on = longest.length === 0 ? "" : `; the longest waits were for ${listed(longest)}`;
  const took = `It took ${lasting(updatedAt - startedAt)}, from ${dateOf(startedAt)} to ${dateOf(updatedAt)}${on}.`;
  const open = t.view.open.map(
    ({ intent }) => `${nameOf(t, intent.id)}, since ${dateOf(t.index.places.get(intent.id)?.at ?? 0)}`,
  );
  return [
    tell(last, "waited", took, []),
    ...(open.length === 0 ? [] : [tell(last, "waited", `Open at its last turn: ${listed(open)}.`, [])]),
  ];
}

function refusals(t: Telling, last: Turn): Told[] {
  const names = t.view.intents
    .filter(({ intent, outcome }) => outcome === "denied" && !("for" in intent && intent.for !== undefined))
    .map(
      ({ intent, reason }) =>
        `${nameOf(t, intent.id)}${reason === undefined || reason === "" ? "" : `: ${reason}`}`,
    );
  return names.length === 0 ? [] : [tell(last, "refused", `Refused: ${names.join("; ")}.`, [])];
}

function leaves(t: Telling, last: Turn): Told[] {
  const approved = [...t.index.places.values()].flatMap((place) => {
    const task = approvedBy(t, place);
    const by = task === undefined ? undefined : t.approvals.get(task);
    if (task === undefined) return [];
    const whom =
      by === undefined ? "nobody spoke against it in time, or a saga did for people" : listed([...by]);
    return [`${nameOf(t, place.intent.id)} (${whom})`];
  });
  return approved.length === 0
    ? []
    : [tell(last, "people", `Approved before it was done: ${listed(approved)}.`, [])];
}

function retries(t: Telling, last: Turn): Told[] {
  const often = t.view.intents.filter(({ attempt }) => attempt > 1);
  if (often.length === 0) return [];
  const parts = often.map(({ intent, attempt }) => `${nameOf(t, intent.id)} in ${attempt} attempts`);
  return [tell(last, "recovery", `Tried more than once: ${listed(parts)}.`, [])];
}

function remains(t: Telling, last: Turn): Told[] {
  const { effects, intents, status } = t.view;
  const undone = intents
    .filter(({ intent }) => t.index.undone.has(intent.id))
    .map(({ intent }) => nameOf(t, intent.id));
  const certain = effects
    .filter(({ outcome }) => outcome === "succeeded")
    .map(({ intent }) => nameOf(t, intent));
  const doubtful = effects
    .filter(({ outcome }) => outcome === "in_doubt")
    .map(({ intent }) => nameOf(t, intent));
  const stands = certain.length === 0 ? "No effect is known to stand" : `What stands: ${listed(certain)}`;
  return [
    ...(undone.length === 0 ? [] : [tell(last, "undone", `Undone: ${listed(undone)}.`, [])]),
    tell(last, "stands", `${stands}${doubtful.length === 0 ? "" : `; in doubt: ${listed(doubtful)}`}.`, []),
    tell(
      last,
      "end",
      status === "running"
        ? "It has not ended."
        : `It ${status === "completed" ? "completed" : status === "failed" ? "failed" : "was cancelled"}.`,
      [],
    ),
  ];
}

/** What became of one intent. */
export function sumOfIntent(t: Telling, id: IntentId, turns: readonly Turn[]): Told[] {
  const view = t.views.get(id);
  const last = turns.at(-1);
  if (view === undefined || last === undefined) return [];
  const name = capital(nameOf(t, id));
  const say = (about: Told["about"], text: string) => tell(last, about, text, [], id);
  const { attempt, settledTurn, outcome, reason, by } = view;
  if (outcome === undefined)
    return view.intent.kind === "end" ? [] : [say("waited", `${name} is open, in attempt ${attempt}.`)];
  const settledAt = t.index.steps.find(({ turn }) => turn === settledTurn)?.at;
  const took =
    settledAt === undefined
      ? ""
      : `, ${lasting(settledAt - (t.index.places.get(id)?.at ?? settledAt))} after it was decided`;
  const tries = attempt === 1 ? "" : `, in ${attempt} attempts`;
  const who = by === undefined ? "" : `; ${reportWords(by)}`;
  const why = outcome === "succeeded" || reason === undefined || reason === "" ? "" : `: ${reason}`;
  return [
    say("done", `${name} ${outcomeWords[outcome]}${took}${tries}${why}${who}.`),
    ...standing(t, view).map((text) => say("stands", text)),
  ];
}

function standing(t: Telling, { intent }: IntentView): string[] {
  if (intent.kind !== "tool" && intent.kind !== "saga") return [];
  const by = t.index.undone.get(intent.id);
  if (by !== undefined)
    return [
      t.views.get(by)?.intent.kind === "task"
        ? "It was undone by hand."
        : `It was undone by ${nameOf(t, by)}.`,
    ];
  const effect = t.view.effects.find((one) => one.intent === intent.id);
  if (effect === undefined) return ["Nothing of it stands that the ledger knows of."];
  return [
    effect.outcome === "in_doubt"
      ? "Whether it stands is in doubt."
      : `It stands, under the key ${effect.key}.`,
  ];
}
