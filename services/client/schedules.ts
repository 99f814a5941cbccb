/**
 * Schedules: sagas that begin by themselves, at times that a cron expression names.
 *
 * QX1 A call resolves when its message is stored. Of a signal it is looked once more which saga the schedule is: one that goes on
 *     in another saga meanwhile hears it there, and hears nothing twice, for a run is known by its id.
 */
import { z } from "zod";
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import type { scheduleSaga } from "../../actors/schedule/define.ts";
import { shortHash } from "../../protocol/digest.ts";
import type { ScheduleDocument, ScheduleDoneDocument } from "../../protocol/documents/schedule.ts";
import { type Duration, msOf } from "../../protocol/duration.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { isoOf } from "../../protocol/instant.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import {
  type Overlap,
  runIdOf,
  scheduleDefinition,
  ScheduleName,
  scheduleSagaId,
  ScheduleSettings,
} from "../../protocol/schedule.ts";
import { toValue } from "../../protocol/value.ts";
import { assertCalendar } from "../calendar/due-times.ts";
import { takingHosts } from "../deployments/served.ts";
import type { Many } from "../ledger/many.ts";
import { checkStart, readRegistry } from "./registry.ts";
import { describeSchedule } from "./schedule-shown.ts";
import { readSchedules, type ScheduleSaga, scheduleSagaOf, settingsOf } from "./schedule-sagas.ts";
import { type ClientDeps, sendSignal } from "./send.ts";
import { startSaga } from "./start.ts";

/** What a schedule is made of. */
export interface ScheduleConfig {
  /** 1 to 36 of a-z, 0-9 and `-`. A run's id begins with it. */
  readonly name: string;
  /** Five fields (minute, hour, day, month, day of the week), or six with seconds first. */
  readonly cron: string;
  /** The time zone whose clocks the expression means, `Europe/Berlin`. UTC unless given. */
  readonly tz?: string | undefined;
  /** What its runs are sagas of: a definition, or its name. */
  readonly saga: SagaDefinition | string;
  /** Which version of it; what new sagas of the name begin with unless given. */
  readonly version?: number | undefined;
  /** The input of each run. */
  readonly input: unknown;
  /** The member of the input under which each run is given its due time, as ISO 8601. None unless given. */
  readonly dueAs?: string | undefined;
  /** What becomes of a run that is due while the one before it runs: it is skipped unless given. */
  readonly overlap?: Overlap | undefined;
  /** How late a run may begin that could not begin in time, `"1h"`. An hour unless given, two minutes at least. */
  readonly catchup?: Duration | undefined;
  /** Each run begins up to so much after its time, a day at most. Not at all unless given. */
  readonly jitter?: Duration | undefined;
}

/** Schedules of a mesh. Each is a saga that every host serves; each run is a saga of its own, whose id tells its due time. */
export interface Schedules {
  /**
   * Creates a schedule: what is due from now on begins. The same again is the same schedule. Throws SAGA_ID_TAKEN where there is
   * another of the name, INPUT_INVALID, USAGE for what is no expression, zone or duration, AGENT_UNKNOWN and DEFINITION_UNKNOWN for
   * a saga that no host has ever served, or where hosts live and none of them serves schedules.
   */
  create(schedule: ScheduleConfig): Promise<ScheduleDoneDocument>;
  /**
   * All that were not deleted, by name; `unreadable` of the list names those that cannot be read. Reads the ledger of each, which is
   * bounded. Throws UNAVAILABLE.
   */
  list(): Promise<Many<ScheduleDocument>>;
  /** One of them, with its latest runs. Throws SAGA_UNKNOWN. */
  show(name: string): Promise<ScheduleDocument>;
  /** Nothing that is due begins until `resume`; what falls due meanwhile is passed over for good. Throws SAGA_UNKNOWN. */
  pause(name: string, reason?: string): Promise<ScheduleDoneDocument>;
  /** What is due from now on begins again. Throws SAGA_UNKNOWN. */
  resume(name: string): Promise<ScheduleDoneDocument>;
  /** A run begins now, by the rule for overlaps, also while the schedule is paused. Throws SAGA_UNKNOWN. */
  trigger(name: string): Promise<ScheduleDoneDocument>;
  /**
   * The runs of a span that has passed begin, `from` on and before `to`: one after the other, or with `overlap: "allow"` together. One
   * that there is already stays as it is. Throws SAGA_UNKNOWN, USAGE.
   */
  backfill(name: string, span: { readonly from: Date; readonly to: Date }): Promise<ScheduleDoneDocument>;
  /** The schedule ends; what it has begun runs on. A schedule of its name may be created again. Throws SAGA_UNKNOWN. */
  delete(name: string): Promise<ScheduleDoneDocument>;
}

