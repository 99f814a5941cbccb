/**
 * Parked: a saga whose hosts cannot take what comes for it, with the cause and what helps. What is sent to it is stored, and it
 * goes on by itself once the cause is gone.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { type Parked, parkedEntry, readParked } from "../../protocol/parked.ts";
import type { Clock, Ports } from "../wire/ports.ts";

/** Why it is parked; undefined where nothing says that it is, or it has gone on since. Throws UNAVAILABLE. */
export async function parkedOf(
  {
    ports,
    clock,
  }: {
    readonly ports: {
      readonly ledger: Pick<Ports["ledger"], "last">;
      readonly snapshots: Ports["snapshots"];
    };
    readonly clock: Pick<Clock, "now">;
  },
  saga: SagaId,
): Promise<Parked | undefined> {
  const note = readParked(await ports.snapshots.get(saga, parkedEntry));
  if (note === undefined || !isRenewed(note, clock.now())) return undefined;
  const last = await ports.ledger.last(saga);
  return (last?.seq ?? 0) === note.seq ? note : undefined;
}

/** What was set aside comes back no more, so nothing renews it. */
const isRenewed = ({ code, at }: Parked, now: number): boolean =>
  code === "POISON" || now - at < 3 * limits.parkedRenewMs;

/** What a person is told of a saga that is parked, and what helps. */
export const parkedText = ({ code, reason, remedy }: Parked): string =>
  `it is parked with ${code}: ${reason}${/[.!?]\s*$/.test(reason) ? "" : "."} ${remedy}`;
