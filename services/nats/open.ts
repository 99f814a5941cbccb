/**
 * All ports on one connection.
 *
 * Owns: declaring what the ports stand on, and what is started on their behalf. Does not own: the connection.
 */
import { jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { describeError, isMeshError, type MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { processLoop } from "../wire/loop.ts";
import type { Ports } from "../wire/ports.ts";
import { createBlobs } from "./blobs.ts";
import { createClaims } from "./claims.ts";
import { createDead } from "./dead.ts";
import { createHomes } from "./homes.ts";
import { createInbox } from "./inbox.ts";
import { createIntake } from "./intake.ts";
import { createLedger } from "./ledger.ts";
import { createListing } from "./listing.ts";
import { createLive } from "./live.ts";
import { restoredOf } from "./identity.ts";
import { makeMesh } from "./make.ts";
import { createMembership } from "./membership.ts";
import type { Report } from "./progress.ts";
import { othersOf, queuesOf } from "./queues.ts";
import { createRegistry } from "./registry.ts";
import { createRequests, requestTimeoutMs } from "./requests.ts";
import { createSnapshots } from "./snapshots.ts";
import { sleep } from "./sleep.ts";
import { whileStarting } from "./start-up.ts";
import { watchStorage } from "./storage.ts";
import { createSuspects } from "./suspects.ts";
import { createThrottles } from "./throttles.ts";
import { keepVigil } from "./vigil.ts";
import { createWork } from "./work.ts";
import { managerOf } from "./manager.ts";

/**
 * For what is asked of a stream's leader through the API: while there is none, no answer comes, and no error either.
 * Asked again that often, a saga goes on soon after the election; a leader answers in milliseconds.
 */
const askTimeoutMs = 1_000;

export interface OpenOptions {
  /** Of a new mesh; default 8. An existing one keeps its own (grow-partitions.ts). */
  readonly partitions?: number;
  /**
   * Copies of every stream, bucket and consumer: 1, 3 or 5. Default: as many as the mesh has, and 1 for a new one.
   * Another number than there is is refused; `setReplicas` changes it.
   */
  readonly replicas?: number;
  /** Streams that the ledgers of a new mesh are spread over; default 1. An existing one keeps its own (grow.ts). */
  readonly shards?: number;
  /** Takes lines for a person: what the server says without being asked. */
  readonly report?: Report;
  /**
   * Opened by what performs nothing: also where the claims are gone, which are not made then, and without watching that
   * they stay. False unless given.
   */
  readonly reading?: boolean;
  /** Gives up waiting for a person's word on a restore. */
  readonly signal?: AbortSignal | undefined;
  /** Shorter leases, for tests. All hosts of a mesh have the same. */
  readonly inboxAckWaitMs?: number;
  readonly workAckWaitMs?: number;
}

/** The ports, and what only a server has. */
export interface NatsPorts extends Ports {
  /** The identity of the mesh. */
  readonly mesh: string;
  /** For what nothing is performed or appended now: what is missing of it, or that nothing is stored; else undefined. */
  fault(): MeshError | undefined;
  close(): Promise<void>;
}

/**
 * Declares streams, buckets and consumers, and returns the ports on them. Throws SERVER_MISCONFIGURED naming
 * stream, field, expected and got where something else is there; nothing that exists is changed, but for the mesh's
 * identity that is added. Throws MESH_INCOMPLETE where what cannot be forgotten is gone, and MESH_MIXED. Beside a ledger
 * that holds less than was counted (MESH_RESTORED) it waits until `sagamesh restored --yes` was said, unless it only reads.
 *
 * `close` ends what the ports hold open and fails unanswered calls with UNAVAILABLE. Consumptions and
 * followers end by their own `stop` and signal; the connection stays the caller's.
 */
export async function openNatsPorts(nc: NatsConnection, options: OpenOptions = {}): Promise<NatsPorts> {
  const {
    report = () => {},
    reading = false,
    inboxAckWaitMs = limits.inboxAckWaitMs,
    workAckWaitMs = limits.workAckWaitMs,
  } = options;
  const declaring = await managerOf(nc);
  const sending = createRequests(nc);
  const storage = watchStorage(sending, report);
  const requests = { ...sending, storing: storage.storing };
  const making = { ...options, inboxAckWaitMs, reading, report };
  const make = () => makeMesh({ requests, jsm: declaring }, making);
  const made = await whileStarting("the streams", () => whenSaid(make, options), { report }).catch(
    (error: unknown) => {
      requests.close();
      throw error;
    },
  );
  const { partitions } = made;
  const js = jetstream(nc, { timeout: requestTimeoutMs });
  const jsm = await managerOf(nc, askTimeoutMs);
  const homes = createHomes({ requests, jsm }, made.shards);
  const vigil = reading ? undefined : keepVigil({ requests, jsm, homes }, made, report);
  const remake = reading ? undefined : othersOf(jsm, { ...made, report });
  const context = { nc, js, jsm, requests, report, vigil, remake };
  const membership = createMembership(context);
  const queues = queuesOf(jsm, { ...made, ackWaitMs: inboxAckWaitMs, report });
  return {
    ledger: createLedger(context, homes),
    inbox: createInbox({ ...context, partitions, ackWaitMs: inboxAckWaitMs, remake: queues.inbox }),
    work: createWork({ ...context, ackWaitMs: workAckWaitMs, remake: queues.work }),
    claims: createClaims(context),
    snapshots: createSnapshots(context),
    blobs: await whileStarting("the object store", () => createBlobs(context), { report }),
    dead: createDead(context),
    live: createLive(nc),
    registry: createRegistry(context),
    membership,
    intake: createIntake(membership),
    throttles: createThrottles(context),
    suspects: createSuspects(context),
    listing: createListing(context),
    loop: processLoop,
    mesh: made.mesh,
    restored: () => (vigil === undefined ? restoredOf(made.seen) : vigil.restored()),
    fault: () => vigil?.fault() ?? storage.fault(),
    close: async () => {
      vigil?.stop();
      requests.close();
    },
  };
}

/** MESH_RESTORED passes once a person said it: what would perform anything waits for that, and says so once. */
async function whenSaid<T>(make: () => Promise<T>, { report = () => {}, signal }: OpenOptions): Promise<T> {
  for (let isTold = false; ;) {
    signal?.throwIfAborted();
    try {
      return await make();
    } catch (error) {
      if (!isMeshError(error, "MESH_RESTORED")) throw error;
      if (!isTold) report(`waiting: ${describeError(error)} ${error.remedy}`);
      isTold = true;
      await sleep(limits.restoredLookMs, signal);
    }
  }
}
