/**
 * Reading stored messages of a stream in ranges.
 *
 * Owns: batches of direct reads, and the proof that nothing is missing at the end. Used for a saga's turns,
 * for the chunks of a blob, for everything in a bucket.
 *
 * A direct read is one request and leaves nothing behind on the server. An ephemeral consumer reads ten
 * thousand turns twice as fast, but has to be made and taken away, which costs more than reading ten.
 *
 * RE1 Any replica answers a direct read, also one that lags. So the end is not where the answers end: it is
 *     the sequence the caller names, or the leader's word that nothing lies between.
 * RE2 Each answer names the sequence before it. A hole (a message lost between servers) ends the batch there,
 *     and the next one starts at the hole.
 */
import type { JetStreamManager, StoredMsg } from "@nats-io/jetstream";
import type { Msg } from "@nats-io/nats-core";
import type { StoredMessage } from "../wire/ports.ts";
import { refusalToMeshError, translated, unanswered } from "./errors.ts";
import { decodeHeaders, fieldsOf } from "./headers.ts";
import type { Requests } from "./requests.ts";

/** A batch holds the stream's lock on the server while it is sent: a thousand turns are some milliseconds. */
const batchMax = 1_000;

/** Of one batch where only the first messages are asked for: who reads some at a time has so much in memory at once. */
const someBytesMax = 4 * 1024 * 1024;

export interface Range {
  readonly stream: string;
  /** May hold wildcards. */
  readonly subject: string;
  /** Exclusive. */
  readonly afterSeq: number;
  /** Inclusive. */
  readonly throughSeq: number;
}

export interface ReadContext {
  readonly requests: Requests;
  readonly jsm: JetStreamManager;
}

/** All messages of the range, in order; or the first of them, so many at most. Throws UNAVAILABLE. */
export async function readRange(
  context: ReadContext,
  range: Range,
  most = Number.POSITIVE_INFINITY,
): Promise<StoredMessage[]> {
  const messages: StoredMessage[] = [];
  for await (const some of readInPieces(context, range, most)) {
    for (const message of some) messages.push(message);
    if (most < Infinity) break;
  }
  return messages;
}

/** The same, a batch at a time. */
export async function* readInPieces(
  context: ReadContext,
  range: Range,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<StoredMessage[]> {
  for (let { afterSeq } = range; afterSeq < range.throughSeq;) {
    const batch = await readBatch(context.requests, { ...range, afterSeq }, most);
    if (batch.length === 0) {
      const next = await nextOfLeader(context.jsm, { ...range, afterSeq }); // RE1
      if (next === undefined || next.seq > range.throughSeq) return;
      batch.push(next);
    }
    afterSeq = batch.at(-1)!.seq; // Proof: it is not empty.
    yield batch;
  }
}

async function readBatch(requests: Requests, range: Range, most: number): Promise<StoredMessage[]> {
  const messages: StoredMessage[] = [];
  const batch = Math.min(batchMax, range.throughSeq - range.afterSeq, most);
  const bounds = most < Infinity ? { max_bytes: someBytesMax } : {};
  const request = { seq: range.afterSeq + 1, next_by_subj: range.subject, batch, ...bounds };
  let lastSeq = 0;
  await requests.many(`$JS.API.DIRECT.GET.${range.stream}`, JSON.stringify(request), (answer) => {
    const { status, fields } = decodeHeaders(answer);
    if (status !== 0 || fields[direct.lastSeq] !== String(lastSeq)) return "done"; // RE2, or the end of the batch
    const message = toStored(answer, fields);
    if (message.seq > range.throughSeq) return "done";
    messages.push(message);
    lastSeq = message.seq;
    return messages.length === batch || lastSeq === range.throughSeq ? "done" : "more";
  });
  return messages;
}

/** Fields by which a direct read says what it found; they are not the message's own. */
const direct = {
  stream: "Nats-Stream",
  subject: "Nats-Subject",
  seq: "Nats-Sequence",
  time: "Nats-Time-Stamp",
  pending: "Nats-Num-Pending",
  lastSeq: "Nats-Last-Sequence",
} as const;
const directFields: ReadonlySet<string> = new Set(Object.values(direct));

function toStored(answer: Msg, fields: Record<string, string>): StoredMessage {
  const headers: Record<string, string> = {};
  for (const name in fields) if (!directFields.has(name)) headers[name] = fields[name]!;
  return {
    subject: fields[direct.subject] ?? "",
    seq: Number(fields[direct.seq]),
    headers,
    data: answer.data,
    storedAt: Date.parse(fields[direct.time] ?? ""),
  };
}

/** The newest message of one literal subject by a direct read: fast, and on a replicated stream perhaps not the newest. */
export async function newestByDirectRead(
  requests: Requests,
  stream: string,
  subject: string,
): Promise<StoredMessage | undefined> {
  return foundIn(await requests.one(`$JS.API.DIRECT.GET.${stream}.${subject}`, ""), `${stream} ${subject}`);
}

/** The newest messages of these literal subjects by one direct read, of those that have any; at most 1,024 of them. */
export async function newestOfEach(
  requests: Requests,
  stream: string,
  subjects: readonly string[],
): Promise<StoredMessage[]> {
  const messages: StoredMessage[] = [];
  await requests.many(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ multi_last: subjects }), (answer) => {
    const { status, description, fields } = decodeHeaders(answer);
    if (status === 0) messages.push(toStored(answer, fields));
    else if (status !== 204 && status !== 404)
      throw refusalToMeshError({ code: status, description }, stream);
    return status === 0 ? "more" : "done";
  });
  return messages;
}

