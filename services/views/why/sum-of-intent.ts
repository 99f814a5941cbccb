/**
 * Why, sum of one intent: what became of it.
 */
import type { Focused } from "./focus.ts";
import { reportWords } from "./origin.ts";
import { capital, nameOf, tell, type Telling, type Told } from "./telling.ts";
import { lasting, outcomeWords } from "./words.ts";

/** What became of one intent. */
export function sumOfIntent(t: Telling, focused: Focused): Told[] {
  const { view, settledAt, last } = focused;
  const { attempt, outcome, reason, by, intent } = view;
  const { id } = intent;
  const name = capital(nameOf(t, id));
  const say = (about: Told["about"], text: string) => tell(last, about, text, [], id);
  if (outcome === undefined)
    return intent.kind === "end" ? [] : [say("waited", `${name} is open, in attempt ${attempt}.`)];
  const took =
    settledAt === undefined
      ? ""
      : `, ${lasting(settledAt - (t.decided.get(id)?.at ?? settledAt))} after it was decided`;
  const tries = attempt === 1 ? "" : `, in ${attempt} attempts`;
  const who = by === undefined ? "" : `; ${reportWords(by)}`;
  const why = outcome === "succeeded" || reason === undefined || reason === "" ? "" : `: ${reason}`;
  return [
    say("done", `${name} ${outcomeWords[outcome]}${took}${tries}${why}${who}.`),
    ...standing(t, focused).map((text) => say("stands", text)),
  ];
}

function standing(t: Telling, { view: { intent }, undoneBy: by, effect }: Focused): string[] {
  if (intent.kind !== "tool" && intent.kind !== "saga") return [];
  if (by !== undefined)
    return [
      t.views.get(by)?.intent.kind === "task"
        ? "It was undone by hand."
        : `It was undone by ${nameOf(t, by)}.`,
    ];
  if (effect === undefined) return ["Nothing of it stands that the ledger knows of."];
  return [
    effect.outcome === "in_doubt"
      ? "Whether it stands is in doubt."
      : `It stands, under the key ${effect.key}.`,
  ];
}
