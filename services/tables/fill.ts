/**
 * Fill: what is new on the ledgers goes into the tables.
 *
 * BJ1 A piece of the ledgers and the place behind it are written at once. Whoever goes on after a crash reads from the last place
 *     that was written, and what is there already is known by the saga's head: nothing comes twice, nothing is left out.
 * BJ2 A saga that is not in memory is read from its first turn on, which tells all that the next turn changes; what it gives anew
 *     is what the tables have not (saga-reading.ts).
 * BJ3 One ledger that cannot be read hinders no other: its row says so, and it is read again when something is stored on it, or, where
 *     that may pass by itself, after a while.
 * BJ4 What the server does not answer is thrown, and nothing of the piece is written.
 */
import { chainHash } from "../../protocol/digest.ts";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import { SagaId } from "../../protocol/ids.ts";
import { headers, shardOfLedger } from "../../protocol/subjects.ts";
import { readPages } from "../ledger/pages.ts";
import type { LedgerPiece, Ports, StoredMessage } from "../wire/ports.ts";
import { type ReadArchived, readingOf, type SagaReading } from "./saga-reading.ts";
import type { KnownHead, Place, SagaWrite, TableStore } from "./store.ts";

/** Sagas in memory: as many as may be under way on a few hosts, at some kilobytes each. One more costs reading one anew. */
const readingsMax = 5_000;

/** What tables are filled from. */
export interface FillSource {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "loop">;
  readonly readArchived: ReadArchived;
  /** How many shards there are, as the ledgers' end told last. */
  readonly shards: () => number;
}

/** Fills the tables of one store, as their writer. */
export interface Filling {
  /** By shard, as it stands in the tables. */
  readonly places: readonly Place[];
  /** Takes a piece. False where another process has the writer's part: then this filling is over. Throws UNAVAILABLE (BJ4). */
  take(piece: LedgerPiece): Promise<boolean>;
  /** BJ3: reads again what may be read by now. False and throws as `take`. */
  retry(): Promise<boolean>;
}

/** Goes on from what is in the tables. */
export function createFilling(
  source: FillSource,
  store: Pick<TableStore, "heads" | "faulty" | "write">,
  writer: string,
  from: readonly Place[],
): Filling {
  const { ledger } = source.ports;
  const places = [...from];
  const isOneShard = () => source.shards() === 1;
  const knownOf = async (saga: SagaId) => (await store.heads([saga])).get(saga);
  const reader = createSagaReader(source, knownOf, isOneShard);
  return {
    places,
    take: async ({ shard, through, messages }) => {
      const bySaga = Map.groupBy(messages, sagaOf);
      const sagas = [...bySaga.keys()].filter((saga) => saga !== undefined);
      const heads = await store.heads(sagas.filter((saga) => !reader.has(saga)));
      const writes: SagaWrite[] = [];
      let last: Place["last"] = places[shard]?.last;
      for (const saga of sagas) {
        const own = bySaga.get(saga) ?? [];
        const read = await reader.read(saga, shard, own, heads.get(saga));
        if (read?.write !== undefined) writes.push(read.write);
        const end = own.at(-1);
        if (read !== undefined && end !== undefined && end.seq > (last?.seq ?? 0))
          last = { seq: end.seq, saga, hash: chainHash(end.data) };
        const wait = source.ports.loop.breathe();
        if (wait !== undefined) await wait;
      }
      const place = { through, last };
      if (!(await store.write({ sagas: writes, places: new Map([[shard, place]]) }, writer))) return false;
      places[shard] = place;
      return true;
    },
    retry: async () => {
      for (const saga of await store.faulty(passing)) {
        const last = await ledger.last(saga);
        const write = last && (await reader.readAnew(saga, shardOfLedger(last.subject), last.seq));
        if (write !== undefined && !(await store.write({ sagas: [write], places: new Map() }, writer)))
          return false;
      }
      return true;
    },
  };
}

interface SagaReader {
  /** It is in memory. */
  has(saga: SagaId): boolean;
  /** What messages say that were stored on a saga's subject in a shard; undefined: its ledger is in another one. */
  read(
    saga: SagaId,
    shard: number,
    messages: readonly StoredMessage[],
    known: KnownHead | undefined,
  ): Promise<{ readonly write: SagaWrite | undefined } | undefined>;
  /** BJ2: up to a sequence that is stored on it. */
  readAnew(saga: SagaId, shard: number, throughSeq: number): Promise<SagaWrite | undefined>;
}

