/**
 * Examining sagas, for doctor: those of which a snapshot, or what a host noted, knows more than their ledger has.
 *
 * AH1 The snapshots are listed before the ledgers, and only sagas without a turn for a while are compared: what is ahead of its
 *     ledger then stays so.
 * AH2 It reads what is known by one turn's number: claims, parents and children are for `verify` and `restored`, which read
 *     ledgers whole.
 */
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import { chainHash } from "../../protocol/digest.ts";
import { SagaId } from "../../protocol/ids.ts";
import { buckets } from "../../protocol/subjects.ts";
import type { LivingSaga } from "../client/living.ts";
import { readSnapshot } from "../host/snapshots.ts";
import { beyondName, readNote } from "../ledger/beyond.ts";
import { claimOf, lastTurnOf } from "../ledger/chain.ts";
import { readMany } from "../ledger/many.ts";
import { type Examination, hasLedgers, isThere } from "../nats/examine.ts";
import { type Ledgers, withLedgers } from "../nats/ledgers.ts";
import { createSnapshots, snapshotNames } from "../nats/snapshots.ts";
import { bucketStream } from "../nats/streams.ts";
import type { SnapshotPort } from "../wire/ports.ts";
import { lookedAtMax, namedMax } from "./examine-sagas.ts";
import { systemClock } from "./system.ts";
import { trustedReader } from "./trusting.ts";

type Ahead = NonNullable<DoctorDocument["ahead"]>["some"][number];

/** Which are ahead; of the living ones these, that have not moved for a while. Throws UNAVAILABLE. */
export async function aheadAmong(
  nc: Parameters<typeof withLedgers>[0],
  examined: Examination,
  living: readonly LivingSaga[],
): Promise<DoctorDocument["ahead"]> {
  if (!hasLedgers(examined.health) || !isThere(examined.health, bucketStream(buckets.snapshot)))
    return undefined;
  return withLedgers(nc, async (given) => {
    const ledgers = await trustedReader(given);
    const snapshots = createSnapshots(given.context);
    const names = await snapshotNames(given.context); // AH1
    const listed = new Set<string>((await ledgers.ledger.list()).map(({ saga }) => saga));
    const isNamed = ({ saga }: LivingSaga) => names.has(saga) || names.has(`${saga}.${beyondName}`);
    const longest = living.filter(isNamed).sort((a, b) => a.updatedAt - b.updatedAt);
    const sagas = longest.slice(0, lookedAtMax).map(({ saga }) => saga);
    const found = await readMany(sagas, (saga) => compare({ ledgers, snapshots, names }, saga));
    const gone = [...names]
      .flatMap((name) => SagaId.safeParse(name).data ?? [])
      .filter((saga) => !listed.has(saga));
    const lost = gone.slice(0, namedMax).map(async (saga): Promise<Ahead> => {
      const knows = (await readSnapshot({ ports: { snapshots }, clock: systemClock }, saga))?.snapshot.head
        .turn;
      return { saga, turns: 0, knows: knows ?? 1, noted: false };
    });
    const some = [...(await Promise.all(lost)), ...found].slice(0, namedMax);
    return { sagas: gone.length + found.length, some };
  });
}

interface Sources {
  readonly ledgers: Ledgers;
  readonly snapshots: SnapshotPort;
  readonly names: ReadonlySet<string>;
}

async function compare({ ledgers, snapshots, names }: Sources, saga: SagaId): Promise<Ahead | undefined> {
  const found = names.has(saga)
    ? await readSnapshot({ ports: { snapshots }, clock: systemClock }, saga)
    : undefined;
  const noteName = `${saga}.${beyondName}`;
  const note = names.has(noteName) ? readNote(await snapshots.get(saga, beyondName)) : undefined;
  const last = await lastTurnOf(ledgers, saga);
  const turns = last && claimOf(last)?.turn;
  if (last === undefined || turns === undefined) return undefined;
  const head = found?.snapshot.head;
  const isOther = head?.turn === turns && head.hash !== chainHash(last.data);
  if (head !== undefined && (head.turn > turns || isOther))
    return { saga, turns, knows: head.turn, noted: false };
  return note !== undefined && note.turn > turns ? { saga, turns, knows: note.turn, noted: true } : undefined;
}
