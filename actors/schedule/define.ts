/**
 * The definition of schedules: built in, and served by every host.
 *
 * QQ1 It is the same on every host: no policy of an application is bound to it, for the hash would tell them apart. What it
 *     begins are sagas like any other, under the policies that hold for them.
 */
import { z } from "zod";
import { scheduleDefinition } from "../../protocol/schedule.ts";
import { defineSaga } from "../saga/define.ts";
import { ScheduleInput } from "./context.ts";
import { scheduleMachine, signals } from "./machine.ts";

/** A schedule as a saga. A newer version of it takes over those that sleep, if it decides the same. */
export const scheduleSaga = defineSaga({
  name: scheduleDefinition,
  version: 1,
  moves: "auto",
  description: "Begins sagas at times that a cron expression names.",
  input: ScheduleInput,
  output: z.object({ removed: z.boolean(), next: z.string().optional() }),
  signals,
  machine: scheduleMachine,
});

/** What every host serves besides its application. */
export const builtIn = [scheduleSaga.definition] as const;
