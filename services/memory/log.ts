/**
 * The ledger's messages as they are kept and read: whole, by saga, and by followers.
 *
 * LG1 `last` is the leader's word, and so is a refusal; a leader that was deposed and does not know it answers both
 *     from what it had then. A range may be read from a replica that lags: it then ends early, and has no holes.
 * LG2 A follower is told that there is more, not what: it reads on from where it is, so nothing is lost to it
 *     however long it was away.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { sagaOfLedger } from "../../protocol/subjects.ts";
import type { StoredMessage } from "../wire/ports.ts";
import type { VirtualClock } from "./clock.ts";
import type { Weather } from "./faults.ts";

export interface MemoryLog {
  add(message: StoredMessage): void;
  last(saga: SagaId): StoredMessage | undefined;
  /** What an append is compared with: 0 before the first turn. Undefined where the true leader compares. */
  deposedHead(saga: SagaId): number | undefined;
  read(saga: SagaId, afterSeq: number, throughSeq: number, most?: number): StoredMessage[];
  /** What is stored after the sequence, of one saga or of all. */
  after(saga: SagaId | undefined, afterSeq: number): StoredMessage[];
  list(): { saga: SagaId; turns: number }[];
  /** The sequence of the newest message of all sagas. */
  end(): number;
  /** Removes a saga's messages before the sequence. */
  purgeBefore(saga: SagaId, seq: number): void;
  /** Removes one of a saga's messages. */
  remove(saga: SagaId, seq: number): void;
  /** Forgets all that was stored after the sequence, as a stream does that an older copy was put in place of. */
  setBack(seq: number): void;
  /** The sequence of the last message on the saga's subject as the true leader compares it; 0 for none. */
  headSeq(saga: SagaId): number;
  /** Calls back at each storing, of one saga or of any; returns the end of it. */
  watch(saga: SagaId | undefined, wake: () => void): () => void;
}

const lagTurnsMax = 2;
/** How long a deposed leader goes on answering, and how many of the calls it gets. */
const deposedMs = { min: 50, max: 4_000 };
const askedShare = 0.5;

export function createLog(clock: VirtualClock, replicas: 1 | 3, weather: Weather): MemoryLog {
  let all: StoredMessage[] = [];
  let endSeq = 0; // Also of what was removed.
  const bySaga = new Map<SagaId, StoredMessage[]>();
  const watchers = new Set<{ saga: SagaId | undefined; wake: () => void }>();
  const deposed = { until: 0, knownSeq: 0 };
  /** LG1: how far the deposed leader knows, if this call is one that it answers. */
  const askDeposed = (): number | undefined => {
    const now = clock.now();
    if (replicas === 3 && now >= deposed.until && weather.happens("deposed"))
      Object.assign(deposed, {
        until: now + weather.chance.between(deposedMs.min, deposedMs.max),
        knownSeq: all.at(-1)?.seq ?? 0,
      });
    return now < deposed.until && weather.chance.happens(askedShare) ? deposed.knownSeq : undefined;
  };
  const drop = (saga: SagaId, isDropped: (message: StoredMessage) => boolean) => {
    bySaga.set(
      saga,
      turnsOf(saga).filter((message) => !isDropped(message)),
    );
    all = all.filter((message) => !isDropped(message) || sagaOfLedger(message.subject) !== saga);
  };
  const turnsOf = (saga: SagaId | undefined) => (saga === undefined ? all : (bySaga.get(saga) ?? []));

  return {
    add: (message) => {
      const saga = sagaOfLedger(message.subject);
      const turns = bySaga.get(saga);
      if (turns === undefined) bySaga.set(saga, [message]);
      else turns.push(message);
      all.push(message);
      endSeq = message.seq;
      for (const watcher of watchers) if (watcher.saga === undefined || watcher.saga === saga) watcher.wake();
    },
    last: (saga) => {
      const turns = turnsOf(saga);
      const knownSeq = askDeposed();
      return knownSeq === undefined ? turns.at(-1) : turns[placeAfter(turns, knownSeq) - 1];
    },
    deposedHead: (saga) => {
      const turns = turnsOf(saga);
      const knownSeq = askDeposed();
      return knownSeq === undefined ? undefined : (turns[placeAfter(turns, knownSeq) - 1]?.seq ?? 0);
    },
    read: (saga, afterSeq, throughSeq, most = Number.POSITIVE_INFINITY) => {
      const turns = turnsOf(saga);
      const lag = replicas === 3 && weather.happens("staleRead") ? weather.chance.between(1, lagTurnsMax) : 0;
      const end = Math.min(placeAfter(turns, throughSeq), Math.max(0, turns.length - lag));
      const start = placeAfter(turns, afterSeq);
      return turns.slice(start, Math.min(end, start + most));
    },
    after: (saga, afterSeq) => {
      const turns = turnsOf(saga);
      return turns.slice(placeAfter(turns, afterSeq));
    },
    list: () =>
      [...bySaga].flatMap(([saga, turns]) => (turns.length === 0 ? [] : [{ saga, turns: turns.length }])),
    end: () => endSeq,
    purgeBefore: (saga, seq) => drop(saga, (message) => message.seq < seq),
    remove: (saga, seq) => drop(saga, (message) => message.seq === seq),
    setBack: (seq) => {
      for (const saga of bySaga.keys()) drop(saga, (message) => message.seq > seq);
    },
    headSeq: (saga) => turnsOf(saga).at(-1)?.seq ?? 0,
    watch: (saga, wake) => {
      const watcher = { saga, wake };
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

/** The place of the first message with a greater sequence. */
function placeAfter(messages: readonly StoredMessage[], seq: number): number {
  let low = 0;
  let high = messages.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (messages[middle]!.seq > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
