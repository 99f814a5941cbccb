/**
 * Machine: a schedule as a machine. It waits for what is due next, begins it or not by the rule for overlaps, and goes on.
 *
 * JA1 It reckons no time zone and reads no clock: what is due is told by a call, and `now` is the time on its ledger.
 * JA2 While it waits, held or not, it has no call open; whatever dies, its timer and its signals find another host.
 * JA3 A signal that comes while the next saga begins goes there; one that comes after this one's end is a dead letter.
 */
import { assign, setup } from "xstate";
import { z } from "zod";
import { toJson } from "../../protocol/json.ts";
import { lineMax, runIdOf, scheduleSagaId } from "../../protocol/schedule.ts";
import { reasonOf, type SignalEvents, toActors } from "../machine/callable.ts";
import { now } from "../machine/source.ts";
import * as agenda from "./agenda.ts";
import type { Item, ScheduleContext, ScheduleInput } from "./context.ts";
import { beginNext, beginRun, dueTimes, lookAtRun, tellSaga } from "./tools.ts";

/** What a schedule is told while it lives. */
export const signals = {
  /** Nothing that is due begins until `release`; what falls due meanwhile is passed over. */
  hold: z.object({ reason: z.string().max(500).optional() }),
  release: z.object({}),
  /** A run now, whatever is due, and also while it is held. The same time and key are the same run. */
  trigger: z.object({ at: z.number(), key: z.string().regex(/^[a-z0-9]{1,8}$/) }),
  /** The runs of a span, `from` on and before `to`. */
  backfill: z.object({ from: z.number(), to: z.number() }),
  /** The schedule ends. What it has begun runs on. */
  remove: z.object({}),
};

type Signal = SignalEvents<typeof signals>;

/** The machine's context: one member, so that what is known no more is gone. */
interface Known {
  readonly known: ScheduleContext;
}

const learn =
  (next: (known: ScheduleContext, now: number) => ScheduleContext) =>
  ({ context }: { readonly context: Known }): Known => ({ known: next(context.known, now()) });

/** The same after a call has ended. */
const worked = (next: (known: ScheduleContext, now: number) => ScheduleContext) =>
  learn((known, at) => {
    const after = next(known, at);
    return { ...after, steps: after.steps + 1 };
  });

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : "TOOL_FAILED";

const scheduleOf = ({ plan, number }: ScheduleContext) => scheduleSagaId(plan.name, number);

/** What a signal changes, wherever the machine is. */
function heard(known: ScheduleContext, event: Signal, at: number): ScheduleContext {
  const { held, ranges, plan, line } = known;
  switch (event.type) {
    case "hold":
      return { ...agenda.admitted(known, at), held: true };
    case "release": // What fell into the hold is passed over.
      return held ? { ...known, held: false, seen: at, ahead: [], over: false } : known;
    case "trigger": {
      const { at: due, key } = event.data;
      const item: Item = { run: runIdOf(plan.name, due, key), due, by: "trigger" };
      if (line.some(({ run }) => run === item.run)) return known;
      const { counts } = known;
      return line.length < lineMax
        ? { ...known, line: [...line, item] }
        : { ...known, counts: { ...counts, dropped: counts.dropped + 1 } };
    }
    case "backfill":
      return ranges.length < lineMax ? { ...known, ranges: [...ranges, event.data] } : known;
    case "remove":
      return { ...known, removed: true };
  }
}

const hear = ({ context, event }: { readonly context: Known; readonly event: Signal }): Known => ({
  known: heard(context.known, event, now()),
});

/** JA3 */
const keep = ({ context: { known }, event }: { readonly context: Known; readonly event: Signal }): Known => {
  const { type: name, data } = event;
  const id = `${scheduleOf(known)}-${known.steps}-${known.late.length}`;
  return { known: { ...known, late: [...known.late, { id, name, data: toJson(data) }] } };
};

