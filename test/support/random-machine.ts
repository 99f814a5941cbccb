/**
 * Machines made by chance, for those who compare two ways to run one: parallel regions, histories, `always`, guards, raises,
 * delays, invocations, children spawned under ids that repeat, what is sent to them, at once and later, re-entries, ends.
 *
 * `askingMachine` makes the same, whose functions ask for the time, new ids and chance.
 *
 * RM1 Each comes to rest: what a machine asks of itself (`always`, `raise`) counts `n` up and stops at a bound.
 */
import * as fc from "fast-check";
import {
  and,
  type AnyStateMachine,
  assign,
  cancel,
  createMachine,
  emit,
  enqueueActions,
  not,
  or,
  sendTo,
} from "xstate";
import { toActors } from "../../actors/machine/callable.ts";
import { now, random, uuid } from "../../actors/machine/source.ts";
import { saga, tool } from "../actors/machine/corpus/callables.ts";
import type { CorpusCase } from "./machine-driver.ts";

/** A state as data: what fast-check makes and prints. */
interface Plan {
  readonly kind: "atomic" | "compound" | "parallel" | "final";
  readonly states: readonly Plan[];
  readonly history: "shallow" | "deep" | undefined;
  readonly entry: readonly Act[];
  readonly exit: readonly Act[];
  readonly on: readonly (Move & { readonly event: number })[];
  readonly always: Move | undefined;
  readonly after: (Move & { readonly delay: number }) | undefined;
  readonly invoke: boolean;
}
interface Move {
  /** Of all states, by number; undefined: none is left. */
  readonly to: number | undefined;
  /** Of all histories, if there are any. */
  readonly back: boolean;
  readonly guard: number | undefined;
  readonly reenter: boolean;
  readonly acts: readonly Act[];
}
interface Act {
  readonly does: (typeof deeds)[number];
  readonly of: number;
}
const deeds = [
  ...(["count", "raise", "later", "unlater", "spawn", "spawnOwn", "emit", "choose"] as const),
  ...(["unspawn", "tell", "tellLater", "untell"] as const),
];

/** What of a machine is not in its plan. */
export interface Nature {
  readonly events: readonly string[];
  readonly delays: readonly number[];
  /** Its functions ask for time, ids and chance. */
  readonly asks?: true;
  /** It has no actors: what would start or tell one counts. */
  readonly childless?: true;
  /** Some of what counts throws. */
  readonly breaks?: true;
}

const delays = [10, 20, 40];
export const plain: Nature = { events: ["A", "B", "C", "D"], delays };
const restAt = 12;

const act: fc.Arbitrary<Act> = fc.record({ does: fc.constantFrom(...deeds), of: fc.nat(3) });
const move: fc.Arbitrary<Move> = fc.record({
  to: fc.option(fc.nat(11), { nil: undefined, freq: 4 }),
  back: fc.constantFrom(false, false, true),
  guard: fc.option(fc.nat(4), { nil: undefined }),
  reenter: fc.boolean(),
  acts: fc.array(act, { maxLength: 2 }),
});

const { plan } = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.record({
    kind: fc.constantFrom("atomic", "compound", "compound", "parallel", "final"),
    states: fc.oneof({ maxDepth: 2 }, fc.constant([]), fc.array(tie("plan"), { minLength: 1, maxLength: 3 })),
    history: fc.option(fc.constantFrom("shallow", "deep"), { nil: undefined }),
    entry: fc.array(act, { maxLength: 2 }),
    exit: fc.array(act, { maxLength: 1 }),
    on: fc.array(
      move.chain((one) => fc.nat(3).map((event) => ({ ...one, event }))),
      { maxLength: 3 },
    ),
    always: fc.option(move, { nil: undefined, freq: 2 }),
    after: fc.option(
      move.chain((one) => fc.constantFrom(...delays).map((delay) => ({ ...one, delay }))),
      { nil: undefined, freq: 2 },
    ),
    invoke: fc.boolean(),
  }),
}));

interface Context {
  readonly n: number;
  readonly seen: readonly string[];
  /** Ids under which actors were spawned: XState throws where one sends to another. */
  readonly spawned: readonly string[];
}
const seeing = assign(({ context, event }: { context: Context; event: { type: string } }) => ({
  seen: [...context.seen, event.type].slice(-4),
}));
const asking = assign(({ context }: { context: Context }) => ({
  seen: [...context.seen, `${now()} ${uuid()} ${random()}`].slice(-8),
}));

