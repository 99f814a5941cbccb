/**
 * Appends: what becomes of a turn that was sent: the server stores or refuses it, and its host hears which, judges what
 * stands there instead, and goes on, sends the same turn again, or drops the saga.
 */
import {
  activationOf,
  drop,
  forgetAuthor,
  hasKeys,
  ledgerOf,
  lengthOf,
  type Model,
  type Step,
  store,
  viewOf,
  withActivation,
} from "./change.ts";
import { afterTurn } from "./hand-on.ts";
import { bag } from "./part.ts";
import {
  type Activation,
  type Appending,
  type Entry,
  type Flight,
  nameOfHost,
  nameOfSaga,
  none,
  type State,
} from "./state.ts";

/** The server takes each append that is under way. */
export function landingSteps({ world }: Model, state: State): Step[] {
  return state.flights.is
    .filter(({ answer }) => answer === "none")
    .map((flight): Step => {
      const length = lengthOf(state, flight.saga);
      const isStored = length === flight.expects || !world.rules.compareAndSet;
      const isHeard = flight.host !== none;
      const answered = { ...flight, answer: isStored ? length : ("refused" as const) };
      const flights = state.flights.is.flatMap((other) =>
        other === flight ? (isHeard ? [answered] : []) : [other],
      );
      const left = { ...state, flights: bag(flights) };
      const what = `turn ${flight.entry.number} of ${nameOfSaga(flight.saga)}`;
      return {
        to: isStored ? store(left, flight.saga, flight.entry) : left,
        say: () => `the server ${isStored ? `stores ${what} as message ${length + 1}` : `refuses ${what}`}`,
      };
    });
}

/** Hosts hear what became of their appends. */
export const answerSteps = (model: Model, state: State): Step[] =>
  state.flights.is
    .filter(({ host, answer }) => host !== none && answer !== "none")
    .map((flight) => hear(heardBy(model, state, flight)));

function heardBy(model: Model, state: State, flight: Flight): Heard {
  const activation = activationOf(state, flight.host, flight.saga);
  const appending = activation?.appending;
  if (activation == null || appending == null) throw new Error("an answer is heard by who waits for it");
  const flights = bag(state.flights.is.filter((other) => other !== flight));
  return { model, state: { ...state, flights }, activation, appending, flight };
}

/** The planted fault: no answer is taken for a good one. */
export const hearsStored = (model: Model, state: State, flight: Flight): Step =>
  hear(heardBy(model, state, { ...flight, answer: flight.expects }));

/** An answer, and who hears it. */
interface Heard {
  readonly model: Model;
  readonly state: State;
  readonly activation: Activation;
  readonly appending: Appending;
  readonly flight: Flight;
}

function hear(heard: Heard): Step {
  const { answer, host, saga, entry } = heard.flight;
  const what = `turn ${entry.number} of ${nameOfSaga(saga)}`;
  if (typeof answer === "number")
    return appended(heard, answer, () => `${nameOfHost(host)} hears that ${what} is stored`);
  const found = judgeRefusal(heard);
  const say = (then: string) => () => `${nameOfHost(host)} hears that ${what} was refused, and ${then}`;
  if (found === "fenced")
    return {
      to: drop(heard.state, heard.model, host, saga),
      say: say("drops the saga: another has appended"),
    };
  if (found === "again") return sendAgain(heard, say("sends it again: what came is foreign"));
  return appended(heard, found, say(`finds it stored as message ${found + 1}`));
}

/** What stands on the ledger instead: one's own turn, at its place; another's; or nothing but foreign messages. */
function judgeRefusal({ model, state, activation, appending, flight }: Heard): number | "fenced" | "again" {
  const { world, folds } = model;
  const { rules } = world;
  const { host, saga } = flight;
  const ledger = ledgerOf(state, saga);
  const { entries } = ledger.is;
  const { entry } = appending;
  const isOwn = (other: Entry | undefined) =>
    rules.ownByBytes ? other?.by === host : other?.number === entry.number && other.what === "turn";
  if (!rules.judgesAllNewer || !rules.ownByBytes) {
    const last = entries.at(-1);
    if (isOwn(last)) return entries.length - 1;
    return last === undefined || last.what === "turn" || last.what === "tombstone" ? "fenced" : "again";
  }
  const before = viewOf(model, state, host, saga, activation);
  const read = { from: activation.from, count: entries.length, hasKeys: hasKeys(world, host) };
  const now = folds.view(saga, ledger, read);
  if (now.head === before.head) return rules.foreignIsNoFence ? "again" : "fenced";
  return isOwn(entries[now.head]) ? now.head : "fenced";
}

/** The same bytes, where the ledger stands now. */
function sendAgain({ model, state, activation, appending, flight }: Heard, say: () => string): Step {
  const { host, saga } = flight;
  const seen = lengthOf(state, saga);
  const expects = model.world.rules.expectsLastMessage ? seen : appending.expects;
  const sent: Flight = { saga, host, entry: flight.entry, expects, answer: "none" };
  const waiting = { ...activation, seen, appending: { ...appending, expects } };
  return {
    to: withActivation({ ...state, flights: bag([...state.flights.is, sent]) }, host, saga, waiting),
    say,
  };
}

/** Its host believes that the turn stands at this place, and hands on what it opened. */
function appended({ model, state, activation, flight }: Heard, place: number, say: () => string): Step {
  const { host, saga } = flight;
  const { folds } = model;
  const heard = forgetAuthor(state, host, saga);
  const before = viewOf(model, heard, host, saga, activation);
  const sent = { ...activation, seen: place + 1 };
  const after = viewOf(model, heard, host, saga, sent);
  const truth = folds.view(saga, ledgerOf(heard, saga), { from: 0, count: place + 1, hasKeys: true });
  const isTurn = truth.head === place;
  const next = afterTurn(model, saga, sent, before, after);
  return {
    to: withActivation(heard, host, saga, next),
    say,
    broken: isTurn
      ? undefined
      : `${nameOfHost(host)} goes on from message ${place + 1} of ${nameOfSaga(saga)}, which is no turn`,
  };
}