const schedule = setup({
  types: { context: {} as Known, input: {} as ScheduleInput, events: {} as Signal },
  actors: toActors({ dueTimes, beginRun, lookAtRun, tellSaga, beginNext }),
  actions: {
    hear: assign(hear),
    keep: assign(keep),
    admit: assign(learn(agenda.admitted)),
    asking: assign(learn((known, at) => ({ ...known, askedAt: at }))),
    take: assign(learn(agenda.taken)),
    putBack: assign(learn(agenda.putBack)),
    skip: assign(worked(agenda.skipped)),
    blocked: assign(worked((known, at) => ({ blockedAt: at, ...known }))),
    cancelled: assign(worked(({ last, ...known }) => ({ ...known, ...(last && { last, cancelled: last }) }))),
    begun: assign(worked(agenda.begun)),
    worked: assign(worked((known) => known)),
    sending: assign(learn((known) => ({ ...known, sent: known.late.length }))),
    sent: assign(worked((known) => ({ ...known, late: known.late.slice(known.sent) }))),
  },
  guards: {
    isRemoved: ({ context: { known } }) => known.removed,
    isLong: ({ context: { known } }) => known.steps >= agenda.stepsMax,
    isAlone: ({ context: { known } }) => {
      const [first] = known.line;
      return (
        first !== undefined && (known.last === undefined || agenda.ruleOf(known.plan, first) === "allow")
      );
    },
    hasLine: ({ context: { known } }) => known.line.length > 0,
    hasRange: ({ context: { known } }) => known.ranges.length > 0,
    asks: ({ context: { known } }) => agenda.asks(known, now()),
    isOver: ({ context: { known } }) => known.held || known.ahead.length === 0,
    skips: ({ context: { known } }) =>
      known.current !== undefined && agenda.ruleOf(known.plan, known.current) === "skip",
    cancels: ({ context: { known } }) =>
      known.current !== undefined &&
      agenda.ruleOf(known.plan, known.current) === "cancel-other" &&
      known.cancelled !== known.last,
    hasLate: ({ context: { known } }) => known.late.length > 0,
  },
  delays: {
    due: ({ context }) => agenda.dueInMs(context.known, now()),
    look: ({ context }) => agenda.lookInMs(context.known, now()),
    again: 60_000,
  },
});

/** Signals that move the machine on from where it waits. */
const wakes = {
  hold: { target: "idle", actions: "hear" },
  release: { target: "idle", actions: "hear" },
  trigger: { target: "idle", actions: "hear" },
  backfill: { target: "idle", actions: "hear" },
  remove: { target: "idle", actions: "hear" },
} as const;

/** Elsewhere they are heard, and count when the machine is idle again. */
const hears = {
  hold: { actions: "hear" },
  release: { actions: "hear" },
  trigger: { actions: "hear" },
  backfill: { actions: "hear" },
  remove: { actions: "hear" },
} as const;

/** JA3 */
const keeps = {
  hold: { actions: "keep" },
  release: { actions: "keep" },
  trigger: { actions: "keep" },
  backfill: { actions: "keep" },
  remove: { actions: "keep" },
} as const;