/** What machines are made of. */
export const plans = fc
  .array(plan, { minLength: 2, maxLength: 3 })
  .filter((states) => states.some(({ kind }) => kind !== "final"));

/** A machine and the events of its paths. */
export const randomMachine: fc.Arbitrary<CorpusCase> = plans.map((states) => caseOf(states, plain));

/** The same, whose context, guards, actions, delays and inputs ask for what no plain actor could be asked for twice. */
export const askingMachine: fc.Arbitrary<CorpusCase> = plans.map((states) =>
  caseOf(states, { ...plain, asks: true }),
);

function caseOf(states: readonly Plan[], nature: Nature): CorpusCase {
  const { machine, ids } = machineOf(states, nature);
  const actors = [...ids.map((id) => `i_${id}`), "c0", "c1"];
  const { events } = nature;
  return {
    name: JSON.stringify(states),
    machine: machine.provide({ actors: toActors({ tool, saga }) as never }),
    events: [
      ...[...events, ...events, "advance:10", "advance:15", "advance:40"],
      ...actors.flatMap((id) => [`done:${id}`, `error:${id}`, `late:${id}`]),
    ].map((type) => ({ type })),
  };
}

/** A machine without its actors, and the ids of its states. */
export function machineOf(
  states: readonly Plan[],
  nature: Nature,
): { machine: AnyStateMachine; ids: readonly string[] } {
  const { events, asks = false, childless = false } = nature;
  const ids: string[] = [];
  const noted = asks ? asking : seeing;
  const act = (one: Act): unknown => actOf(one, nature);
  const number = (all: readonly Plan[], under: string): void =>
    all.forEach((one, k) => {
      const id = `${under}${k}`;
      ids.push(id);
      if (isHolding(one)) {
        number(one.states, id);
        if (one.history !== undefined && one.kind === "compound") ids.push(`${id}h`);
      }
    });
  number(states, "s");
  const made = (all: readonly Plan[], under: string) =>
    Object.fromEntries(all.map((one, k) => [`s${k}`, stateOf(one, `${under}${k}`)]));
  const stateOf = (one: Plan, id: string): object => {
    if (one.kind === "final" && !isHolding(one)) return { id, type: "final", entry: one.entry.map(act) };
    // Its own actor is there as it enters, and as it leaves.
    const src = one.on.length % 2 === 0 ? "saga" : "tool";
    const invokes = one.invoke && !childless;
    const told = (said: string) => (invokes && src === "saga" ? [sendTo(`i_${id}`, { type: said })] : []);
    const holds = isHolding(one);
    const isParallel = holds && one.kind === "parallel";
    const child = holds ? made(one.states, id) : {};
    const history =
      holds && !isParallel && one.kind === "compound" && one.history !== undefined
        ? { h: { id: `${id}h`, type: "history", history: one.history } }
        : {};
    return {
      id,
      ...(isParallel ? { type: "parallel" } : {}),
      ...(holds ? { states: { ...child, ...history } } : {}),
      ...(holds && !isParallel ? { initial: "s0" } : {}),
      entry: [...told("welcome"), ...one.entry.map(act)],
      exit: [...one.exit.map(act), ...told("goodbye")],
      on: Object.groupBy(
        one.on.map((each) => ({ event: `${events[each.event]}`, ...moveOf(each) })),
        ({ event }) => event,
      ),
      ...(one.always === undefined ? {} : { always: resting(moveOf(one.always)) }),
      ...(one.after === undefined
        ? {}
        : { after: { [`${nature.delays[delays.indexOf(one.after.delay)]}`]: moveOf(one.after) } }),
      ...(invokes
        ? {
            invoke: {
              id: `i_${id}`,
              src,
              onDone: { actions: noted },
              onError: { actions: noted },
            },
          }
        : {}),
    };
  };
  const histories = ids.filter((id) => id.endsWith("h"));
  const among = (back: boolean) => (back && histories.length > 0 ? histories : ids);
  const moveOf = ({ to, back, guard, reenter, acts }: Move) => ({
    ...(to === undefined ? {} : { target: `#${among(back)[to % among(back).length]}` }),
    ...(guard === undefined ? {} : { guard: guardOf(guard, asks) }),
    reenter,
    actions: [noted, ...acts.map(act)],
  });
  const machine = createMachine({
    id: "random",
    context: () => ({ n: 0, seen: asks ? [uuid()] : [], spawned: [] }),
    initial: "s0",
    states: made(states, "s"),
    on: {
      "xstate.done.actor.*": { actions: noted },
      // Without it an actor's error is the machine's own.
      ...(nature.breaks && states.length === 2 ? {} : { "xstate.error.actor.*": { actions: noted } }),
    },
    output: ({ context }: { context: Context }) => context.seen,
  } as never);
  return { machine, ids };
}

