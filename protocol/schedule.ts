/**
 * Schedule: what a schedule is told, the ids of its own sagas and of the runs that it begins.
 *
 * QB1 A run's id is made of the schedule's name and the time that it was due, and of nothing else: whoever begins it, and however
 *     often, it is one saga.
 */
import { z } from "zod";
import { digestOf } from "./digest.ts";
import { Name, SagaId } from "./ids.ts";
import { isoOf } from "./instant.ts";
import { Payload } from "./json.ts";
import { limits } from "./limits.ts";

/** The name of the built-in definition whose sagas schedules are. No application may define one of this name. */
export const scheduleDefinition = "sagamesh-schedule";

/** 1 to 36 of a-z, 0-9 and `-`, so that a run's id, which has a time and a key behind it, stays one. */
export const ScheduleName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,35}$/, "1 to 36 of a-z, 0-9 and -");

/**
 * What becomes of a run that is due while the one before it still runs. `skip`: it is passed over. `queue`: it waits in a line for
 * its turn. `cancel-other`: the other one is cancelled, and this one begins when that has ended, its undoing included. `allow`:
 * it begins beside the other.
 */
export const Overlap = z.enum(["skip", "queue", "cancel-other", "allow"]);
export type Overlap = z.infer<typeof Overlap>;

/** How many runs of one schedule may stand in its line. */
export const lineMax = 100;

/** What is late by less is no outage: it begins whatever `catchupMs` says. Timers, restarts and looks at a run take that long. */
export const latenessMs = 120_000;

/** What a schedule is told when it is created. */
export const ScheduleSettings = z.strictObject({
  name: ScheduleName,
  /** Five fields (minute, hour, day, month, day of the week), or six with seconds first. */
  cron: z.string().min(1).max(200),
  /** A time zone of the IANA database: `Europe/Berlin`. UTC unless given. */
  tz: z.string().min(1).max(64).default("UTC"),
  /** The definition that its runs are of. */
  saga: Name,
  /** Which version; what new sagas of the name begin with unless given. */
  version: z.int().positive().optional(),
  /** The input of each run. */
  input: Payload,
  /** The member of the input, which then is an object, under which each run is given its due time as ISO 8601. None unless given. */
  dueAs: Name.optional(),
  overlap: Overlap.default("skip"),
  /**
   * How late a run may begin that nobody could begin in time. What was missed for longer is passed over. An hour unless given: a
   * restart or a night's repair is made good, and a week's outage does not begin a week's runs at once.
   */
  catchupMs: z.int().nonnegative().max(limits.timerMaxMs).default(3_600_000),
  /** Each run begins up to so much after its time, by how much its id tells; not at all unless given, a day at most. */
  jitterMs: z.int().nonnegative().max(86_400_000).default(0),
});
export type ScheduleSettings = z.infer<typeof ScheduleSettings>;

/**
 * A schedule's own saga. Its first has number 1; one that has begun many runs is followed by another, so that no ledger grows for
 * ever, and so is one that was deleted when a schedule of its name is created again.
 */
export const scheduleSagaId = (name: string, number: number): SagaId =>
  SagaId.parse(`schedule_${name}_${number}`);

/** The schedule that an id is of, and its number there; undefined for any other id. */
export function readScheduleSagaId(
  id: string,
): { readonly name: string; readonly number: number } | undefined {
  const [, name, number] = /^schedule_([a-z0-9][a-z0-9-]{0,35})_([1-9]\d{0,8})$/.exec(id) ?? [];
  return name === undefined ? undefined : { name, number: Number(number) };
}

/** QB1. The id of the run that is due then, milliseconds since the epoch; `key` tells those apart that a person asked for. */
export function runIdOf(name: string, due: number, key?: string): SagaId {
  const time = isoOf(due)
    .replaceAll(/[-:]|\.\d+/g, "")
    .toLowerCase();
  return SagaId.parse([name, time, ...(key === undefined ? [] : [key])].join("-"));
}

/** How long after its time a run begins, 0 to `jitterMs`: the same for the same run wherever it is reckoned. */
export const jitterOf = (run: SagaId, jitterMs: number): number =>
  jitterMs === 0 ? 0 : Number.parseInt(digestOf(["schedule.jitter", run]).slice(0, 12), 16) % (jitterMs + 1);
