/**
 * A bucket: the newest value of each key, on the messages of its stream. What six ports have in common.
 *
 * The client's own buckets write without a time to live and miss keys of a listing while others are written; so a bucket
 * is read and written as the stream that it is.
 */
import { SagaId } from "../../protocol/ids.ts";
import type { Headers } from "../../protocol/subjects.ts";
import type { Ack } from "../wire/ports.ts";
import { translated } from "./errors.ts";
import { natsHeaders } from "./headers.ts";
import { publish, type Storing } from "./publish.ts";
import { type Remaking, withStream } from "./remake.ts";
import { headOf, newestByDirectRead, newestOfLeader, type ReadContext, readRange } from "./read.ts";
import { bucketStream, entryKey, entrySubject } from "./streams.ts";

/** An entry of a listing. */
export interface Entry {
  readonly key: string;
  readonly data: Uint8Array;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly storedAt: number;
  /** The sequence it was stored at. */
  readonly revision: number;
}

/** The value of a key that is known. */
type Value = Omit<Entry, "key">;

export interface PutOptions extends Pick<Storing, "control" | "expectedSeq" | "msgId"> {
  /** The server counts in whole seconds, from one up; an entry rather stays a little longer. */
  readonly ttlMs?: number;
}

/** Every method throws UNAVAILABLE and the like, as `translated` and `publish` say it. */
export interface Bucket {
  readonly stream: string;
  /** Resolves with the entry's revision. Throws WRONG_SEQUENCE where `expectedSeq` is not what is there. */
  put(key: string, data: Uint8Array, options?: PutOptions): Promise<number>;
  /** The same, with all that the server said. */
  store(key: string, data: Uint8Array, options?: PutOptions): Promise<Ack>;
  /** As the leader has it. */
  newest(key: string): Promise<Value | undefined>;
  /** From any replica: fast, and perhaps not the newest. */
  glance(key: string): Promise<Value | undefined>;
  /**
   * The entries as they were when asked for, oldest first; read as a range of messages. What was deleted has a marker as
   * its last value and is left out. With `under` only keys that begin with that and a dot.
   */
  list(under?: string): Promise<Entry[]>;
  /** The keys as they are, without their values: a question for each 100,000 of them. Those that fit a pattern; all unless given. */
  keys(pattern?: string): Promise<string[]>;
  /** Takes away what is stored under a key, which may hold wildcards, and leaves no marker; up to a revision, if given. */
  purge(key: string, throughRevision?: number): Promise<void>;
}

/** The bucket of this name, which is there: declare.ts makes it. */
export function openBucket(context: ReadContext & Remaking, name: string): Bucket {
  const { requests, jsm } = context;
  const stream = bucketStream(name);
  const within = <T>(run: () => Promise<T>) => withStream(context, stream, run);
  const entryOf = (message: Awaited<ReturnType<typeof newestOfLeader>>): Value | undefined =>
    message && { data: message.data, revision: message.seq, storedAt: message.storedAt };
  const store: Bucket["store"] = (key, data, { ttlMs, control = {}, ...options } = {}) => {
    const ttl: Headers =
      ttlMs === undefined ? {} : { [natsHeaders.ttl]: `${Math.max(1, Math.ceil(ttlMs / 1_000))}s` };
    const message = { ...options, subject: entrySubject(name, key), stream, data };
    return within(() => publish(requests, { ...message, control: { ...ttl, ...control } }));
  };
  return {
    stream,
    store,
    put: async (...entry) => (await store(...entry)).seq,
    newest: async (key) => entryOf(await within(() => newestOfLeader(jsm, stream, entrySubject(name, key)))),
    glance: async (key) =>
      entryOf(await within(() => newestByDirectRead(requests, stream, entrySubject(name, key)))),
    list: async (under) => {
      const { lastSeq } = await within(() => headOf(jsm, stream));
      const keys = under === undefined ? ">" : `${under}.>`;
      const range = { stream, subject: entrySubject(name, keys), afterSeq: 0, throughSeq: lastSeq };
      // A replica that lags gives an entry's former value, and the leader then its newer one: the last counts.
      const entries = new Map<string, Entry>();
      for (const { subject, seq, headers, data, storedAt } of await readRange(context, range)) {
        const key = entryKey(name, subject);
        if (headers[natsHeaders.kvOperation] === undefined)
          entries.set(key, { key, data, storedAt, revision: seq });
        else entries.delete(key);
      }
      return [...entries.values()];
    },
    keys: (pattern = ">") =>
      within(async () => {
        const subjects_filter = entrySubject(name, pattern);
        const { state } = await translated(stream, () => jsm.streams.info(stream, { subjects_filter }));
        return Object.keys(state.subjects ?? {}).map((subject) => entryKey(name, subject));
      }),
    purge: async (key, throughRevision) => {
      const filter = entrySubject(name, key);
      const through = throughRevision === undefined ? {} : { seq: throughRevision + 1 };
      await within(() => translated(filter, () => jsm.streams.purge(stream, { filter, ...through })));
    },
  };
}

/** Whose entries there are, where keys begin with a saga's id; what begins with no id is nobody's. */
export const sagasIn = async (bucket: Pick<Bucket, "keys">): Promise<ReadonlySet<SagaId>> =>
  new Set((await bucket.keys()).flatMap((key) => SagaId.safeParse(key.split(".", 1)[0]).data ?? []));
