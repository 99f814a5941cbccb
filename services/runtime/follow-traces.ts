/**
 * Follow traces: what is over on any ledger goes to a receiver of spans, from where the last exporter came to.
 *
 * YF1 The place is stored after the receiver has all before it. An exporter that dies sends again what it sent since: the same
 *     spans with the same ids. Nothing is left out but what the receiver refused, which is said.
 * YF2 A ledger that cannot be read is told of, once, and hinders no other. One that was archived before it was read is such a one.
 * YF3 It only reads: no host waits for it, and it needs no right to write.
 */
import { describeError, isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { sagaOfLedger, shardOfLedger } from "../../protocol/subjects.ts";
import { emptyHead, type Head, turnsInPages } from "../ledger/reader.ts";
import type { Batches } from "../otlp/batches.ts";
import { createSpanReader, type SpanOptions, type SpanReader } from "../traces/spans.ts";
import type { Clock, Ports } from "../wire/ports.ts";

export interface FollowDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "loop">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
}

/** Where an exporter has come to: the last sequence of each shard whose spans the receiver has. */
export interface PlaceStore {
  /** Undefined: nothing was exported yet. */
  read(): Promise<readonly number[] | undefined>;
  write(places: readonly number[]): Promise<void>;
}

/** How often it looks whether something was stored: one question to the server for each shard. */
const lookEveryMs = 1_000;
/** After a look that failed. */
const againMs = 5_000;
/** Sagas whose readers stay in memory between two looks; of another one the ledger is read from its start. */
const readersMax = 500;
/** Of a saga's intents that are over; what is open is remembered in any case. */
const remembers = 32;

interface Following {
  readonly deps: FollowDeps;
  readonly batches: Batches;
  readonly options: SpanOptions;
  /** Those read last come last. */
  readonly readers: Map<SagaId, { readonly reader: SpanReader; readonly head: Head }>;
  readonly unreadable: Set<SagaId>;
}

/**
 * Exports until the signal. Who was never here begins with what ends from now on. Throws OTLP_REFUSED, and what reading or
 * writing the place throws; a server that does not answer is asked again.
 */
export async function followTraces(
  deps: FollowDeps,
  { batches, store, content }: { batches: Batches; store: PlaceStore; content: boolean },
): Promise<void> {
  const { ports, clock, signal } = deps;
  const self: Following = {
    ...{ deps, batches, options: { content, remembers }, readers: new Map(), unreadable: new Set() },
  };
  let places = await store.read();
  while (!signal.aborted) {
    try {
      const end = await ports.ledger.end();
      if (places === undefined || isBehind(places, end)) {
        if (places !== undefined)
          await exportSince(
            self,
            places.map((place, k) => Math.min(place, end[k] ?? 0)),
          );
        await store.write(end); // YF1
        places = end;
      }
      await clock.sleep(lookEveryMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!isMeshError(error, "UNAVAILABLE")) throw error;
      deps.report(`spans are not exported now: ${describeError(error)}`);
      await clock.sleep(againMs, signal).catch(() => undefined);
    }
  }
}

/** Something was stored since, a shard was added, or a ledger was set back. */
const isBehind = (places: readonly number[], end: readonly number[]): boolean =>
  places.length !== end.length || end.some((seq, shard) => seq !== places[shard]);

async function exportSince(self: Following, places: readonly number[]): Promise<void> {
  const done = new Set<SagaId>();
  for await (const { messages } of self.deps.ports.ledger.since(places))
    for (const { subject } of messages) {
      const saga = sagaOfLedger(subject);
      self.deps.signal.throwIfAborted();
      if (done.has(saga)) continue;
      done.add(saga);
      await exportSaga(self, saga, places);
    }
  await self.batches.flush();
}

async function exportSaga(self: Following, saga: SagaId, places: readonly number[]): Promise<void> {
  const { deps, options, readers, unreadable } = self;
  const { ports } = deps;
  const last = await ports.ledger.last(saga);
  if (last === undefined) return;
  const place = places[shardOfLedger(last.subject)] ?? 0;
  let { reader, head } = readers.get(saga) ?? { reader: createSpanReader(options), head: emptyHead };
  readers.delete(saga); // A reader that fails on its way has taken turns that its head does not name.
  if (head.seq > last.seq) [reader, head] = [createSpanReader(options), emptyHead]; // The ledger was set back.
  try {
    for await (const page of turnsInPages(ports, saga, head, last.seq))
      for (const stored of page) {
        const spans = reader.take(stored.turn);
        head = stored.head;
        if (stored.head.seq > place) await self.batches.add(spans);
        const wait = ports.loop.breathe();
        if (wait !== undefined) await wait;
      }
  } catch (error) {
    deps.signal.throwIfAborted();
    if (!isOfLedger(error)) throw error;
    if (!unreadable.has(saga)) deps.report(`spans of ${saga} are not exported: ${describeError(error)}`); // YF2
    unreadable.add(saga);
    return;
  }
  readers.set(saga, { reader, head });
  for (const oldest of readers.keys()) {
    if (readers.size <= readersMax) break;
    readers.delete(oldest);
  }
}

const isOfLedger = (error: unknown): boolean =>
  (["SAGA_ARCHIVED", "LEDGER_BROKEN", "LEDGER_VERSION", "BAD_MESSAGE"] as const).some((code) =>
    isMeshError(error, code),
  );