/** The first message after a sequence by a direct read: of any replica, so that there is none is not said by it. */
export async function firstByDirectRead(
  requests: Requests,
  { stream, subject, afterSeq }: Range,
): Promise<StoredMessage | undefined> {
  const query = JSON.stringify({ seq: afterSeq + 1, next_by_subj: subject });
  return foundIn(await requests.one(`$JS.API.DIRECT.GET.${stream}`, query), `${stream} ${subject}`);
}

/** What the answer to a direct read of one message says; undefined: there is none. */
function foundIn(answer: Msg, what: string): StoredMessage | undefined {
  const { status, description, fields } = decodeHeaders(answer);
  if (status === 0) return toStored(answer, fields);
  if (status === 404) return undefined;
  throw refusalToMeshError({ code: status, description }, what);
}

/** The newest message of a subject as the stream's leader has it. */
export const newestOfLeader = async (
  jsm: JetStreamManager,
  stream: string,
  subject: string,
): Promise<StoredMessage | undefined> =>
  fromLeader(await translated(subject, () => jsm.streams.getMessage(stream, { last_by_subj: subject })));

/** The first message of the subject after a sequence, as the stream's leader has it. */
export const nextOfLeader = async (
  jsm: JetStreamManager,
  range: Range,
): Promise<StoredMessage | undefined> => {
  // The server takes the subject beside the sequence; the client's type for this call leaves it out.
  const query = { seq: range.afterSeq + 1, next_by_subj: range.subject };
  return fromLeader(await translated(range.subject, () => jsm.streams.getMessage(range.stream, query)));
};

const fromLeader = (message: StoredMsg | null): StoredMessage | undefined =>
  message === null
    ? undefined
    : {
        subject: message.subject,
        seq: message.seq,
        headers: fieldsOf(message.header),
        data: message.data,
        storedAt: message.time.getTime(),
      };

/** The stream's last sequence and its server's time of saying so. */
export async function headOf(
  jsm: JetStreamManager,
  stream: string,
): Promise<{ lastSeq: number; now: number }> {
  const info = await translated(stream, () => jsm.streams.info(stream));
  if (info.ts === undefined) throw unanswered(stream, "the server told no time");
  return { lastSeq: info.state.last_seq, now: Date.parse(info.ts) };
}
