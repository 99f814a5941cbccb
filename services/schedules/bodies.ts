/**
 * Bodies: what a host does for a schedule, as any client would do it.
 *
 * QI1 Whatever fails may be asked for again, and is the same run, saga or signal then: nothing is ever in doubt for the schedule.
 */
import {
  type AnyBody,
  implement,
  type Implementation,
  NotPerformed,
  type Tool,
} from "../../actors/contract/tool.ts";
import { ScheduleInput } from "../../actors/schedule/context.ts";
import { beginNext, beginRun, dueTimes, lookAtRun, tellSaga } from "../../actors/schedule/tools.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { isoOf } from "../../protocol/instant.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { readScheduleSagaId, scheduleDefinition, type ScheduleSettings } from "../../protocol/schedule.ts";
import { dueTimes as reckon } from "../calendar/due-times.ts";
import { endOfRun } from "../client/schedule-runs.ts";
import { settingsOf } from "../client/schedule-sagas.ts";
import { type ClientDeps, sendSignal } from "../client/send.ts";
import { startSaga } from "../client/start.ts";

/** A body of a built-in tool. */
export type Bound = readonly [tool: Tool, body: AnyBody];

/** What the bodies live on. */
export type SchedulesDeps = Omit<ClientDeps, "from">;

/** That of one tool. Throws TOOL_UNSERVED for any other tool. */
export function bodyOf(tool: Tool, deps: SchedulesDeps): AnyBody {
  const bound = scheduleBodies(deps).find(([one]) => one === tool);
  if (bound === undefined) throw new MeshError("TOOL_UNSERVED", `${tool.name} is not built in`);
  return bound[1];
}

/** All of them. */
export const scheduleBodies = (deps: SchedulesDeps): readonly Bound[] =>
  implemented(deps).map(({ tool, body }) => [tool, body]);

function implemented(deps: SchedulesDeps): readonly Implementation[] {
  /** Who speaks is the schedule. */
  const as = (from: string): ClientDeps => ({ ...deps, from });
  return [
    implement(dueTimes, { perform: (wanted) => again(async () => reckon(wanted, wanted)) }),
    implement(beginRun, {
      perform: ({ schedule, run, saga, version, due, dueAs }) =>
        again(async () => {
          const settings = await settingsKnown(as(schedule), schedule);
          const input = inputOf(settings, dueAs, due);
          await startSaga(as(schedule), { id: run, name: saga, version, input });
          return {};
        }),
    }),
    implement(lookAtRun, {
      perform: ({ run }) =>
        again(async () => ({ ended: !["starting", "running"].includes(await endOfRun(as(run), run)) })),
    }),
    implement(tellSaga, {
      perform: ({ saga, signals }, { key }) =>
        again(async () => {
          const from = key.slice(0, key.indexOf("."));
          for (const { id, name, data } of signals) await sendSignal(as(from), saga, name, data, id);
          return {};
        }),
    }),
    implement(beginNext, {
      perform: ({ schedule, next, carried }) =>
        again(async () => {
          const settings = await settingsKnown(as(schedule), schedule);
          const number = readScheduleSagaId(next)?.number ?? 0;
          const input = toJson(ScheduleInput.parse({ settings, number, carried }));
          await startSaga(as(schedule), { id: next, name: scheduleDefinition, input });
          return {};
        }),
    }),
  ];
}

/** The settings without what was left out: a start is known by its input. */
async function settingsKnown(deps: ClientDeps, schedule: SagaId): Promise<ScheduleSettings> {
  const settings = await settingsOf(deps, schedule);
  if (settings !== undefined) return settings;
  throw new MeshError("UNAVAILABLE", `what ${schedule} was told is not to be read now`);
}

function inputOf({ input }: ScheduleSettings, dueAs: string | undefined, due: number): Json {
  if (dueAs === undefined) return input;
  if (typeof input === "object" && input !== null && !Array.isArray(input))
    return { ...input, [dueAs]: isoOf(due) };
  throw new MeshError(
    "INPUT_INVALID",
    `the input is no object, and its time was to be its member "${dueAs}"`,
  );
}

/** QI1 */
async function again<T>(perform: () => Promise<T>): Promise<T> {
  try {
    return await perform();
  } catch (error) {
    if (!isMeshError(error)) throw error;
    throw new NotPerformed(error.message, { retry: error.retriable, cause: error });
  }
}
