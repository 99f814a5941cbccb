/**
 * A stream's door: sequences, Msg-Ids and the compare-and-set.
 *
 * Owns: whether a message is stored, and what its publisher hears. Does not own: what becomes of it then;
 * `take` is the ledger's, a queue's or the claims'.
 *
 * SR1 One replica looks at the expectation first: an append that is sent again is refused, WRONG_SEQUENCE,
 *     though it was stored. Three look at the Msg-Id first: it is a duplicate, whatever it expects.
 * SR2 On three replicas a write is proposed, and stored a little later, in the order of the proposals. Until
 *     then its subject and its Msg-Id are in flight, and a second writer is told so.
 * SR3 A Msg-Id is known for the window, from its first storing; a repeat does not renew it, and it outlives
 *     its message.
 * SR4 A plain write does not move a subject's sequence here, unless the stream tells what stands (`headOf`), as a queue
 *     does, whose acks take messages away, and a ledger, to which others may publish. What an append compared stands
 *     beside it, as on a server.
 */
import { MeshError } from "../../protocol/errors.ts";
import { type Headers, headers as headerNames } from "../../protocol/subjects.ts";
import type { Ack, StoredMessage } from "../wire/ports.ts";
import type { VirtualClock } from "./clock.ts";
import type { Weather } from "./faults.ts";
import type { Reply } from "./reply.ts";

export interface Storing {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: Headers;
  readonly msgId?: string;
  readonly expectedSeq?: number;
}

export interface MemoryStream {
  readonly store: (message: Storing, reply: Reply<Ack>) => void;
  /** Numbers from after the sequence again, as an older copy does. */
  readonly setBack: (seq: number) => void;
  readonly lastSeq: () => number;
}

export interface StreamOptions {
  readonly clock: VirtualClock;
  readonly weather: Weather;
  readonly replicas: 1 | 3;
  readonly duplicateWindowMs: number;
  /** True while the server refuses to store more. */
  readonly isFull: () => boolean;
  /** The last sequence of what is stored on a subject, 0 if nothing is; the last compare-and-set's unless given (SR4). */
  readonly headOf?: (subject: string) => number;
  /** Is handed each stored message, in order of sequence. */
  readonly take: (message: StoredMessage) => void;
}

/** What a server takes by default, headers not counted. */
export const payloadBytesMax = 1024 * 1024;
const electionMs = { min: 20, max: 600 };

export function createStream({
  clock,
  weather,
  replicas,
  duplicateWindowMs,
  isFull,
  take,
  ...options
}: StreamOptions): MemoryStream {
  const known = createDuplicateWindow(clock, duplicateWindowMs);
  const heads = new Map<string, number>();
  const headOf = options.headOf ?? ((subject: string) => heads.get(subject) ?? 0);
  const inFlight = createInFlight();
  let lastSeq = 0;
  let lastCommitAt = 0;

  const commit = ({ subject, data, headers, msgId, expectedSeq }: Storing): Ack => {
    const seq = ++lastSeq;
    if (expectedSeq !== undefined) heads.set(subject, seq); // SR4
    if (msgId !== undefined) known.add(msgId, seq);
    const fields = {
      ...headers,
      ...(msgId === undefined ? {} : { [headerNames.msgId]: msgId }),
      ...(expectedSeq === undefined ? {} : { [headerNames.expectedSeq]: String(expectedSeq) }),
    };
    take({ subject, seq, headers: fields, data, storedAt: clock.now() });
    return { seq, duplicate: false };
  };

  const propose = (message: Storing, reply: Reply<Ack>) => {
    inFlight.add(message);
    const heldUpMs = weather.happens("slowCommit")
      ? weather.chance.between(electionMs.min, electionMs.max)
      : 0;
    lastCommitAt = Math.max(lastCommitAt, clock.now() + 1 + heldUpMs); // SR2
    clock.quietlyAt(lastCommitAt, () => {
      inFlight.remove(message);
      reply({ value: commit(message) });
    });
  };

  const duplicateOf = ({ msgId }: Storing): Ack | undefined => {
    const seq = msgId === undefined ? undefined : known.seqOf(msgId);
    return seq === undefined ? undefined : { seq, duplicate: true };
  };
  const wrongSequence = ({ subject, expectedSeq }: Storing): MeshError | undefined => {
    if (expectedSeq === undefined) return undefined;
    const head = headOf(subject);
    if (expectedSeq === head) return undefined;
    return new MeshError(
      "WRONG_SEQUENCE",
      `${subject}: wrong last sequence: expected ${expectedSeq}, got ${head} (10071)`,
    );
  };
  const storeOnOne = (message: Storing, reply: Reply<Ack>) => {
    const error = refusalOf(message, isFull()) ?? wrongSequence(message); // SR1
    if (error !== undefined) return reply({ error });
    reply({ value: duplicateOf(message) ?? commit(message) });
  };
  const storeOnThree = (message: Storing, reply: Reply<Ack>) => {
    const duplicate = duplicateOf(message); // SR1
    if (duplicate !== undefined) return reply({ value: duplicate });
    const error = refusalOf(message, isFull()) ?? inFlight.refusalOf(message) ?? wrongSequence(message);
    if (error !== undefined) return reply({ error });
    propose(message, reply);
  };
  return {
    store: replicas === 1 ? storeOnOne : storeOnThree,
    setBack: (seq) => (lastSeq = Math.min(seq, lastSeq)),
    lastSeq: () => lastSeq,
  };
}

/** Why the server takes such a message at no time, or takes none now. */
function refusalOf({ subject, data }: Storing, isFull: boolean): MeshError | undefined {
  if (data.length > payloadBytesMax)
    return new MeshError("TOO_LARGE", `${subject}: ${data.length} bytes are over the server's max_payload`);
  return isFull ? new MeshError("STORAGE_FULL", `${subject}: the server's storage is full`) : undefined;
}

/** The writes that are proposed and not stored yet (SR2). */
function createInFlight() {
  const ids = new Set<string>();
  const subjects = new Map<string, number>();
  return {
    add: ({ subject, msgId }: Storing) => {
      if (msgId !== undefined) ids.add(msgId);
      subjects.set(subject, (subjects.get(subject) ?? 0) + 1);
    },
    remove: ({ subject, msgId }: Storing) => {
      if (msgId !== undefined) ids.delete(msgId);
      const left = subjects.get(subject)! - 1;
      if (left === 0) subjects.delete(subject);
      else subjects.set(subject, left);
    },
    refusalOf: ({ subject, msgId, expectedSeq }: Storing): MeshError | undefined => {
      if (msgId !== undefined && ids.has(msgId))
        return new MeshError(
          "DUPLICATE_IN_FLIGHT",
          `${subject}: a message with the id ${msgId} is being stored (10158)`,
        );
      if (expectedSeq !== undefined && subjects.has(subject))
        return new MeshError("WRITE_IN_FLIGHT", `${subject}: another write is in flight (10164)`);
      return undefined;
    },
  };
}

function createDuplicateWindow(clock: VirtualClock, windowMs: number) {
  const ids = new Map<string, { seq: number; until: number }>(); // in order of age, since no repeat renews one
  return {
    add: (msgId: string, seq: number) => {
      for (const [old, { until }] of ids) {
        if (until > clock.now()) break;
        ids.delete(old);
      }
      ids.set(msgId, { seq, until: clock.now() + windowMs });
    },
    seqOf: (msgId: string): number | undefined => {
      const entry = ids.get(msgId);
      return entry !== undefined && entry.until > clock.now() ? entry.seq : undefined; // SR3
    },
  };
}
