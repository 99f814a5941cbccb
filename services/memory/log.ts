/**
 * The ledger's messages as they are kept and read: whole, by saga, and by those who follow.
 *
 * G1 `last` is the leader's word. A range may be read from a replica that lags: it then ends early, and has no
 *    holes.
 * G2 A follower is told that there is more, not what: it reads on from where it is, so nothing is lost to it
 *    however long it was away.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { sagaOfLedger } from "../../protocol/subjects.ts";
import type { StoredMessage } from "../ports.ts";
import type { Weather } from "./faults.ts";

export interface MemoryLog {
  add(message: StoredMessage): void;
  last(saga: SagaId): StoredMessage | undefined;
  read(saga: SagaId, afterSeq: number, throughSeq: number): StoredMessage[];
  /** What is stored after the sequence, of one saga or of all. */
  after(saga: SagaId | undefined, afterSeq: number): StoredMessage[];
  list(): { saga: SagaId; turns: number }[];
  /** Calls back at each storing, of one saga or of any; returns the end of it. */
  watch(saga: SagaId | undefined, wake: () => void): () => void;
}

const lagTurnsMax = 2;

export function createLog(replicas: 1 | 3, weather: Weather): MemoryLog {
  const all: StoredMessage[] = [];
  const bySaga = new Map<SagaId, StoredMessage[]>();
  const watchers = new Set<{ saga: SagaId | undefined; wake: () => void }>();
  const turnsOf = (saga: SagaId | undefined) => (saga === undefined ? all : (bySaga.get(saga) ?? []));

  return {
    add: (message) => {
      const saga = sagaOfLedger(message.subject);
      const turns = bySaga.get(saga);
      if (turns === undefined) bySaga.set(saga, [message]);
      else turns.push(message);
      all.push(message);
      for (const watcher of watchers) if (watcher.saga === undefined || watcher.saga === saga) watcher.wake();
    },
    last: (saga) => bySaga.get(saga)?.at(-1),
    read: (saga, afterSeq, throughSeq) => {
      const turns = turnsOf(saga);
      const lag = replicas === 3 && weather.happens("staleRead") ? weather.chance.between(1, lagTurnsMax) : 0; // G1
      const end = Math.min(placeAfter(turns, throughSeq), Math.max(0, turns.length - lag));
      return turns.slice(placeAfter(turns, afterSeq), end);
    },
    after: (saga, afterSeq) => {
      const turns = turnsOf(saga);
      return turns.slice(placeAfter(turns, afterSeq));
    },
    list: () => [...bySaga].map(([saga, turns]) => ({ saga, turns: turns.length })),
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