/** The machine of every schedule. */
export const scheduleMachine = schedule.createMachine({
  id: "schedule",
  context: ({ input }) => ({ known: agenda.begin(input, now()) }),
  initial: "idle",
  on: hears,
  states: {
    /** It is decided what comes next. */
    idle: {
      entry: "admit",
      always: [
        { guard: "isRemoved", target: "removed" },
        { guard: "isLong", target: "handingOver" },
        { guard: "asks", target: "asking", actions: "asking" },
        { guard: "isAlone", target: "beginning", actions: "take" },
        { guard: "hasLine", target: "looking", actions: "take" },
        { guard: "hasRange", target: "filling" },
        { guard: "isOver", target: "resting" },
        { target: "waiting" },
      ],
    },
    waiting: { after: { due: "idle" }, on: wakes },
    /** Nothing is due before a signal says otherwise. */
    resting: { on: wakes },
    asking: {
      invoke: {
        src: "dueTimes",
        input: ({ context: { known } }) => ({
          cron: known.plan.cron,
          tz: known.plan.tz,
          after: agenda.asksAfter(known, known.askedAt),
          most: agenda.aheadMax,
        }),
        onDone: {
          target: "idle",
          actions: assign(({ context, event }) =>
            worked((known, at) => agenda.told(known, event.output, at))({ context }),
          ),
        },
        onError: { target: "later", actions: "worked" },
      },
    },
    filling: {
      invoke: {
        src: "dueTimes",
        input: ({ context: { known } }) => ({
          cron: known.plan.cron,
          tz: known.plan.tz,
          after: (known.ranges[0]?.from ?? 0) - 1,
          before: known.ranges[0]?.to ?? 0,
          most: lineMax,
        }),
        onDone: {
          target: "idle",
          actions: assign(({ context, event }) =>
            worked((known) => agenda.filled(known, event.output))({ context }),
          ),
        },
        onError: { target: "later", actions: "worked" },
      },
    },
    looking: {
      invoke: {
        src: "lookAtRun",
        input: ({ context: { known } }) => ({ run: known.last ?? scheduleOf(known) }),
        onDone: [
          { guard: ({ event }) => event.output.ended, target: "beginning", actions: "worked" },
          { guard: "skips", target: "idle", actions: "skip" },
          { guard: "cancels", target: "cancelling", actions: "blocked" },
          { target: "blocked", actions: "blocked" },
        ],
        onError: { target: "blocked", actions: "blocked" },
      },
    },
    cancelling: {
      invoke: {
        src: "tellSaga",
        input: ({ context: { known } }) => ({
          saga: known.last ?? scheduleOf(known),
          signals: [
            {
              id: `${scheduleOf(known)}-cancels`,
              name: "cancel",
              data: {
                reason: `${known.current?.run ?? known.plan.name} is due, and its schedule says cancel-other`,
              },
            },
          ],
        }),
        onDone: { target: "blocked", actions: "cancelled" },
        onError: { target: "blocked", actions: "worked" },
      },
    },
    /** Another run keeps the current one from beginning. */
    blocked: {
      after: { look: { target: "idle", actions: "putBack" } },
      on: { remove: { target: "idle", actions: "hear" } },
    },
    beginning: {
      invoke: {
        src: "beginRun",
        input: ({ context: { known } }) => {
          const { plan, current } = known;
          const { saga, version, dueAs } = plan;
          return {
            ...{ schedule: scheduleOf(known), run: current?.run ?? "", due: current?.due ?? 0, saga },
            ...(version === undefined ? {} : { version }),
            ...(dueAs === undefined ? {} : { dueAs }),
          };
        },
        onDone: { target: "idle", actions: "begun" },
        onError: [
          {
            guard: ({ context, event }) => agenda.mayTryAgain(context.known, codeOf(event.error), now()),
            target: "later",
            actions: ["worked", "putBack"],
          },
          {
            target: "idle",
            actions: assign(({ context, event }) =>
              worked((known, at) =>
                agenda.refused(known, { code: codeOf(event.error), reason: reasonOf(event.error) }, at),
              )({ context }),
            ),
          },
        ],
      },
    },
    /** A call of ours could not be made. */
    later: { after: { again: "idle" }, on: { remove: { target: "idle", actions: "hear" } } },
    handingOver: {
      on: keeps,
      initial: "beginning",
      states: {
        beginning: {
          invoke: {
            src: "beginNext",
            input: ({ context: { known } }) => ({
              schedule: scheduleOf(known),
              next: agenda.nextSaga(known),
              carried: agenda.carry(known),
            }),
            onDone: "telling",
            onError: "later",
          },
        },
        later: { after: { again: "beginning" } },
        telling: { always: [{ guard: "hasLate", target: "sending" }, { target: "done" }] },
        sending: {
          entry: "sending",
          invoke: {
            src: "tellSaga",
            input: ({ context: { known } }) => ({
              saga: agenda.nextSaga(known),
              signals: known.late.slice(0, known.sent).map(({ id, name, data }) => ({ id, name, data })),
            }),
            onDone: { target: "telling", actions: "sent" },
            onError: "unsent",
          },
        },
        unsent: { after: { again: "telling" } },
        done: { type: "final" },
      },
      onDone: "handedOver",
    },
    handedOver: { type: "final" },
    removed: { type: "final" },
  },
  output: ({ context: { known } }) =>
    known.removed ? { removed: true } : { removed: false, next: agenda.nextSaga(known) },
});
