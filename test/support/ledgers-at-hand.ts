/**
 * Ledgers at hand: turns that were recorded, as the streams of a mesh hold them, told in whatever order a test stores them. A small
 * model of how ledgers are read; it leaves out appends by compare-and-set, replicas and signposts.
 */
import { encodeJson } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Headers, headers, subjects } from "../../protocol/subjects.ts";
import { type Tombstone, tombstoneEvent } from "../../protocol/tombstone.ts";
import { toStored, type Turn } from "../../protocol/turn.ts";
import type { LedgerPort, Ports, StoredMessage } from "../../services/wire/ports.ts";

export interface LedgersAtHand {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "loop">;
  /** Stores a turn behind those of its saga, in the shard that the saga is in. */
  append(turn: Turn): void;
  /** Stores anything on a saga's subject. */
  publish(saga: SagaId, data: Uint8Array, fields?: Headers): void;
  /** Stores the tombstone of what was stored, and takes the turns away. */
  archive(saga: SagaId, end: Tombstone["end"]["status"]): Tombstone;
  /** All that is stored on a saga's subject. */
  of(saga: SagaId): readonly StoredMessage[];
  /** The stores forget what came after so many messages of each shard, as ones that were put back from a copy. */
  setBack(through: readonly number[]): void;
}

/** `shardOf`: in which of so many shards a saga is. */
export function ledgersAtHand(shards = 1, shardOf: (saga: SagaId) => number = () => 0): LedgersAtHand {
  const stored: StoredMessage[][] = Array.from({ length: shards }, () => []);
  const ends = stored.map(() => 0);
  const heads = new Map<SagaId, { turns: Turn[]; hash: string }>();
  const of = (saga: SagaId) =>
    (stored[shardOf(saga)] ?? []).filter(({ subject }) => subject.split(".")[1] === saga);
  const store = (saga: SagaId, data: Uint8Array, fields: Headers): void => {
    const shard = shardOf(saga);
    const seq = (ends[shard] ?? 0) + 1;
    ends[shard] = seq;
    const before = of(saga).at(-1)?.seq ?? 0;
    const told = { ...fields, [headers.expectedSeq]: String(before) };
    stored[shard]?.push({ subject: subjects.ledger(saga, shard), seq, headers: told, data, storedAt: seq });
  };
  const ledger = {
    end: async () => [...ends],
    last: async (saga) => of(saga).at(-1),
    read: async (saga, after, through, most = Number.POSITIVE_INFINITY) =>
      of(saga)
        .filter(({ seq }) => seq > after && seq <= through)
        .slice(0, most),
    since: async function* (places) {
      for (const [shard, through] of ends.entries())
        yield {
          ...{ shard, through },
          messages: (stored[shard] ?? []).filter(({ seq }) => seq > (places[shard] ?? 0)),
        };
    },
  } satisfies Partial<LedgerPort>;
  return {
    ports: {
      ledger: ledger as unknown as LedgerPort, // What is asked of it is there.
      blobs: { get: () => Promise.reject(new Error("no blob is named")), put: async () => undefined },
      loop: { breathe: () => undefined },
    },
    append: (turn) => {
      const head = heads.get(turn.saga) ?? { turns: [], hash: "" };
      const data = encodeJson(toStored({ ...turn, prev: head.hash }));
      store(turn.saga, data, {});
      heads.set(turn.saga, { turns: [...head.turns, turn], hash: chainHash(data) });
    },
    publish: (saga, data, fields = {}) => store(saga, data, fields),
    archive: (saga, status) => {
      const { turns, hash: prev } = heads.get(saga) ?? { turns: [], hash: "" };
      const [first] = turns;
      const start = first?.steps[0]?.event;
      if (first === undefined || start?.type !== "start") throw new Error(`${saga} has a start`);
      const at = turns.at(-1)?.at ?? first.at;
      const tombstone: Tombstone = {
        ...{ v: 1, type: "tombstone", saga, archivedAt: at, by: "tester", file: "archived-x.jsonl.gz", prev },
        ...{ turns: turns.length, definition: start.definition, inputDigest: "", startedAt: first.at },
        ...{ endedAt: at, end: { status, standing: [] }, unsettled: {} },
      };
      store(saga, encodeJson(tombstone), { [headers.event]: tombstoneEvent });
      const shard = shardOf(saga);
      const [last] = of(saga).slice(-1);
      stored[shard] = (stored[shard] ?? []).filter(
        (one) => one === last || one.subject.split(".")[1] !== saga,
      );
      return tombstone;
    },
    of,
    setBack: (through) => {
      for (const [shard, end] of through.entries()) {
        stored[shard] = (stored[shard] ?? []).filter(({ seq }) => seq <= end);
        ends[shard] = end;
      }
    },
  };
}