/** Schedules on given ports. */
export const schedulesOf = (deps: ClientDeps): Schedules => ({
  create: (schedule) => create(deps, schedule),
  list: () => readSchedules(deps, (one) => describeSchedule(deps, one)),
  show: async (name) => describeSchedule(deps, await living(deps, name)),
  pause: (name, reason) => tell(deps, name, "paused", "hold", reason === undefined ? {} : { reason }),
  resume: (name) => tell(deps, name, "resumed", "release", {}),
  trigger: async (name) => {
    const at = deps.clock.now();
    const key = shortHash(deps.chance.nonce(), 12)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, "")
      .slice(0, 8);
    const done = await tell(deps, name, "triggered", "trigger", { at, key });
    return { ...done, run: runIdOf(name, at, key) };
  },
  backfill: async (name, { from, to }) => {
    const span = { from: from.getTime(), to: to.getTime() };
    if (!(span.from < span.to && span.to <= deps.clock.now()))
      throw new MeshError(
        "USAGE",
        "backfill: a span that has passed is wanted, its beginning before its end",
      );
    return tell(deps, name, "backfilled", "backfill", span);
  },
  delete: (name) => tell(deps, name, "deleted", "remove", {}),
});

async function create(deps: ClientDeps, config: ScheduleConfig): Promise<ScheduleDoneDocument> {
  const settings = settingsFrom(config);
  const now = deps.clock.now();
  assertCalendar(settings, now);
  await assertStartable(deps, config, settings, now);
  const present = await scheduleSagaOf(deps, settings.name);
  if (present?.ended === false) {
    await assertSame(deps, present, settings);
    return { name: settings.name, saga: present.saga, done: "created" };
  }
  const number = (present?.number ?? 0) + 1;
  const saga = scheduleSagaId(settings.name, number);
  await startSaga(deps, { id: saga, name: scheduleDefinition, input: toJson({ settings, number }) });
  return { name: settings.name, saga, done: "created" };
}

/** Throws INPUT_INVALID, USAGE. */
function settingsFrom({ saga, catchup, jitter, input, ...config }: ScheduleConfig): ScheduleSettings {
  const given = {
    ...config,
    saga: typeof saga === "string" ? saga : saga.name,
    input: toValue(input),
    ...(catchup === undefined ? {} : { catchupMs: Math.round(msOf(catchup)) }),
    ...(jitter === undefined ? {} : { jitterMs: Math.round(msOf(jitter)) }),
  };
  const read = ScheduleSettings.safeParse(
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  );
  if (read.success) return read.data;
  throw new MeshError("INPUT_INVALID", `the schedule: ${z.prettifyError(read.error)}`);
}

/** What a run would be given is tried on its schema, and hosts must be able to take the schedule. */
async function assertStartable(
  { ports }: ClientDeps,
  { saga }: ScheduleConfig,
  { saga: name, version, input, dueAs }: ScheduleSettings,
  now: number,
): Promise<void> {
  const given = dueAs === undefined ? input : withMember(input, dueAs, isoOf(now));
  if (typeof saga === "string") checkStart(await readRegistry(ports.registry), { name, version }, given);
  else {
    const read = saga.input.safeParse(given);
    if (!read.success)
      throw new MeshError("INPUT_INVALID", `the input of ${name}: ${z.prettifyError(read.error)}`);
  }
  const hosts = await takingHosts(ports.membership);
  if (hosts.length > 0 && !hosts.some(({ serves }) => serves.some((one) => one.name === scheduleDefinition)))
    throw new MeshError("AGENT_UNKNOWN", "no living host serves schedules", {
      remedy: "They are of a former version of sagamesh: start one of this version beside them.",
    });
}

function withMember(input: Json, member: string, value: Json): Json {
  if (typeof input === "object" && input !== null && !Array.isArray(input))
    return { ...input, [member]: value };
  throw new MeshError("INPUT_INVALID", `the input is no object, so it has no member "${member}"`);
}

/** Throws SAGA_ID_TAKEN. */
async function assertSame(deps: ClientDeps, { name, saga }: ScheduleSaga, settings: ScheduleSettings) {
  const there = await settingsOf(deps, saga);
  if (there !== undefined && canonicalJson(there) === canonicalJson(settings)) return;
  throw new MeshError("SAGA_ID_TAKEN", `there is a schedule ${name}, and it is another`, {
    remedy: `Look at it: \`sagamesh schedule show ${name}\`. Delete it first, or take another name.`,
  });
}

/** Throws SAGA_UNKNOWN. */
async function living(deps: ClientDeps, name: string): Promise<ScheduleSaga> {
  const found = ScheduleName.safeParse(name).success ? await scheduleSagaOf(deps, name) : undefined;
  if (found?.ended === false) return found;
  throw new MeshError(
    "SAGA_UNKNOWN",
    `there is no schedule ${name}${found === undefined ? "" : " any more"}`,
    {
      remedy: "`sagamesh schedule list` names those that there are.",
    },
  );
}

/** QX1 */
async function tell(
  deps: ClientDeps,
  name: string,
  done: ScheduleDoneDocument["done"],
  signal: keyof (typeof scheduleSaga)["signals"],
  data: Json,
): Promise<ScheduleDoneDocument> {
  let heard: SagaId | undefined;
  for (let one = await living(deps, name); one.saga !== heard;) {
    await sendSignal(deps, one.saga, signal, data);
    heard = one.saga;
    one = (await scheduleSagaOf(deps, name)) ?? one;
    if (one.ended) break;
  }
  return { name: ScheduleName.parse(name), saga: heard ?? scheduleSagaId(name, 1), done };
}
