/**
 * A day of the REALM problems as a saga: it is planned, it happens action by action, and what disrupts it arrives as
 * a signal. Then it is planned again from what the ledger says was done; or it ends infeasible, with by how much, why
 * and what to relax.
 *
 *   sagamesh up --app test/examples/realm/app.ts
 *   sagamesh start realm --input '{"problem":"P5","plans":[["table6-claude37-P5","mended-table6"]]}' --id wedding-1
 *   sagamesh signal wedding-1 disruption '{"type":"traffic","noticeAt":780,"factor":3,"touching":"B"}'
 *   sagamesh start realm --input '{"problem":"P8-traffic"}' --wait
 *   sagamesh start realm --input @day.json --wait      # {"own": {…}, "plans": [[[…]]]}
 *   sagamesh start check_schedule --input @check.json --wait    # {"problem": …, "schedule": […]}: what it breaks
 *
 * DA1 A day's clock is declared: it goes from action to action and stands while somebody plans. An action is recorded
 *     when it begins; what has begun is never taken back.
 * DA2 A notice is taken at its own minute, before what begins at that minute; one that comes late, right after what
 *     has begun. The state it finds is that of the executed actions and of nothing that a planner claims.
 * DA3 A day takes one disruption. Of a second one nobody can say what is true, so nobody says it.
 */
import { defineApp, defineSaga, defineTool, reasonOf, type SignalEvents, toActors } from "sagamesh";
import type { ModelRequest } from "sagamesh/models";
import { scriptedModel } from "sagamesh/testing";
import { assign, setup } from "xstate";
import { z } from "zod";
import { Asked, createPlanning, GivenSchedule, type Planned, Terms } from "./planning.ts";
import { type Planner, planReply, searchingPlanner } from "./planners.ts";
import {
  Disruption,
  type GivenProblem,
  Minute,
  Problem,
  problemOf,
  StoredId,
  undisrupted,
} from "./problem.ts";
import { checking } from "../schedules/checking.ts";
import { Action, inOrder, Schedule, storedSchedule } from "./schedule.ts";
import type { SearchInput } from "./search.ts";

const nothing: Terms = { exitMin: 0, rentalMin: 0, addedMin: {} };

const Told = z.object({
  /** A stored one's id. */
  problem: StoredId.optional(),
  /** In its place: one of your own, as those in `data/problems.json`. */
  own: Problem.optional(),
  /** Schedules that the planner drafts first, one after the other, in the morning and after a notice. */
  plans: z.array(z.array(GivenSchedule)).max(2).default([]),
  /** Minutes that common sense would add. */
  caution: Terms.partial()
    .transform((given) => ({ ...nothing, ...given }))
    .default(nothing),
  /** Minutes each errand and each pickup takes at the wedding. */
  serviceMin: z.int().nonnegative().default(5),
  /** The minute at which the day begins. */
  from: Minute.default(600),
  /** How long a minute of the day takes, in milliseconds. */
  minuteMs: z.int().positive().default(20),
});
export const Day = Told.refine(
  ({ problem, own }) => (problem === undefined) !== (own === undefined),
  "give a stored problem's id or a problem of your own",
);
type Day = z.infer<typeof Day>;
export type DayInput = z.input<typeof Day>;

const End = z.object({
  outcome: z.enum(["feasible", "infeasible", "unplanned", "undecided"]),
  /** What was executed, in order: the whole day where it was feasible. */
  executed: Schedule,
  disruption: Disruption.optional(),
  accepted: Terms,
  /** How often it was planned. */
  plannings: z.int(),
  /** Where it did not end well: a code, and the reason in words with all that follows. */
  code: z.string().optional(),
  because: z.string().optional(),
  why: z.string().optional(),
  lateMin: z.number().nullable().optional(),
  relax: z.array(z.object({ what: z.string(), byMin: z.number().nullable() })).optional(),
});

const signals = { disruption: Disruption };

interface Context {
  readonly day: Day;
  /** The problem without what has disrupted it. */
  readonly base: GivenProblem;
  /** The minute that the day has reached. */
  readonly clock: number;
  readonly executed: Schedule;
  readonly rest: Schedule;
  /** Heard of and not yet taken, the earliest first. */
  readonly pending: readonly Disruption[];
  readonly disruption?: Disruption;
  readonly accepted: Terms;
  readonly plannings: number;
  readonly infeasible?: NonNullable<z.infer<typeof Planned>["infeasible"]>;
  readonly why?: string;
  readonly outcome?: z.infer<typeof End>["outcome"];
}

