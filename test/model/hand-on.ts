/**
 * Hand on: what becomes of the open intents of a turn that was stored, in the host that sent it.
 */
import type { Model } from "./change.ts";
import type { OpenIntent, View } from "./fold.ts";
import { bag } from "./part.ts";
import type { Activation, Attempt } from "./state.ts";
import { isOwn } from "./world.ts";

const isSame = (one: OpenIntent, other: OpenIntent): boolean =>
  one.intent === other.intent && one.attempt === other.attempt;

/** HA1: what is in hand already is not begun twice. */
export function handOn(
  { folds }: Model,
  saga: number,
  activation: Activation,
  opened: readonly OpenIntent[],
): Activation {
  const fresh = opened.filter((open) => !activation.hands.some((hand) => isSame(hand, open)));
  const hands = fresh.map(({ intent, attempt }): Attempt => {
    const kind = folds.intents(saga)[intent]?.kind ?? "read";
    return { saga, intent, attempt, stage: isOwn(kind) ? "begun" : "publish" };
  });
  return { ...activation, hands: bag([...activation.hands, ...hands]).is };
}

/** What is open after and was not before. */
export const newlyOpen = (before: View, after: View): readonly OpenIntent[] =>
  after.open.filter((open) => !before.open.some((other) => isSame(other, open)));

/** A turn was stored: what is settled is called off, and what is open handed on. */
export function afterTurn(
  model: Model,
  saga: number,
  activation: Activation,
  before: View,
  after: View,
): Activation {
  const { folds } = model;
  const appending = activation.appending;
  // What ends meanwhile, and what the turn has recorded, needs no performer any more.
  const hands = activation.hands.filter(
    (hand) =>
      hand.stage === "publish" || hand.stage === "observed" || after.open.some((open) => isSame(open, hand)),
  );
  const recorded = appending?.entry.events ?? [];
  const left = hands.filter(
    ({ stage, intent, attempt, outcome }) =>
      stage !== "observed" || !recorded.includes(`${intent}.${attempt}.${outcome ?? "ok"}`),
  );
  const ownOfAnother = before.open.some(
    (open) =>
      isOwn(folds.intents(saga)[open.intent]?.kind ?? "child") &&
      !activation.hands.some((hand) => isSame(hand, open)),
  );
  const isTakeover = !activation.recovered && (appending?.known === true || ownOfAnother);
  const present: Activation = {
    ...activation,
    ...{ appending: null, proven: true, recovered: activation.recovered || isTakeover, hands: left },
  };
  return handOn(model, saga, present, isTakeover ? after.open : newlyOpen(before, after));
}