const isHolding = ({ kind, states }: Plan): boolean =>
  (kind === "compound" || kind === "parallel") && states.length > 0;

const below = ({ context }: { context: Context }): boolean => context.n < restAt;

/** RM1. */
const resting = (one: { guard?: unknown; actions: readonly unknown[] }) => ({
  ...one,
  guard: one.guard === undefined ? below : and([below as never, one.guard as never]),
  actions: [assign(({ context }: { context: Context }) => ({ n: context.n + 1 })), ...one.actions],
});

function guardOf(of: number, asks: boolean): unknown {
  const even = ({ context }: { context: Context }) => context.n % 2 === 0;
  const third = ({ context }: { context: Context }) => context.n % 3 === 0;
  const kinds = [
    even,
    not(even as never),
    and([even as never, third as never]),
    or([even as never, third as never]),
    third,
  ];
  return asks && of > 2 ? () => random() < 0.5 : kinds[of];
}

/** What of `enqueueActions` is used here; of a machine of no types. */
interface Enqueuing {
  readonly context: Context;
  readonly enqueue: Record<
    "assign" | "raise" | "spawnChild" | "stopChild" | "cancel" | "sendTo",
    (...given: readonly unknown[]) => void
  >;
}

const delayOf = (of: number, { asks, delays: own }: Nature): unknown =>
  asks === true ? () => 5 + random() * 40 : own[of % 3];

const acting = (collect: (given: Enqueuing) => void): unknown => enqueueActions(collect as never);

/** Of two ids one is a saga's, which can be told something. */
function spawn({ context, enqueue }: Enqueuing, of: number, asks: boolean): void {
  const id = `c${of % 2}`;
  enqueue.assign({ spawned: [...context.spawned.filter((other) => other !== id), id] });
  enqueue.spawnChild(of % 2 === 0 ? "tool" : "saga", { id, input: asks ? uuid() : null });
}

const ofActors: readonly Act["does"][] = ["spawn", "spawnOwn", "unspawn", "tell", "tellLater", "untell"];

function actOf({ does, of }: Act, nature: Nature): unknown {
  const { events, asks = false, childless = false, breaks = false } = nature;
  if (childless && ofActors.includes(does)) return actOf({ does: "count", of }, nature);
  switch (does) {
    case "count":
      return assign(({ context }: { context: Context }) => {
        if (breaks && of === 3 && context.n > 1) throw new Error(`broken at ${context.n}`);
        return { n: context.n + 1 };
      });
    case "raise":
      return acting(({ context, enqueue }) => {
        if (context.n >= restAt) return;
        enqueue.assign({ n: context.n + 1 });
        enqueue.raise({ type: events[of] });
      });
    case "later":
      return acting(({ context, enqueue }) => {
        if (context.n >= restAt) return;
        enqueue.assign({ n: context.n + 1 });
        enqueue.raise({ type: events[of] }, { id: `t${of % 2}`, delay: delayOf(of, nature) });
      });
    case "unlater":
      return cancel(`t${of % 2}`);
    case "spawn":
      return acting((given) => spawn(given, of, asks));
    case "spawnOwn":
      return acting((given) => {
        if (given.context.n % 2 === 0) spawn(given, of, asks);
      });
    case "unspawn":
      return acting(({ context, enqueue }) => {
        enqueue.assign({ spawned: context.spawned.filter((id) => id !== `c${of % 2}`) });
        enqueue.stopChild(`c${of % 2}`);
      });
    case "tell":
    case "tellLater":
      return acting(({ context, enqueue }) => {
        if (!context.spawned.includes("c1")) return;
        const when = does === "tell" ? undefined : { id: `d${of % 2}`, delay: delayOf(of, nature) };
        enqueue.sendTo("c1", { type: `say${of}`, n: context.n }, when);
      });
    case "untell":
      return cancel(`d${of % 2}`);
    case "emit":
      return emit(() => ({ type: `told${of}`, ...(asks ? { id: uuid() } : {}) }));
    case "choose":
      return acting(({ context, enqueue }) => {
        if (context.n > 2) enqueue.cancel(`t${of % 2}`);
        else enqueue.raise({ type: events[of] }, { id: `t${context.n % 2}`, delay: nature.delays[1] });
      });
  }
}
