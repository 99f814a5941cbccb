/**
 * Steps: all that can come next, and what is judged of it.
 *
 * PM1 No `once` and no `probe` happens twice, and nothing happens that no turn asked for. (attempts.ts)
 * PM2 Who is told that its turn is stored has a turn of the chain. (appends.ts)
 * PM3 No input is in a ledger twice.
 * PM4 What is acked is in its ledger, or says nothing new.
 * PM5 No foreign message is a turn, but one that imitates a turn where turns are not signed.
 * PM6 In the end everything is settled as it happened, and from everywhere such an end can be reached (search.ts).
 */
import { answerSteps, landingSteps } from "./appends.ts";
import { attemptSteps } from "./attempts.ts";
import { ledgerOf, type Model, type Step } from "./change.ts";
import { accept, createFolds } from "./fold.ts";
import { hostSteps } from "./hosts.ts";
import { type Message, nameOfSaga, type State } from "./state.ts";
import { archiverSteps, troubleSteps } from "./trouble.ts";
import { isSingle, type World } from "./world.ts";

export const createModel = (world: World): Model => ({ world, folds: createFolds(world) });

/** All steps from here, judged. */
export function stepsFrom(model: Model, state: State): Step[] {
  const steps = [
    ...model.world.hosts.flatMap((_, host) => hostSteps(model, state, host)),
    ...landingSteps(model, state),
    ...answerSteps(model, state),
    ...attemptSteps(model, state),
    ...archiverSteps(model, state),
    ...troubleSteps(model, state),
  ];
  return steps.map((step) => {
    const broken = step.broken ?? lostBetween(model, state, step.to) ?? wrongOn(model, state, step.to);
    return broken === undefined ? step : { ...step, broken };
  });
}

const unacked = ({ inbox }: State): readonly Message[] => inbox.is.filter(({ acked }) => !acked);

/** PM4. */
function lostBetween({ folds }: Model, from: State, to: State): string | undefined {
  if (from.inbox === to.inbox) return undefined;
  const left = unacked(to);
  for (const { saga, event } of unacked(from)) {
    if (left.some((message) => message.saga === saga && message.event === event)) continue;
    if (accept(folds.truth(saga, ledgerOf(to, saga)), event) !== "known")
      return `${event} of ${nameOfSaga(saga)} is acked, and its ledger has never heard of it`;
  }
  return undefined;
}

/** PM3, PM5. */
function wrongOn({ folds, world }: Model, from: State, to: State): string | undefined {
  for (const saga of world.sagas.keys()) {
    const ledger = ledgerOf(to, saga);
    if (ledger === from.ledgers[saga]) continue;
    const { twice, mistaken } = folds.truth(saga, ledger);
    if (mistaken !== undefined)
      return `a foreign message (${mistaken}) is taken for a turn of ${nameOfSaga(saga)}`;
    if (twice !== undefined) return `${twice} is in the ledger of ${nameOfSaga(saga)} twice`;
  }
  return undefined;
}

/** Nothing is left to be done. */
export function isEnd({ world, folds }: Model, state: State): boolean {
  const isDone = state.ledgers.every((ledger, saga) => {
    const { ended, archived } = folds.truth(saga, ledger);
    return ended && (archived || !world.archives);
  });
  return (
    isDone &&
    state.inbox.is.length + state.work.is.length + state.workers.is.length + state.flights.is.length === 0 &&
    state.hosts.every(
      ({ is: { sagas, orphans } }) =>
        orphans.length === 0 &&
        sagas.every((saga) => saga === null || (saga.hands.length === 0 && saga.appending === null)),
    )
  );
}

/** PM6: how an end lies; undefined where it does not. */
export function lieOf({ world, folds }: Model, state: State): string | undefined {
  const { effects } = state.outside.is;
  for (const saga of world.sagas.keys()) {
    const { outcomes, archived } = folds.truth(saga, ledgerOf(state, saga));
    if (archived) continue;
    for (const [intent, { kind }] of folds.intents(saga).entries()) {
      if (!isSingle(kind)) continue;
      const times = effects[`${saga}.${intent}`] ?? 0;
      const outcome = outcomes[intent];
      const isTrue = outcome === "doubt" || times === (outcome === "ok" ? 1 : 0);
      if (!isTrue)
        return `${kind} ${intent} of ${nameOfSaga(saga)} ended as ${outcome ?? "nothing"}, and happened ${times} times`;
    }
  }
  return undefined;
}
