/**
 * The bare loop: the least that a step can cost on this server and this client, with nothing of sagamesh in it.
 *
 * Method: the messages of a turn (ARCHITECTURE.md) and nothing else. In the host, a step is one compare-and-set
 * append of about 500 bytes; the effect is no work at all. Through WORK, a step is: the intent to WORK, taken
 * by a worker, its result to an inbox, taken by the host, appended, both acked. Callbacks instead of promises,
 * one subscription for all answers, header blocks as text, one pull request for hundreds of messages.
 *
 * It leaves out: machine, validation, hash chain, Msg-Ids, redelivery, timeouts, and every error but one that
 * ends the run. Its streams are of the same kind as the mesh's, under names of their own.
 */
import { AckPolicy, jetstreamManager, RetentionPolicy, StorageType } from "@nats-io/jetstream";
import { createInbox, type Msg, type NatsConnection } from "@nats-io/nats-core";
import { encodeHeaders, natsHeaders } from "../../services/nats/headers.ts";

/** The loop's own streams. */
export const bare = { ledger: "BARE_LEDGER", work: "BARE_WORK", inbox: "BARE_INBOX", partitions: 8 } as const;
const { ledger, work, inbox, partitions } = bare;
const pullMax = 512;

/** Declares the loop's own streams and consumers. */
export async function declareBareStreams(nc: NatsConnection): Promise<void> {
  const jsm = await jetstreamManager(nc);
  const queue = { storage: StorageType.File, retention: RetentionPolicy.Workqueue } as const;
  const transform = {
    src: "bare.*.result.*",
    dest: `bareinbox.{{partition(${partitions},1)}}.{{wildcard(1)}}.{{wildcard(2)}}`,
  };
  await jsm.streams.add({ name: ledger, subjects: ["bare.*.ledger"], storage: StorageType.File });
  await jsm.streams.add({ name: work, subjects: ["barework"], ...queue });
  await jsm.streams.add({
    name: inbox,
    subjects: ["bare.*.result.*"],
    subject_transform: transform,
    ...queue,
  });
  const explicit = { ack_policy: AckPolicy.Explicit, max_ack_pending: -1 } as const;
  await jsm.consumers.add(work, { durable_name: "w", ...explicit });
  for (let p = 0; p < partitions; p++)
    await jsm.consumers.add(inbox, {
      durable_name: `p${p}`,
      filter_subject: `bareinbox.${p}.>`,
      ...explicit,
    });
}

export interface BareRun {
  readonly sagas: number;
  readonly steps: number;
}

/** Runs so many sagas of so many steps with the effect in the host. Resolves with the milliseconds it took. */
export function runBareHost(nc: NatsConnection, { sagas, steps }: BareRun): Promise<number> {
  return timed((done, failed) => {
    const loops = bareSagas(sagas, steps);
    let running = sagas;
    const { publish, close } = answers(nc, failed, (index, seq) => {
      const saga = loops[index]!;
      saga.seq = seq;
      saga.turn += 1;
      if (saga.turn < steps) append(index);
      else if (--running === 0) {
        close();
        done();
      }
    });
    const append = (index: number) => publishTurn(publish, loops[index]!, index);
    for (let index = 0; index < sagas; index++) append(index);
  });
}

/** The same through WORK and an inbox, the worker in this process. */
export function runBareWorker(nc: NatsConnection, { sagas, steps }: BareRun): Promise<number> {
  return timed((done, failed) => {
    const loops = bareSagas(sagas, steps);
    let running = sagas;
    const finish = () => {
      for (const part of [appended, handedOn, answered, worker, host]) part.close();
      done();
    };
    const appended = answers(nc, failed, (index, seq) => {
      const saga = loops[index]!;
      saga.seq = seq;
      saga.turn += 1;
      if (saga.turn <= steps) publishIntent(handedOn.publish, saga, index);
      else {
        ack(saga);
        running -= 1;
        if (running === 0) finish();
      }
    });
    /** The intent is handed on, so the input that brought it about may be acked. */
    const handedOn = answers(nc, failed, (index) => ack(loops[index]!));
    const answered = answers(nc, failed, (index) => ack(loops[index]!.performed!));
    const worker = pull(nc, work, ["w"], (message) => {
      const index = (JSON.parse(textOf(message)) as { index: number }).index;
      const saga = loops[index]!;
      saga.performed = { reply: message.reply! };
      const data = JSON.stringify({ attempt: 1, by: "worker", outcome: "succeeded", output: {}, index });
      answered.publish(`bare.${saga.id}.result.${saga.turn}-0`, data, index);
    });
    const host = pull(
      nc,
      inbox,
      Array.from({ length: partitions }, (_, p) => `p${p}`),
      (message) => {
        const index = (JSON.parse(textOf(message)) as { index: number }).index;
        const saga = loops[index]!;
        saga.reply = message.reply!;
        publishTurn(appended.publish, saga, index);
      },
    );
    const ack = (held: { reply: string | undefined }) => {
      if (held.reply !== undefined) nc.publish(held.reply, "+ACK");
    };
    for (let index = 0; index < sagas; index++) publishTurn(appended.publish, loops[index]!, index);
  });
}

