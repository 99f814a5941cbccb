/**
 * Schedule shown: a schedule as its own ledger tells it, which is bounded, folded by the definition that decides it.
 */
import type { ScheduleContext } from "../../actors/schedule/context.ts";
import { firesAt } from "../../actors/schedule/agenda.ts";
import { scheduleSaga } from "../../actors/schedule/define.ts";
import { foldingLedger, presentDefinition } from "../../actors/kernel/replay.ts";
import type { ScheduleDocument, ScheduleRun } from "../../protocol/documents/schedule.ts";
import { isSameDefinition } from "../../protocol/deployments.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { latenessMs, ScheduleName } from "../../protocol/schedule.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import type { LedgerSource } from "../ledger/reader.ts";
import { readLedger } from "../views/view.ts";
import { inPieces } from "../wire/loop.ts";
import { patiently } from "../wire/patience.ts";
import { endOfRun } from "./schedule-runs.ts";
import { type ScheduleSaga, settingsOf } from "./schedule-sagas.ts";
import type { ClientDeps } from "./send.ts";

type Deps = Pick<ClientDeps, "ports" | "clock">;

/** Throws SAGA_UNKNOWN, LEDGER_BROKEN, FOLD_DIVERGED, UNAVAILABLE. */
export async function describeSchedule(deps: Deps, { name, saga }: ScheduleSaga): Promise<ScheduleDocument> {
  const settings = await settingsOf(deps, saga);
  if (settings === undefined) throw new MeshError("SAGA_UNKNOWN", `${saga} is gone`);
  const bare = { name: ScheduleName.parse(name), saga, settings, line: 0, ranges: [], runs: [] };
  if ((await patiently(deps.clock, () => lastTurnOf(deps.ports, saga))) === undefined)
    return { ...bare, status: "starting" };
  const known = await knownBy(deps.ports, saga);
  if (known === "unknown") return { ...bare, status: known };
  return { ...bare, ...shown(known, deps.clock.now()), runs: await runsOf(deps, known) };
}

/** What its machine knows after its last turn. Throws LEDGER_BROKEN, FOLD_DIVERGED, SAGA_ARCHIVED, UNAVAILABLE. */
export async function knownBy(ports: LedgerSource, saga: SagaId): Promise<ScheduleContext | "unknown"> {
  const turns = (await readLedger(ports, saga)).map(({ turn }) => turn);
  const { definition } = scheduleSaga;
  if (!isSameDefinition(presentDefinition(turns), definition)) return "unknown";
  const { state } = await inPieces(ports.loop, foldingLedger(definition, turns));
  return (state.snapshot.context as { readonly known: ScheduleContext }).known; // Proof: its machine's own (machine.ts).
}

/** When the next run begins, and how late that is by now; nothing while none is due. */
export function dueNext(
  { plan, held, ahead: [due] }: ScheduleContext,
  now: number,
): Pick<ScheduleDocument, "next" | "lateMs"> {
  if (held || due === undefined) return {};
  const next = firesAt(plan, due);
  return now - next > latenessMs ? { next, lateMs: now - next } : { next };
}

type Shown = Pick<
  ScheduleDocument,
  "status" | "next" | "lateMs" | "blocked" | "line" | "ranges" | "counts" | "refused" | "gap"
>;

function shown(known: ScheduleContext, now: number): Shown {
  const { held, line, ranges, current, blockedAt, last, counts, refused, gap } = known;
  return {
    status: held ? "paused" : "active",
    ...dueNext(known, now),
    ...(blockedAt === undefined || last === undefined || current === undefined
      ? {}
      : { blocked: { run: current.run, by: last, since: blockedAt } }),
    line: line.length + (current === undefined ? 0 : 1),
    ranges: [...ranges],
    counts,
    ...(refused === undefined
      ? {}
      : { refused: { run: refused.run, at: refused.at, code: refused.code, reason: refused.reason } }),
    ...(gap === undefined ? {} : { gap }),
  };
}

/** The latest stand in their order. */
async function runsOf(deps: Deps, { recent }: ScheduleContext): Promise<ScheduleRun[]> {
  const runs: ScheduleRun[] = [];
  for (const { run, due, by, begunAt } of recent)
    runs.push({ run, due, by, begunAt, status: await endOfRun(deps, run) });
  return runs;
}
