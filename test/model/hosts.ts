/**
 * Hosts: what a host does: it gets inputs, takes them as one turn, sends the turn, hears of it, hands on what was
 * decided, acks. As services/host does, in the same order; each step is what can come between two others.
 *
 * Inputs come to the host of their saga's partition. Another gets it when that one dies, or is taken for dead
 * (trouble.ts); what it had is in its memory still.
 */
import { concernsSame, type EventText } from "./event.ts";
import { accept, type View } from "./fold.ts";
import {
  acked,
  activationOf,
  drop,
  givenBack,
  hasKeys,
  ledgerOf,
  type Model,
  type Step,
  viewOf,
  withActivation,
  withInbox,
} from "./change.ts";
import { handOn, newlyOpen } from "./hand-on.ts";
import { bag, part } from "./part.ts";
import {
  type Activation,
  type Attempt,
  type Entry,
  type Message,
  nameOfHost,
  nameOfSaga,
  none,
  type State,
  withAt,
} from "./state.ts";
import { isOwn, type World } from "./world.ts";

/** One saga at one host. */
interface Place {
  readonly state: State;
  readonly host: number;
  readonly saga: number;
}

/** The steps of a host that are not the performing of attempts. */
export function hostSteps(model: Model, state: State, host: number): Step[] {
  const steps: Step[] = deliveries(state, host);
  model.world.sagas.forEach((_, saga) => {
    const place = { state, host, saga };
    const activation = activationOf(state, host, saga);
    if (activation?.appending == null) {
      steps.push(...taking(model, place, activation));
      if (activation !== null) steps.push(...resting(model, place, activation));
    }
  });
  return steps;
}

/** The server gives a host a message. */
function deliveries(state: State, host: number): Step[] {
  return state.inbox.is
    .filter(({ free, saga, at }) => free && state.owners.is[saga] === host && at[host] !== 1)
    .map((message) => ({
      to: withInbox(state, (other) =>
        other === message ? { ...message, free: false, at: withAt(message.at, host, 1) } : other,
      ),
      say: () => `${nameOfHost(host)} gets ${message.event} of ${nameOfSaga(message.saga)}`,
    }));
}

const boxOf = ({ state, host, saga }: Place): readonly Message[] =>
  state.inbox.is.filter((message) => message.saga === saga && message.at[host] === 1);

/** What waits for a host becomes a turn, or is answered without one. */
function taking(model: Model, place: Place, activation: Activation | null): Step[] {
  const box = boxOf(place);
  const observed = activation?.hands.filter(({ stage }) => stage === "observed") ?? [];
  if (box.length === 0 && observed.length === 0) return [];
  if (activation === null) return loading(model, place, box);
  return [takeBatch(model, place, activation, box)];
}

/** A saga that is not in memory is loaded, begun, found archived, or handed on to a host that serves it. */
function loading(model: Model, place: Place, box: readonly Message[]): Step[] {
  const { world, folds } = model;
  const { state, host, saga } = place;
  const ledger = ledgerOf(state, saga);
  const { entries, purged: from } = ledger.is;
  const hasForeign = entries.some(isForeign);
  const isMisled = !world.rules.routesByLastTurn && entries.slice(-1).some(isForeign);
  if (!mayOwn(world, host, saga) || isMisled) return box.flatMap((message) => passOn(model, place, message));
  const back = withInbox(state, (message) => (box.includes(message) ? givenBack(message, host) : message));
  const giveBack = {
    to: back,
    say: () => `${nameOfHost(host)} gives back what it cannot take of ${nameOfSaga(saga)}`,
  };
  if (!world.rules.readsPastForeign && hasForeign) return [giveBack];
  const view = folds.view(saga, ledger, { from, count: entries.length, hasKeys: hasKeys(world, host) });
  const loaded = { from, seen: entries.length, proven: false, recovered: false, appending: null, hands: [] };
  if (view.archived) return box.map((message) => ack(place, [message], "answers, for it is archived,"));
  if (view.started) return [takeBatch(model, place, loaded, box)];
  const start = box.find(({ event }) => event === "start");
  return start === undefined
    ? [giveBack]
    : [takeBatch(model, place, { ...loaded, recovered: true }, [start])];
}

const isForeign = ({ what }: Entry): boolean => what !== "turn" && what !== "tombstone";

/** It serves the saga's definition, and can tell its turns from others. */
const mayOwn = ({ hosts, signed, rules }: World, host: number, saga: number): boolean =>
  hosts[host]?.serves.includes(saga) === true &&
  (!signed || hosts[host].keys === true || !rules.ownersJudgeAlike);

/** RK1: handed on, a message is its receiver's; what no host takes is given back. */
function passOn({ world }: Model, { state, host, saga }: Place, message: Message): Step[] {
  const receivers = world.hosts.flatMap((_, other) =>
    other !== host && mayOwn(world, other, saga) && message.at[other] !== 1 ? [other] : [],
  );
  const say = (to: string) => () =>
    `${nameOfHost(host)} hands ${message.event} of ${nameOfSaga(saga)} on to ${to}`;
  const change = (made: Message | undefined) =>
    withInbox(state, (other) => (other === message ? made : other));
  const handed = receivers.map((other): Step => {
    const at = withAt(withAt(message.at, host, 0), other, 1);
    const acks = world.rules.hopLetsGo ? {} : { acked: true };
    return { to: change({ ...message, ...acks, at, free: false }), say: say(nameOfHost(other)) };
  });
  return [...handed, { to: change(givenBack(message, host)), say: say("nobody, and gives it back") }];
}

