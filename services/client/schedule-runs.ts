/**
 * Schedule runs: how a run stands, by as little of its ledger as tells.
 */
import type { ScheduleRun } from "../../protocol/documents/schedule.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { decodeTurn, isTombstone, readTombstone } from "../ledger/reader.ts";
import { readView } from "../views/view.ts";
import { patiently } from "../wire/patience.ts";
import { endIn } from "./follow-turns.ts";
import type { ClientDeps } from "./send.ts";

/**
 * `refused` also of one that nobody knows any more. Of most that have ended the last turn says so; the others are read whole.
 * Throws LEDGER_BROKEN, UNAVAILABLE.
 */
export async function endOfRun(
  { ports, clock }: Pick<ClientDeps, "ports" | "clock">,
  run: SagaId,
): Promise<ScheduleRun["status"]> {
  const look = () => patiently(clock, () => lastTurnOf(ports, run));
  let last = await look();
  if (last === undefined) {
    if ((await patiently(clock, () => ports.inbox.standingStart(run))) !== undefined) return "starting";
    last = await look(); // Between the two looks it may have been taken and acked.
  }
  if (last === undefined) return "refused";
  if (isTombstone(last)) return (await readTombstone(ports.blobs, last)).end.status;
  const end = endIn(await decodeTurn(ports.blobs, last));
  return end?.status ?? (await readView(ports, run)).status;
}
