/**
 * Examining sagas, for doctor: those of which a snapshot, or what a host noted, knows more than their ledger has.
 *
 * AH1 The snapshots are listed before the ledgers, and only sagas without a turn for a while are compared: what is ahead of its
 *     ledger then stays so.
 * AH2 It reads what is known by one turn's number: claims, parents and children are for `verify` and `restored`, which read
 *     ledgers whole.
 * AH3 Which snapshots and ledgers there are is asked where they are few, or all is looked at. Else the snapshots of the sagas
 *     that are looked at are read, and the notes of hosts, of all sagas, are found by their name.
 */
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import { chainHash } from "../../protocol/digest.ts";
import { SagaId } from "../../protocol/ids.ts";
import { buckets, isLedgerStream } from "../../protocol/subjects.ts";
import { type LivingSaga, livingSagas } from "../client/living.ts";
import { readSnapshot } from "../host/snapshots.ts";
import { beyondName, readNote } from "../ledger/beyond.ts";
import { claimOf, lastTurnOf } from "../ledger/chain.ts";
import { readMany } from "../ledger/many.ts";
import { type Examination, hasLedgers, isThere } from "../nats/examine.ts";
import { type Ledgers, withLedgers } from "../nats/ledgers.ts";
import { createSnapshots, sagasNoted, snapshotNames } from "../nats/snapshots.ts";
import { bucketStream } from "../nats/streams.ts";
import type { SnapshotPort } from "../wire/ports.ts";
import { namedMax, orphanedAfterMs, type Quiet } from "./examine-sagas.ts";
import { lookedAtMax } from "./examine-which.ts";
import { systemClock } from "./system.ts";
import { trustedReader } from "./trusting.ts";

type Ahead = NonNullable<DoctorDocument["ahead"]>["some"][number];
type Context = Parameters<typeof snapshotNames>[0];

/** AH3: so many of either are listed within a fraction of a second. */
const fewSnapshots = 20_000;
const fewMessages = 500_000;

/** Which are ahead; of the living ones these, that have not moved for a while. Throws UNAVAILABLE. */
export async function aheadAmong(
  nc: Parameters<typeof withLedgers>[0],
  examined: Examination,
  quiet: Quiet,
): Promise<DoctorDocument["ahead"]> {
  const { health } = examined;
  if (!hasLedgers(health) || !isThere(health, bucketStream(buckets.snapshot))) return undefined;
  return withLedgers(nc, async (given) => {
    const { context } = given;
    const ledgers = await trustedReader(given);
    const snapshots = createSnapshots(context);
    const isAll = quiet.looked.by === "ledgers" || areFew(health);
    const { names, living, gone } = isAll
      ? await byNames(context, ledgers, quiet)
      : await byNotes(context, ledgers, quiet, examined.now - orphanedAfterMs);
    const longest = [...living].sort((a, b) => a.updatedAt - b.updatedAt);
    const sagas = longest.slice(0, lookedAtMax).map(({ saga }) => saga);
    const found = await readMany(sagas, (saga) => compare({ ledgers, snapshots, names }, saga));
    const knownOf = async (saga: SagaId) =>
      (await readSnapshot({ ports: { snapshots }, clock: systemClock }, saga))?.snapshot.head.turn;
    const lost = gone.slice(0, namedMax).map(async (saga): Promise<Ahead> => ({
      ...{ saga, turns: 0, noted: false },
      knows: (await knownOf(saga)) ?? 1,
    }));
    const some = [...(await Promise.all(lost)), ...found].slice(0, namedMax);
    return { sagas: gone.length + found.length, some };
  });
}

const areFew = (health: Examination["health"]): boolean => {
  const messagesOf = (isOne: (name: string) => boolean) =>
    (health?.streams ?? []).reduce((sum, { name, messages }) => sum + (isOne(name) ? messages : 0), 0);
  return (
    messagesOf((name) => name === bucketStream(buckets.snapshot)) <= fewSnapshots &&
    messagesOf(isLedgerStream) <= fewMessages
  );
};

/** What is compared. */
interface Compared {
  /** What there is beside the ledgers; undefined: that was not asked. */
  readonly names: ReadonlySet<string> | undefined;
  readonly living: readonly LivingSaga[];
  /** Their ledgers are gone, and something of theirs is there. */
  readonly gone: readonly SagaId[];
}

async function byNames(context: Context, ledgers: Ledgers, { living }: Quiet): Promise<Compared> {
  const names = await snapshotNames(context); // AH1
  const listed = new Set<string>((await ledgers.ledger.list()).map(({ saga }) => saga));
  const isNamed = ({ saga }: LivingSaga) => names.has(saga) || names.has(`${saga}.${beyondName}`);
  const gone = [...names]
    .flatMap((name) => SagaId.safeParse(name).data ?? [])
    .filter((saga) => !listed.has(saga));
  return { names, living: living.filter(isNamed), gone };
}

async function byNotes(
  context: Context,
  ledgers: Ledgers,
  { living, gone: listed }: Quiet,
  quietSince: number,
): Promise<Compared> {
  const snapshots = createSnapshots(context);
  const known = new Set(living.map(({ saga }) => saga));
  const noted = (await sagasNoted(context, beyondName)).filter((saga) => !known.has(saga));
  const others = await livingSagas(ledgers, { of: noted.slice(0, lookedAtMax), quietSince });
  const gone = await readMany(listed.slice(0, lookedAtMax), async (saga) =>
    (await snapshots.get(saga)) === undefined ? undefined : saga,
  );
  return { names: undefined, living: [...living, ...others], gone };
}

interface Sources extends Pick<Compared, "names"> {
  readonly ledgers: Ledgers;
  readonly snapshots: SnapshotPort;
}

async function compare({ ledgers, snapshots, names }: Sources, saga: SagaId): Promise<Ahead | undefined> {
  const mayHave = (name: string) => names?.has(name) ?? true;
  const found = mayHave(saga)
    ? await readSnapshot({ ports: { snapshots }, clock: systemClock }, saga)
    : undefined;
  const note = mayHave(`${saga}.${beyondName}`) ? readNote(await snapshots.get(saga, beyondName)) : undefined;
  const last = await lastTurnOf(ledgers, saga);
  const turns = last && claimOf(last)?.turn;
  if (last === undefined || turns === undefined) return undefined;
  const head = found?.snapshot.head;
  const isOther = head?.turn === turns && head.hash !== chainHash(last.data);
  if (head !== undefined && (head.turn > turns || isOther))
    return { saga, turns, knows: head.turn, noted: false };
  return note !== undefined && note.turn > turns ? { saga, turns, knows: note.turn, noted: true } : undefined;
}
