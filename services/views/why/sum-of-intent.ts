/**
 * Why, sum of one intent: what became of it.
 */
import type { IntentId } from "../../../protocol/ids.ts";
import type { IntentView } from "../view.ts";
import type { Whole } from "./focus.ts";
import { reportWords } from "./origin.ts";
import { capital, nameOf, tell, type Telling, type Told } from "./telling.ts";
import { lasting, outcomeWords } from "./words.ts";

/** What became of one intent. */
export function sumOfIntent(t: Telling, whole: Whole, id: IntentId): Told[] {
  const view = whole.views.get(id);
  const last = whole.index.steps.at(-1);
  if (view === undefined || last === undefined) return [];
  const name = capital(nameOf(t, id));
  const say = (about: Told["about"], text: string) => tell(last, about, text, [], id);
  const { attempt, settledTurn, outcome, reason, by } = view;
  if (outcome === undefined)
    return view.intent.kind === "end" ? [] : [say("waited", `${name} is open, in attempt ${attempt}.`)];
  const settledAt = whole.index.steps.find(({ turn }) => turn === settledTurn)?.at;
  const took =
    settledAt === undefined
      ? ""
      : `, ${lasting(settledAt - (t.decided.get(id)?.at ?? settledAt))} after it was decided`;
  const tries = attempt === 1 ? "" : `, in ${attempt} attempts`;
  const who = by === undefined ? "" : `; ${reportWords(by)}`;
  const why = outcome === "succeeded" || reason === undefined || reason === "" ? "" : `: ${reason}`;
  return [
    say("done", `${name} ${outcomeWords[outcome]}${took}${tries}${why}${who}.`),
    ...standing(t, whole, view).map((text) => say("stands", text)),
  ];
}

function standing(t: Telling, { index, effects }: Whole, { intent }: IntentView): string[] {
  if (intent.kind !== "tool" && intent.kind !== "saga") return [];
  const by = index.undone.get(intent.id);
  if (by !== undefined)
    return [
      t.views.get(by)?.intent.kind === "task"
        ? "It was undone by hand."
        : `It was undone by ${nameOf(t, by)}.`,
    ];
  const effect = effects.get(intent.id);
  if (effect === undefined) return ["Nothing of it stands that the ledger knows of."];
  return [
    effect.outcome === "in_doubt"
      ? "Whether it stands is in doubt."
      : `It stands, under the key ${effect.key}.`,
  ];
}