/** A variant is its base, and a notice that comes in time. */
function morning(day: Day): Context {
  const { own, problem = "" } = day;
  const { kind, disruption } = own ?? problemOf(problem);
  const stored = kind === "wedding" ? "P5" : "P6";
  const begin = {
    clock: day.from,
    day,
    base: own === undefined ? stored : undisrupted(own),
    executed: [],
    rest: [],
    accepted: nothing,
    plannings: 0,
  };
  if (disruption === undefined) return { ...begin, pending: [] };
  return disruption.noticeAt === null
    ? { ...begin, pending: [], disruption }
    : { ...begin, pending: [disruption] };
}

const dueAt = ({ noticeAt }: Disruption): number => noticeAt ?? 0;

const heard = (pending: readonly Disruption[], news: Disruption): Disruption[] =>
  [...pending, news].toSorted((one, other) => dueAt(one) - dueAt(other));

/** The minute of whatever is next. */
const nextAt = ({ rest: [action], pending: [notice] }: Context): number =>
  Math.min(action?.start ?? Infinity, notice === undefined ? Infinity : dueAt(notice));

const hasNotice = ({ pending: [notice], clock }: Context): boolean =>
  notice !== undefined && dueAt(notice) <= clock;

/** DA2. The notice, at the minute at which it can be taken. */
function noticed({ pending: [notice, ...pending], executed }: Context): Partial<Context> {
  if (notice === undefined) return {};
  const last = executed.at(-1)?.start;
  const { noticeAt } = notice;
  if (last === undefined || (noticeAt !== null && noticeAt > last)) return { pending, disruption: notice };
  return { pending, disruption: { ...notice, noticeAt: last + 1 } };
}

/** What is left to do of a plan. What it says of the past is left out: that is the ledger's. */
function taken(context: Context, { schedule = [], accepted }: z.infer<typeof Planned>): Partial<Context> {
  const from = context.disruption?.noticeAt ?? 0;
  const rest = inOrder(schedule.filter(({ type, start }) => type !== "state" && start >= from));
  return { rest, accepted };
}

function endOf({ infeasible, why, outcome = "feasible", ...context }: Context): z.infer<typeof End> {
  const { executed, disruption, accepted, plannings } = context;
  const known = { outcome, executed, accepted, plannings, ...(disruption && { disruption }) };
  if (outcome === "feasible") return known;
  if (infeasible !== undefined)
    return { ...known, ...infeasible, code: "INFEASIBLE", because: toldOf(infeasible) };
  return { ...known, why, because: why, code: outcome.toUpperCase() };
}

const toldOf = ({ why, lateMin, relax }: NonNullable<Context["infeasible"]>): string =>
  [
    lateMin === null ? "no delay alone would help" : `late by ${lateMin} min`,
    why,
    relax.length === 0
      ? "no single relaxation helps"
      : `what would help: ${relax.map(({ what }) => what).join("; or ")}`,
  ].join(": ");

/** Where the actions happen. Each is asked for once by its key. */
type Diary = Map<string, Action>;

export interface RealmOptions {
  readonly diary?: Diary;
  /** Whether more minutes on somebody's way than are allowed are refused, or put before people. */
  readonly over?: "reject" | "ask";
  readonly script?: Planner;
}

