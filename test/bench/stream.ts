/**
 * Stream: how many messages a second one stream takes, of the kinds of which a mesh has one, on one server and on three that each keep it.
 *
 * Method: so many publishers, each of which sends its next message of 300 bytes when the last is acked, for some seconds, after some that
 * are not counted. A ledger is a stream of as many subjects, each message a compare-and-set; a queue is worked off meanwhile: a consumer
 * takes and acks, in the same process. It is what bounds INBOX and WORK in `How far it goes` of ARCHITECTURE.md.
 *
 * It does not measure: servers on machines of their own. All share these processors, so of three a stream may well carry more.
 */
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy, StorageType } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalCluster } from "../../deploy/local-cluster.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { systemClock } from "../../services/runtime/system.ts";
import { startTestServer } from "../support/nats-server.ts";
import type { Sync } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import { workOf } from "./peers/processes.ts";

const publishers = 256;
const body = new Uint8Array(300);
const settleMs = 2_000;
const windowMs = 5_000;

interface Place {
  readonly url: string;
  readonly pids: readonly number[];
  close(): Promise<void>;
}

export async function measureStreams(syncs: readonly Sync[]): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const sync of syncs)
    for (const servers of [1, 3] as const) {
      const place = await open(sync, servers);
      try {
        for (const kind of ["ledger", "queue"] as const)
          rows.push({ sync, servers, kind, ...(await measure(place, servers, kind)) });
      } finally {
        await place.close();
      }
    }
  return {
    title: "What one stream carries",
    rows,
    notes: [`${publishers} publishers. servers: processor time of each a message, the one with most first.`],
  };
}

async function open(sync: Sync, servers: 1 | 3): Promise<Place> {
  if (servers === 1) {
    const server = await startTestServer({ syncAlways: sync === "always" });
    return { url: server.url, pids: [server.pid], close: () => server.stop() };
  }
  const dataDir = await mkdtemp(join(tmpdir(), "sagamesh-stream-"));
  const cluster = await startLocalCluster({ dataDir, report: () => {}, syncAlways: sync === "always" });
  const close = async () => {
    await cluster.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { url: cluster.url, pids: cluster.servers.map((server) => server.pid() ?? 0), close };
}

async function measure({ url, pids }: Place, replicas: number, kind: "ledger" | "queue") {
  const nc = await connectNats({ servers: url.split(","), name: "bench" });
  const jsm = await jetstreamManager(nc);
  await jsm.streams.add({
    name: kind,
    subjects: [`${kind}.*`],
    storage: StorageType.File,
    num_replicas: replicas,
    ...(kind === "queue" ? { retention: RetentionPolicy.Workqueue } : {}),
  });
  const taking = kind === "queue" ? await take(nc, kind) : undefined;
  let sent = 0;
  const over = new AbortController();
  const js = jetstream(nc);
  const publish = async (subject: string) => {
    let seq: number | undefined = 0;
    while (!over.signal.aborted) {
      const expect: { expect?: { lastSubjectSequence: number } } =
        kind === "queue" || seq === undefined ? {} : { expect: { lastSubjectSequence: seq } };
      // One that a leader which was elected anew has not answered is stored perhaps: the next one asks for no place.
      seq = await js.publish(subject, body, expect).then(
        (ack) => ack.seq,
        () => undefined,
      );
      if (seq !== undefined) sent += 1;
    }
  };
  const all = Array.from({ length: publishers }, (_, k) => publish(`${kind}.${k}`));
  const look = async () => ({ sent, used: await Promise.all(pids.map((pid) => workOf([pid]))) });
  await systemClock.sleep(settleMs);
  const before = await look();
  const began = performance.now();
  await systemClock.sleep(windowMs);
  const after = await look();
  const seconds = (performance.now() - began) / 1_000;
  over.abort();
  await Promise.all(all);
  await taking?.();
  await nc.close();
  const count = after.sent - before.sent;
  const used = after.used.map((now, k) => (now - before.used[k]!) / count).sort((a, b) => b - a);
  return { "messages/s": rounded(count / seconds), "servers, µs": used.map(rounded).join(", ") };
}

/** Takes and acks all; resolves to what ends it. */
async function take(nc: NatsConnection, stream: string): Promise<() => Promise<void>> {
  const jsm = await jetstreamManager(nc);
  const settings = { durable_name: "all", ack_policy: AckPolicy.Explicit, max_ack_pending: -1 };
  await jsm.consumers.add(stream, settings);
  const consumer = await jetstream(nc).consumers.get(stream, settings.durable_name);
  const messages = await consumer.consume({ max_messages: 1_000 });
  const taken = (async () => {
    for await (const message of messages) message.ack();
  })();
  return async () => {
    await messages.close();
    await taken;
  };
}
