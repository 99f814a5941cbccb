/**
 * Trouble: what may go wrong, each so many times as the world's budget says; and what archivers do.
 */
import {
  activationOf,
  drop,
  forgetAuthor,
  givenBack,
  ledgerOf,
  lengthOf,
  type Model,
  publish,
  type Step,
  store,
  withHost,
  withInbox,
} from "./change.ts";
import { bag, part } from "./part.ts";
import { hearsStored } from "./appends.ts";
import { type Entry, nameOfHost, nameOfSaga, none, type Outside, type State, withAt } from "./state.ts";
import type { Budget, ForeignKind, World } from "./world.ts";

/** Everything that may go wrong now. */
export function troubleSteps(model: Model, state: State): Step[] {
  const left = state.left.is;
  return [
    ...(left.deaths > 0 ? deaths(model, state) : []),
    ...(left.lapses > 0 ? lapses(model, state) : []),
    ...(left.lost > 0 ? lostAnswers(model, state) : []),
    ...(left.foreign > 0 ? foreignMessages(model, state) : []),
    ...(left.repeats > 0 ? repeats(model, state) : []),
  ].map((step) => ({ ...step, isFault: true }));
}

const spend = (state: State, what: keyof Budget): State => ({
  ...state,
  left: part({ ...state.left.is, [what]: state.left.is[what] - 1 }),
});

/** The inputs that came to a host come to the next one from now on. */
const moved = (state: State, { hosts }: World, host: number): State => ({
  ...state,
  owners: part(state.owners.is.map((owner) => (owner === host ? (host + 1) % hosts.length : owner))),
});

/** A host begins anew, with nothing; a worker's call is there again. What was sent is under way still. */
function deaths({ world }: Model, state: State): Step[] {
  const idle = part({ sagas: world.sagas.map(() => null), orphans: [] });
  const hosts = world.hosts.flatMap((_, host): Step[] => {
    const isIdle =
      state.hosts[host] === idle && state.inbox.is.every((message) => (message.at[host] ?? 0) === 0);
    if (isIdle && !state.owners.is.includes(host)) return []; // Its death changes nothing.
    let to = withHost(spend(state, "deaths"), host, idle.is);
    world.sagas.forEach((_spec, saga) => (to = forgetAuthor(to, host, saga)));
    to = withInbox(to, (message) => ((message.at[host] ?? 0) > 0 ? givenBack(message, host) : message));
    const stays = { to, say: () => `${nameOfHost(host)} dies, and begins anew` };
    const goes = {
      to: moved(to, world, host),
      say: () => `${nameOfHost(host)} dies, and the next host has its partitions`,
    };
    return isIdle ? [goes] : [stays, goes];
  });
  const workers = state.workers.is.map((worker): Step => {
    const { saga, intent, attempt } = worker;
    const work = state.work.is.map((call) =>
      call.saga === saga && call.intent === intent && call.attempt === attempt
        ? { ...call, free: true }
        : call,
    );
    const others = state.workers.is.filter((other) => other !== worker);
    return {
      to: { ...spend(state, "deaths"), work: bag(work), workers: bag(others) },
      say: () => `the worker of ${intent}.${attempt} of ${nameOfSaga(saga)} dies`,
    };
  });
  return [...hosts, ...workers];
}

/** The server takes a living process for dead: another gets what it has. Or a host finds that it stood still, and gives a saga up. */
function lapses(model: Model, state: State): Step[] {
  const spent = spend(state, "lapses");
  const hosts = model.world.hosts.flatMap((_, host): Step[] => {
    const isHeld = state.inbox.is.some(
      (message) => (message.at[host] ?? 0) > 0 && !message.free && !message.acked,
    );
    const lapsed = isHeld
      ? [
          {
            to: withInbox(moved(spent, model.world, host), (message) =>
              (message.at[host] ?? 0) > 0 && !message.acked ? { ...message, free: true } : message,
            ),
            say: () => `${nameOfHost(host)} is taken for dead, and does not know`,
          },
        ]
      : [];
    const given = model.world.sagas.flatMap((_spec, saga) =>
      activationOf(state, host, saga) === null
        ? []
        : [
            {
              to: drop(spent, model, host, saga),
              say: () => `${nameOfHost(host)} gives ${nameOfSaga(saga)} up`,
            },
          ],
    );
    return [...lapsed, ...given];
  });
  const calls = state.work.is
    .filter(({ free }) => !free)
    .map((call): Step => {
      const work = state.work.is.map((other) => (other === call ? { ...call, free: true } : other));
      return {
        to: { ...spent, work: bag(work) },
        say: () => `the lease of the call ${call.intent}.${call.attempt} of ${nameOfSaga(call.saga)} ends`,
      };
    });
  return [...hosts, ...calls];
}