/** The day with a diary of its own, and its planner's script. */
export function createRealm({ diary = new Map(), over = "reject", script = careful }: RealmOptions = {}) {
  const act = defineTool({
    name: "act",
    description: "Begins an action of the schedule.",
    effect: "idempotent",
    input: Action,
    output: Action,
    compensation: "point_of_no_return", // What was driven was driven.
    perform: async (action, { key }) => {
      diary.set(key, action);
      return action;
    },
  });
  const planning = createPlanning(over);

  const machine = setup({
    types: {
      input: {} as Day,
      output: {} as z.infer<typeof End>,
      events: {} as SignalEvents<typeof signals>,
      context: {} as Context,
    },
    actors: toActors({ act, planning }),
    delays: {
      untilNext: ({ context }) => (nextAt(context) - context.clock) * context.day.minuteMs,
    },
    guards: {
      isOver: ({ context }) => context.rest.length === 0,
      isSecond: ({ context }) => hasNotice(context) && context.disruption !== undefined,
      hasNotice: ({ context }) => hasNotice(context),
      isTime: ({ context }) => nextAt(context) <= context.clock,
    },
    actions: {
      take: assign(({ context }) => noticed(context)),
      reach: assign({ clock: ({ context }) => nextAt(context) }),
      blame: assign({ why: (_, why: string) => why }),
      end: assign({ outcome: (_, outcome: z.infer<typeof End>["outcome"]) => outcome }),
    },
  }).createMachine({
    id: "realm",
    initial: "planning",
    context: ({ input }) => morning(input),
    on: {
      disruption: {
        actions: assign({ pending: ({ context, event }) => heard(context.pending, event.data) }),
      },
    },
    states: {
      planning: {
        entry: assign({ plannings: ({ context }) => context.plannings + 1 }),
        invoke: {
          src: "planning",
          input: ({
            context: { day, base: problem, disruption, executed: history, accepted, plannings },
          }) => ({
            ...{ problem, disruption, accepted, caution: day.caution, serviceMin: day.serviceMin },
            drafts: day.plans[plannings - 1] ?? [],
            ...(disruption === undefined || disruption.noticeAt === null ? {} : { history }),
          }),
          onDone: [
            {
              guard: ({ event }) => event.output.infeasible !== undefined,
              target: "infeasible",
              actions: assign(({ event: { output } }) => ({
                accepted: output.accepted,
                infeasible: output.infeasible,
              })),
            },
            { target: "next", actions: assign(({ context, event }) => taken(context, event.output)) },
          ],
          onError: {
            target: "unplanned",
            actions: { type: "blame", params: ({ event }) => reasonOf(event.error) },
          },
        },
      },
      next: {
        always: [
          { guard: "isOver", target: "done" },
          {
            guard: "isSecond",
            target: "undecided",
            actions: { type: "blame", params: "a second disruption is more than these predicates can judge" },
          },
          { guard: "hasNotice", target: "planning", actions: "take" },
          { guard: "isTime", target: "acting" },
          { target: "waiting" },
        ],
      },
      waiting: {
        after: { untilNext: { target: "next", actions: "reach" } },
        on: {
          disruption: {
            target: "next",
            actions: assign({ pending: ({ context, event }) => heard(context.pending, event.data) }),
          },
        },
      },
      acting: {
        invoke: {
          src: "act",
          input: ({ context: { rest } }) => rest[0] as Action, // Proof: `isOver` comes first.
          onDone: {
            target: "next",
            actions: assign({
              executed: ({ context, event }) => [...context.executed, event.output],
              rest: ({ context }) => context.rest.slice(1),
            }),
          },
          onError: {
            target: "undecided",
            actions: { type: "blame", params: ({ event }) => reasonOf(event.error) },
          },
        },
      },
      done: { type: "final" },
      infeasible: { entry: { type: "end", params: "infeasible" }, type: "final", tags: "failed" },
      unplanned: { entry: { type: "end", params: "unplanned" }, type: "final", tags: "failed" },
      undecided: {
        entry: { type: "end", params: "undecided" },
        type: "final",
        tags: "failed",
      },
    },
    output: ({ context }) => endOf(context),
  });

  const realm = defineSaga({
    name: "realm",
    version: 1,
    description: "Plans a day, lives it, and plans again what is disrupted.",
    input: Day,
    output: End,
    signals,
    machine,
  });
  const app = defineApp({
    sagas: [realm, planning, checking],
    models: { planner: scriptedModel("planner", script) },
  });
  return { realm, planning, app, diary };
}

/** What the planner was asked. */
export const askedOf = ({ messages }: ModelRequest): z.infer<typeof Asked> => {
  const [first] = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  return Asked.parse(JSON.parse(first?.type === "text" ? first.text : "{}"));
};

const questionOf = (request: ModelRequest): SearchInput => {
  const { drafts: _drafts, faults: _faults, ...question } = askedOf(request);
  return question;
};

const drafted = (given: GivenSchedule) =>
  planReply(typeof given === "string" ? storedSchedule(given).actions : given);

/** What a model would do: its printed drafts first, if it has any; when all are refused, it asks the search. */
export const careful: Planner = (request) => {
  const { drafts, faults } = askedOf(request);
  const draft = drafts[faults.length];
  return draft === undefined ? searchingPlanner(questionOf)(request) : drafted(draft);
};

/** A plain model: it drafts what is printed, whatever is said of it. */
export const stubborn: Planner = (request) => {
  const { drafts, faults } = askedOf(request);
  const draft = drafts[Math.min(faults.length, drafts.length - 1)];
  return draft === undefined ? searchingPlanner(questionOf)(request) : drafted(draft);
};

export default createRealm().app;