/** What becomes of a batch before there is a turn. */
interface Judged {
  readonly events: EventText[];
  readonly taken: Message[];
  /** Hands whose result the ledger has already. */
  readonly known: Attempt[];
  readonly recorded: Attempt[];
  readonly hasKnown: boolean;
  readonly hasStale: boolean;
}

function judge(model: Model, view: View, box: readonly Message[], activation: Activation): Judged {
  const judged = {
    events: [] as EventText[],
    taken: [] as Message[],
    known: [] as Attempt[],
    recorded: [] as Attempt[],
  };
  let [hasKnown, hasStale] = [false, false];
  for (const hand of activation.hands) {
    if (hand.stage !== "observed") continue;
    const text = `${hand.intent}.${hand.attempt}.${hand.outcome ?? "ok"}`;
    if (accept(view, text) !== "new") judged.known.push(hand);
    else {
      judged.events.push(text);
      judged.recorded.push(hand);
    }
  }
  for (const message of box) {
    const { event } = message;
    if (judged.events.some((other) => other === event || concernsSame(other, event))) continue; // With the next batch.
    judged.taken.push(message);
    const was = accept(view, event);
    if (was === "new" || (was === "known" && !model.world.rules.dedups)) judged.events.push(event);
    else if (was === "known") hasKnown = true;
    else hasStale = true;
  }
  return { ...judged, hasKnown, hasStale };
}

/** Reads, judges, decides, and sends the turn. */
function takeBatch(model: Model, place: Place, activation: Activation, box: readonly Message[]): Step {
  const { world } = model;
  const { state, host, saga } = place;
  const { rules } = world;
  const view = viewOf(model, state, host, saga, activation);
  const judged = judge(model, view, box, activation);
  const { hasKnown } = judged;
  const who = `${nameOfHost(host)} `;
  if (judged.hasStale)
    return {
      to: drop(state, model, host, saga),
      say: () => `${who}drops ${nameOfSaga(saga)}: its view is old`,
    };
  const held = withInbox(state, (message) => {
    if (!judged.taken.includes(message)) return message;
    return rules.acksAfterStored ? { ...message, at: withAt(message.at, host, 2) } : acked(message, host);
  });
  const hands = activation.hands.filter((hand) => !judged.known.includes(hand));
  const owes = hasKnown && judged.events.length === 0 && view.open.length > 0 && rules.knownRecovers;
  const events = owes && rules.recoversAfterProof ? ["adopted"] : judged.events;
  if (events.length === 0) {
    let present: Activation = { ...activation, hands: bag(hands).is };
    if (owes && !present.recovered) present = handOn(model, saga, { ...present, recovered: true }, view.open);
    return {
      to: withActivation(held, host, saga, present),
      say: () =>
        `${who}knows ${judged.taken.map(({ event }) => event).join(", ") || "its result"} of ${nameOfSaga(saga)}`,
    };
  }
  const entry: Entry = {
    ...{
      what: "turn",
      saga,
      number: view.turns + 1,
      prev: view.head,
      signed: hasKeys(world, host),
      by: none,
      events,
    },
  };
  const expects = rules.expectsLastMessage ? activation.seen : view.head + 1;
  let present: Activation = {
    ...activation,
    hands: bag(hands).is,
    appending: { entry, expects, known: hasKnown },
  };
  if (!rules.beginsAfterStored) present = beginEarly(model, place, present, entry, view);
  const flight = { saga, host, entry: { ...entry, by: host }, expects, answer: "none" as const };
  return {
    to: withActivation({ ...held, flights: bag([...held.flights.is, flight]) }, host, saga, present),
    say: () =>
      `${who}sends turn ${entry.number} of ${nameOfSaga(saga)} (${events.join(", ")}), expecting ${expects} messages`,
  };
}

/** The planted fault: what the turn will open is begun before the turn is stored. */
function beginEarly(
  model: Model,
  place: Place,
  activation: Activation,
  entry: Entry,
  view: View,
): Activation {
  const { from, seen } = activation;
  const { entries, purged } = ledgerOf(place.state, place.saga).is;
  const then = part({ entries: [...entries.slice(0, seen), entry], purged });
  const after = model.folds.view(place.saga, then, { from, count: seen + 1, hasKeys: true });
  return handOn(model, place.saga, activation, newlyOpen(view, after));
}

/** Nothing is under way: what was taken is acked, and an idle saga is forgotten. */
function resting(model: Model, place: Place, activation: Activation): Step[] {
  const { folds, world } = model;
  const { state, host, saga } = place;
  if (boxOf(place).length > 0) return [];
  if (activation.hands.some(({ stage }) => stage === "observed")) return [];
  const view = viewOf(model, state, host, saga, activation);
  const ownOpen = view.open.some(({ intent }) => isOwn(folds.intents(saga)[intent]?.kind ?? "read"));
  const isQuiet = activation.hands.length === 0 && (!activation.proven || !ownOpen);
  if (!isQuiet && world.rules.acksWhenQuiet) return [];
  const held = state.inbox.is.filter((message) => message.saga === saga && message.at[host] === 2);
  if (held.length > 0) return [ack(place, held, "acks")];
  if (activation.hands.length > 0) return [];
  return [
    {
      to: withActivation(state, host, saga, null),
      say: () => `${nameOfHost(host)} forgets ${nameOfSaga(saga)}, which is idle`,
    },
  ];
}

function ack({ state, host, saga }: Place, held: readonly Message[], does: string): Step {
  return {
    to: withInbox(state, (message) => (held.includes(message) ? acked(message, host) : message)),
    say: () =>
      `${nameOfHost(host)} ${does} ${held.map(({ event }) => event).join(", ")} of ${nameOfSaga(saga)}`,
  };
}