/** An append gets no answer, whether it was taken or is still under way; its host sends the same again. */
function lostAnswers(model: Model, state: State): Step[] {
  return state.flights.is
    .filter(({ host }) => host !== none)
    .map((flight) => {
      if (!model.world.rules.resolvesDoubt) return hearsStored(model, spend(state, "lost"), flight);
      const others = state.flights.is.filter((other) => other !== flight);
      const unheard = flight.answer === "none" ? [{ ...flight, host: none }] : [];
      const again = { ...flight, answer: "none" as const };
      return {
        to: { ...spend(state, "lost"), flights: bag([...others, ...unheard, again]) },
        say: () =>
          `no answer comes about turn ${flight.entry.number} of ${nameOfSaga(flight.saga)}: ${nameOfHost(flight.host)} sends it again`,
      };
    });
}

function foreignMessages({ world, folds }: Model, state: State): Step[] {
  return world.sagas.flatMap((_, saga) =>
    world.foreign.flatMap((what): Step[] => {
      const ledger = ledgerOf(state, saga);
      const { turns, head } = folds.truth(saga, ledger);
      const entry = foreignEntry(what, saga, turns, head, ledger.is.entries.at(-1));
      if (entry === undefined) return [];
      return [
        {
          to: store(spend(state, "foreign"), saga, entry),
          say: () => `somebody writes a foreign message (${what}) on the ledger of ${nameOfSaga(saga)}`,
        },
      ];
    }),
  );
}

function foreignEntry(
  what: ForeignKind,
  saga: number,
  turns: number,
  head: number,
  last: Entry | undefined,
): Entry | undefined {
  const empty = { what, saga, number: 0, prev: none, signed: false, by: none, events: [] };
  switch (what) {
    case "stray":
      return empty;
    case "copy":
      return last === undefined ? undefined : { ...last, what, by: none };
    case "misfit":
      return turns === 0 ? undefined : { ...empty, number: turns + 1, events: ["adopted"] };
    case "other":
      return { ...empty, saga: none, number: 1, signed: true, events: ["start"] };
    case "imitation":
      return { ...empty, number: turns + 1, prev: head, events: turns === 0 ? ["start"] : ["adopted"] };
  }
}

function repeats(model: Model, state: State): Step[] {
  return model.world.sagas.flatMap((spec, saga) =>
    spec.parent === undefined
      ? [
          {
            to: publish(spend(state, "repeats"), model, saga, "start"),
            say: () => `a client sends the start of ${nameOfSaga(saga)} again`,
          },
        ]
      : [],
  );
}

/** Reads an ended ledger, writes its tombstone where nothing came meanwhile, and purges what is before it. */
export function archiverSteps({ world, folds }: Model, state: State): Step[] {
  if (!world.archives) return [];
  return world.sagas.flatMap((_, saga): Step[] => {
    const ledger = ledgerOf(state, saga);
    const truth = folds.truth(saga, ledger);
    const length = lengthOf(state, saga);
    const read = state.outside.is.archivers[saga] ?? none;
    const noted = (value: number): State => ({
      ...state,
      outside: part<Outside>({
        ...state.outside.is,
        archivers: withAt(state.outside.is.archivers, saga, value),
      }),
    });
    const name = nameOfSaga(saga);
    if (truth.archived) {
      const through = world.rules.purgesBeforeTombstone ? truth.head : length - 1;
      if (ledger.is.purged >= through) return [];
      const purged = part({ ...ledger.is, purged: through });
      return [
        {
          to: { ...noted(none), ledgers: withAt(state.ledgers, saga, purged) },
          say: () => `the archiver purges the first ${through} messages of ${name}`,
        },
      ];
    }
    if (!truth.ended) return [];
    if (read !== length)
      return [{ to: noted(length), say: () => `the archiver reads ${length} messages of ${name}` }];
    const tombstone: Entry = {
      ...{
        what: "tombstone",
        saga,
        number: truth.turns + 1,
        prev: truth.head,
        signed: true,
        by: none,
        events: [],
      },
    };
    return [
      { to: store(noted(none), saga, tombstone), say: () => `the archiver writes the tombstone of ${name}` },
    ];
  });
}