/** `knownOf`: what the tables have of a saga. */
function createSagaReader(
  { ports, readArchived }: FillSource,
  knownOf: (saga: SagaId) => Promise<KnownHead | undefined>,
  isOneShard: () => boolean,
): SagaReader {
  const { ledger, blobs, loop } = ports;
  const readings = new Map<SagaId, SagaReading>();

  const keep = (reading: SagaReading, write: SagaWrite | undefined): SagaWrite | undefined => {
    readings.delete(reading.saga);
    if (reading.isOver || write?.fault !== undefined) return write;
    readings.set(reading.saga, reading); // Last: used last.
    for (const saga of readings.keys()) {
      if (readings.size <= readingsMax) break;
      readings.delete(saga);
    }
    return write;
  };
  const readFrom = async (saga: SagaId, shard: number, known: KnownHead | undefined, throughSeq: number) => {
    const reading = readingOf({ saga, shard, known, blobs, readArchived });
    const write = await taking(reading, async () => {
      for await (const messages of readPages(ledger, saga, 0, throughSeq))
        for (const message of messages) {
          await reading.take(message);
          const wait = loop.breathe();
          if (wait !== undefined) await wait;
        }
    });
    return { reading, write };
  };
  const readAnew = async (saga: SagaId, shard: number, throughSeq: number) => {
    const read = await readFrom(saga, shard, await knownOf(saga), throughSeq);
    const { reading, write } = read.reading.agrees()
      ? read
      : await readFrom(saga, shard, undefined, throughSeq);
    return keep(reading, write);
  };
  /** Where nothing of a saga is known its ledger begins here, in a mesh that has one shard. */
  const readOn = async (reading: SagaReading, messages: readonly StoredMessage[]) => {
    const write = await taking(reading, async () => {
      for (const message of messages) if (message.seq > reading.seenSeq) await reading.take(message);
    });
    if (write?.fault === undefined) return keep(reading, write);
    // What was published before the first turn may have been read by then, and tell that all is well.
    return readAnew(reading.saga, reading.shard, messages.at(-1)?.seq ?? 0);
  };
  /** Only a mesh of several shards is asked: there its subject may have messages in another one, which are not its ledger. */
  const homeOf = async (saga: SagaId): Promise<number | undefined> => {
    if (isOneShard()) return 0;
    const last = await ledger.last(saga);
    return last && shardOfLedger(last.subject);
  };
  return {
    ...{ has: (saga) => readings.has(saga), readAnew },
    read: async (saga, shard, messages, known) => {
      const standing = readings.get(saga);
      const home = standing?.shard ?? known?.shard ?? (await homeOf(saga));
      if (home !== shard) return undefined;
      if (known?.archived === true) return { write: undefined }; // Nothing follows a tombstone.
      if (standing !== undefined) return { write: await readOn(standing, messages) };
      if (known !== undefined || !isOneShard())
        return { write: await readAnew(saga, shard, messages.at(-1)?.seq ?? 0) };
      return { write: await readOn(readingOf({ saga, shard, known, blobs, readArchived }), messages) };
    },
  };
}

/** BJ3: what passes by a person's word. */
const passing = ["SIGNER_UNKNOWN", "TRUST_UNSETTLED"];

/** What comes of taking some messages: what is new with what is wrong. Throws UNAVAILABLE (BJ4). */
async function taking(reading: SagaReading, take: () => Promise<void>): Promise<SagaWrite | undefined> {
  try {
    await take();
    reading.assertWhole();
    return reading.news();
  } catch (error) {
    if (isMeshError(error, "UNAVAILABLE")) throw error;
    return reading.news(isMeshError(error) ? error : brokenBy(error));
  }
}

const brokenBy = (error: unknown): MeshError =>
  new MeshError("LEDGER_BROKEN", `a turn cannot be read: ${describeError(error)}`);

/** Undefined for what somebody else published where no ledger can be, and for a signpost. */
function sagaOf({ subject, headers: fields }: StoredMessage): SagaId | undefined {
  return fields[headers.shard] === undefined ? SagaId.safeParse(subject.split(".")[1]).data : undefined;
}

/**
 * Whether the ledgers are the ones that the tables were filled from: where the last message of a shard was, is that one, or it was
 * taken away when its saga was archived. Throws UNAVAILABLE.
 */
export async function isStillThere(
  ledger: Pick<Ports["ledger"], "read" | "last">,
  places: readonly Place[],
): Promise<boolean> {
  for (const { last } of places) {
    if (last === undefined) continue;
    const [there] = await ledger.read(last.saga, last.seq - 1, last.seq);
    if (there !== undefined && chainHash(there.data) !== last.hash) return false;
    const newest = there ?? (await ledger.last(last.saga));
    if (newest === undefined || newest.seq < last.seq) return false;
  }
  return true;
}
