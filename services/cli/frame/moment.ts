/**
 * Moment: a turn, or a point in time, as people type it; and a ledger as it stood then.
 *
 * MT1 Times are UTC unless they say otherwise, as everything that is printed is. A date alone means its whole day.
 * MT2 A ledger's times are its hosts' clocks, which may differ: the last turn that is not later than the time is meant,
 *     with all before it.
 */
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { instantOf } from "../../../protocol/instant.ts";
import { msOf } from "../../../protocol/duration.ts";
import type { LedgerSource } from "../../ledger/reader.ts";
import { ledgerUpTo, type Moment, type ReadUpTo } from "../../views/up-to.ts";

export const momentHint = "TURN|TIME";
export const momentHelp =
  "as of this turn, or of the last one at or before this time (UTC): 2026-11-22, 2026-11-22T09:30, or 5m for five minutes ago";

const dayMs = 86_400_000;

/**
 * A saga's ledger up to the moment, all of it without one. Throws USAGE for what is no moment; and as it is read, for one that the
 * ledger has not.
 */
export function upToMoment(
  source: LedgerSource,
  saga: SagaId,
  moment: string | undefined,
  now: number,
): ReadUpTo {
  const asked = momentOf(moment, now);
  const readSome = ledgerUpTo(source, saga, asked);
  return async (begin, through) => {
    const read = await readSome(begin, through);
    const { last, of, firstAt } = read;
    if (through !== undefined) return read;
    if (asked.turn !== undefined && last?.turn !== asked.turn)
      throw new MeshError("USAGE", `--at: expected a turn from 1 to ${of}, got "${moment}"`);
    if (asked.time !== undefined && last === undefined)
      throw new MeshError(
        "USAGE",
        `--at: the saga's first turn is of ${new Date(firstAt).toISOString()}, which is after ${new Date(asked.time).toISOString()}`,
      );
    return read;
  };
}

/** What people have typed. Throws USAGE. */
function momentOf(moment: string | undefined, now: number): Moment {
  if (moment === undefined) return {};
  return /^\d+$/.test(moment) ? { turn: Number(moment) } : { time: timeOf(moment, now) };
}

function timeOf(moment: string, now: number): number {
  const instant = instantOf(moment);
  if (instant !== undefined) return instant.isDay ? instant.at + dayMs - 1 : instant.at;
  if (/^-?\d/.test(moment)) {
    try {
      return now - msOf(moment.replace(/^-/, ""));
    } catch {
      // Told below, with all forms.
    }
  }
  throw new MeshError("USAGE", `--at: "${moment}" is neither a turn nor a time`, {
    remedy: "Write a turn (7), a time (2026-11-22, 2026-11-22T09:30:00Z), or how long ago (5m, 2h, 3d).",
  });
}