interface BareSaga {
  readonly id: string;
  seq: number;
  turn: number;
  /** Of the input that is being taken. */
  reply: string | undefined;
  performed?: { readonly reply: string };
}

const bareSagas = (sagas: number, steps: number): BareSaga[] => {
  const run = `${Date.now().toString(36)}${steps}`;
  return Array.from({ length: sagas }, (_, index) => ({
    id: `bare-${run}-${index}`,
    seq: 0,
    turn: 0,
    reply: undefined,
  }));
};

type Publish = (subject: string, data: string, index: number, headers?: Record<string, string>) => void;

const hash = "0123456789abcdef".repeat(4);

const publishTurn = (publish: Publish, { id, turn, seq }: BareSaga, index: number): void =>
  publish(`bare.${id}.ledger`, turnBody(id, turn), index, {
    [natsHeaders.expectedSubjectSeq]: String(seq),
  });

/** A turn of about 500 bytes. */
export function turnBody(id: string, turn: number): string {
  const result = { outcome: "succeeded", output: {} };
  const event = {
    type: "result",
    intent: `${turn}-0`,
    attempt: 1,
    by: "host-of-the-bare-loop-123456-abcdef",
    result,
  };
  const intents = [
    {
      kind: "tool",
      id: `${turn + 1}-0`,
      name: "noop",
      key: `${id}.${turn + 1}-0.${hash.slice(0, 16)}`,
      input: {},
    },
  ];
  return JSON.stringify({
    v: 3,
    saga: id,
    turn,
    at: Date.now(),
    host: "host-of-the-bare-loop-123456-abcdef",
    prev: hash,
    steps: [{ event, intents }],
  });
}

const publishIntent = (publish: Publish, { id, turn }: BareSaga, index: number): void =>
  publish("barework", intentBody(id, turn, index), index);

export const intentBody = (id: string, turn: number, index: number): string =>
  JSON.stringify({
    saga: id,
    intent: `${turn}-0`,
    attempt: 1,
    tool: "noop",
    key: `${id}.${turn}-0`,
    input: {},
    index,
  });

/** Publishes whose acknowledgements all come to one callback: who asked, and the sequence. */
function answers(
  nc: NatsConnection,
  failed: (error: Error) => void,
  take: (index: number, seq: number) => void,
) {
  const prefix = createInbox();
  const sub = nc.subscribe(`${prefix}.*`, {
    callback: (error, message) => {
      if (error !== null) return failed(error);
      const ack = JSON.parse(textOf(message)) as { seq?: number; error?: { description: string } };
      if (ack.seq === undefined)
        return failed(new Error(`the bare loop was refused: ${ack.error?.description}`));
      take(Number(message.subject.slice(prefix.length + 1)), ack.seq);
    },
  });
  const publish: Publish = (subject, data, index, headers) =>
    nc.publish(subject, data, {
      reply: `${prefix}.${index}`,
      ...(headers === undefined ? {} : { headers: encodeHeaders(headers) }),
    });
  return { publish, close: () => sub.unsubscribe() };
}

/** Pulls from durable consumers, asking for more when half of what was asked for has come. */
function pull(nc: NatsConnection, stream: string, names: readonly string[], take: (message: Msg) => void) {
  const subs = names.map((name) => {
    const replyTo = createInbox();
    let asked = 0;
    const ask = () => {
      const batch = pullMax - asked;
      asked += batch;
      nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify({ batch, expires: 60e9 }), {
        reply: replyTo,
      });
    };
    const sub = nc.subscribe(replyTo, {
      callback: (_, message) => {
        if (!message.reply) return;
        asked -= 1;
        if (asked <= pullMax / 2) ask();
        take(message);
      },
    });
    ask();
    return sub;
  });
  return { close: () => subs.forEach((sub) => sub.unsubscribe()) };
}

const textOf = ({ data }: Msg): string => Buffer.from(data.buffer, data.byteOffset, data.length).toString();

async function timed(body: (done: () => void, failed: (error: Error) => void) => void): Promise<number> {
  const startedAt = performance.now();
  await new Promise<void>(body);
  return performance.now() - startedAt;
}
