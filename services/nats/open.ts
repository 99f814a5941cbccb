/**
 * All ports on one connection.
 *
 * Owns: declaring what the ports stand on, and what is started on their behalf. Does not own: the connection.
 */
import { jetstream, type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { streams } from "../../protocol/subjects.ts";
import { processLoop } from "../wire/loop.ts";
import type { Ports } from "../wire/ports.ts";
import { createBlobs } from "./blobs.ts";
import { createClaims } from "./claims.ts";
import { createDead } from "./dead.ts";
import { declareConsumer, declareStream, found } from "./declare.ts";
import { createInbox } from "./inbox.ts";
import { createLedger } from "./ledger.ts";
import { createLive } from "./live.ts";
import { createMembership } from "./membership.ts";
import type { Report } from "./progress.ts";
import { inboxConsumers, isQueue, queuesOf } from "./queues.ts";
import { createRegistry } from "./registry.ts";
import { createRequests, requestTimeoutMs } from "./requests.ts";
import { createSnapshots } from "./snapshots.ts";
import { laterNumbers } from "./remake.ts";
import { whileStarting } from "./start-up.ts";
import { declareStreams, partitionsDefault, partitionsKey } from "./streams.ts";
import { createSuspects } from "./suspects.ts";
import { createThrottles } from "./throttles.ts";
import { createWork } from "./work.ts";

/**
 * For what is asked of a stream's leader through the API: while there is none, no answer comes, and no error either.
 * Asked again that often, a saga goes on soon after the election; a leader answers in milliseconds.
 */
const askTimeoutMs = 1_000;

export interface OpenOptions {
  /** Of a new mesh; default 8. An existing one keeps its own, and another number given here is refused. */
  readonly partitions?: number;
  /**
   * Copies of every stream, bucket and consumer: 1, 3 or 5. Default: as many as the mesh has, and 1 for a new one.
   * Another number than there is is refused; `setReplicas` changes it.
   */
  readonly replicas?: number;
  /** Takes lines for a person: what the server says without being asked. */
  readonly report?: Report;
  /** Shorter leases, for tests. All hosts of a mesh have the same. */
  readonly inboxAckWaitMs?: number;
  readonly workAckWaitMs?: number;
}

/**
 * Declares streams, buckets and consumers, and returns the ports on them. Throws SERVER_MISCONFIGURED naming
 * stream, field, expected and got where something else is there; nothing that exists is changed.
 *
 * `close` ends what the ports hold open and fails unanswered calls with UNAVAILABLE. Consumptions and
 * followers end by their own `stop` and signal; the connection stays the caller's.
 */
export async function openNatsPorts(
  nc: NatsConnection,
  options: OpenOptions = {},
): Promise<Ports & { close(): Promise<void> }> {
  const {
    report = () => {},
    inboxAckWaitMs = limits.inboxAckWaitMs,
    workAckWaitMs = limits.workAckWaitMs,
  } = options;
  const declaring = await jetstreamManager(nc, { checkAPI: false });
  const declare = () => declareMesh(declaring, options, inboxAckWaitMs);
  const { partitions, replicas } = await whileStarting("the streams", declare, { report });
  const js = jetstream(nc, { timeout: requestTimeoutMs });
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: askTimeoutMs });
  const requests = createRequests(nc);
  const context = { nc, js, jsm, requests, report };
  const queues = queuesOf(jsm, { partitions, replicas, ackWaitMs: inboxAckWaitMs, report });
  return {
    ledger: createLedger(context),
    inbox: createInbox({ ...context, partitions, ackWaitMs: inboxAckWaitMs, remake: queues.inbox }),
    work: createWork({ ...context, ackWaitMs: workAckWaitMs, remake: queues.work }),
    claims: createClaims(context),
    snapshots: createSnapshots(context),
    blobs: await whileStarting("the object store", () => createBlobs(context), { report }),
    dead: createDead(context),
    live: createLive(nc),
    registry: createRegistry(context),
    membership: createMembership(context),
    throttles: createThrottles(context),
    suspects: createSuspects(context),
    loop: processLoop,
    close: async () => requests.close(),
  };
}

/** Streams first, then the consumers on them. May be done again at any time: it changes nothing that exists. */
async function declareMesh(
  jsm: JetStreamManager,
  options: OpenOptions,
  inboxAckWaitMs: number,
): Promise<{ partitions: number; replicas: number }> {
  const existing = await existingMesh(jsm);
  const partitions = options.partitions ?? existing?.partitions ?? partitionsDefault;
  const declared = declareStreams({ partitions, replicas: options.replicas });
  // What is missing, a stream of a newer version say, is made with as many copies as the others have.
  const replicas = options.replicas ?? existing?.replicas ?? 1;
  const isOld = (await found(streams.ledger, () => jsm.streams.info(streams.ledger))) !== undefined;
  const missing = (name: string) => ({
    num_replicas: replicas,
    ...(isOld && isQueue(name) ? laterNumbers() : {}),
  });
  await Promise.all(declared.map((stream) => declareStream(jsm, stream, missing(stream.name))));
  const consumers = inboxConsumers(partitions, inboxAckWaitMs);
  await Promise.all(consumers.map((consumer) => declareConsumer(jsm, streams.inbox, consumer)));
  return { partitions, replicas };
}

/** How many partitions and copies the mesh has, if there is one. */
async function existingMesh(
  jsm: JetStreamManager,
): Promise<{ partitions: number; replicas: number } | undefined> {
  const info = await found(streams.inbox, () => jsm.streams.info(streams.inbox));
  if (info === undefined) return undefined;
  const partitions = Number(info.config.metadata?.[partitionsKey]);
  if (Number.isInteger(partitions) && partitions > 0)
    return { partitions, replicas: info.config.num_replicas };
  throw new MeshError(
    "SERVER_MISCONFIGURED",
    `stream ${streams.inbox}: metadata: expected ${partitionsKey}, got none`,
  );
}
