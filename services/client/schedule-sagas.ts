/**
 * Schedule sagas: which saga a schedule is now, and what it was told.
 *
 * QS1 The sagas of a schedule have numbers without gaps: the one that it is now is the last that there is.
 */
import { ScheduleInput } from "../../actors/schedule/context.ts";
import { maxOf } from "../../protocol/extremes.ts";
import type { SagaId } from "../../protocol/ids.ts";
import {
  readScheduleSagaId,
  scheduleDefinition,
  scheduleSagaId,
  type ScheduleSettings,
} from "../../protocol/schedule.ts";
import { firstTurnOf } from "../ledger/begun.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { type Many, readMany } from "../ledger/many.ts";
import { decodeTurn, isTombstone } from "../ledger/reader.ts";
import { sagasOf } from "../listing/find.ts";
import { patiently } from "../wire/patience.ts";
import { readStanding } from "../wire/start.ts";
import { endIn } from "./follow-turns.ts";
import type { ClientDeps } from "./send.ts";

type Deps = Pick<ClientDeps, "ports" | "clock">;

/** The saga of a schedule; `ended`: the schedule was deleted, or its ledger is gone to an archive. */
export interface ScheduleSaga {
  readonly name: string;
  readonly number: number;
  readonly saga: SagaId;
  readonly ended: boolean;
}

/** The highest numbers of the schedules that the listing knows of, by their names. Throws UNAVAILABLE. */
async function numbersKnown({ ports }: Deps): Promise<Map<string, number>> {
  const known = new Map<string, number>();
  for (const saga of await sagasOf(ports, [{ name: scheduleDefinition }])) {
    const read = readScheduleSagaId(saga);
    if (read !== undefined) known.set(read.name, maxOf([read.number], known.get(read.name) ?? 0));
  }
  return known;
}

/** The saga that a schedule is; undefined: there never was one. Throws UNAVAILABLE. */
export async function scheduleSagaOf(deps: Deps, name: string): Promise<ScheduleSaga | undefined> {
  return lastFrom(deps, name, (await numbersKnown(deps)).get(name) ?? 0);
}

/** Reads each that has not ended, by name; beside them those that cannot be read. Throws UNAVAILABLE. */
export async function readSchedules<T>(
  deps: Deps,
  read: (schedule: ScheduleSaga) => Promise<T>,
): Promise<Many<T>> {
  const known = new Map(
    [...(await numbersKnown(deps))].map(([name, number]) => [scheduleSagaId(name, number), { name, number }]),
  );
  return readMany([...known.keys()].sort(), async (saga) => {
    const { name, number } = known.get(saga) ?? { name: "", number: 0 };
    const one = await lastFrom(deps, name, number);
    return one?.ended === false ? read(one) : undefined;
  });
}

/** QS1 */
async function lastFrom(deps: Deps, name: string, known: number): Promise<ScheduleSaga | undefined> {
  let number = known;
  while (await isThere(deps, scheduleSagaId(name, number + 1))) number += 1;
  if (number === 0) return undefined;
  const saga = scheduleSagaId(name, number);
  return { name, number, saga, ended: await hasEnded(deps, saga) };
}

const isThere = async (deps: Deps, saga: SagaId): Promise<boolean> =>
  (await startOrTurnOf(deps, saga)) !== undefined;

async function startOrTurnOf({ ports, clock }: Deps, saga: SagaId) {
  const last = () => patiently(clock, () => lastTurnOf(ports, saga));
  return (
    (await last()) ?? (await patiently(clock, () => ports.inbox.standingStart(saga))) ?? (await last()) // Taken meanwhile.
  );
}

/** A schedule's saga has nothing open when it ends, so its end is its last turn, but for one that a person cancelled. */
async function hasEnded({ ports, clock }: Deps, saga: SagaId): Promise<boolean> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  if (last === undefined) return false;
  return isTombstone(last) || endIn(await decodeTurn(ports.blobs, last)) !== undefined;
}

/** What the schedule of a saga was told when it was created; undefined where its first turn is not there to be read. */
export async function settingsOf(
  { ports, clock }: Deps,
  saga: SagaId,
): Promise<ScheduleSettings | undefined> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  const standing = last ?? (await patiently(clock, () => ports.inbox.standingStart(saga)));
  if (standing === undefined || (last !== undefined && isTombstone(last))) return undefined;
  const event = last && (await patiently(clock, () => firstTurnOf(ports, saga, last))).steps[0]?.event;
  const input = event?.type === "start" ? event.input : (await readStanding(ports, standing))?.input;
  return ScheduleInput.safeParse(input).data?.settings;
}
