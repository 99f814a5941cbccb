/**
 * Making a mesh, or joining the one that is there: streams with their identity first, then the consumers on them.
 *
 * Owns: the order, and who is let in. Does not own: what the streams together say (identity.ts).
 *
 * MQ1 LEDGER is made first and the others take its identity. Of several hosts that begin at the same time one makes it; the
 *     others read what that one wrote.
 * MQ2 How many partitions a mesh has stands on INBOX, on LEDGER and in the census: INBOX comes back with as many.
 */
import type { JetStreamManager, StreamConfig, StreamInfo } from "@nats-io/jetstream";
import { randomBytes } from "node:crypto";
import type { Census } from "../../protocol/census.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { partitionsDefault } from "../../protocol/partitions.ts";
import { isLedgerStream, streams } from "../../protocol/subjects.ts";
import type { Shards } from "../../protocol/shards.ts";
import { readCensus } from "./census.ts";
import { declareConsumer, declareStream } from "./declare.ts";
import {
  claimStream,
  derivedMesh,
  identityKeys,
  incomplete,
  isGuarded,
  lostWith,
  type Seen,
  seenOf,
  type Standing,
  standingOf,
  unsaid,
} from "./identity.ts";
import type { Report } from "./progress.ts";
import { inboxConsumers, numberedFrom } from "./queues.ts";
import type { ReadContext } from "./read.ts";
import { findStreams, shardsTold } from "./shards.ts";
import { sleep } from "./sleep.ts";
import { type Declared, declareStreams, partitionsKey } from "./streams.ts";

export interface MakeOptions {
  readonly partitions?: number | undefined;
  readonly replicas?: number | undefined;
  readonly shards?: number | undefined;
  readonly inboxAckWaitMs: number;
  /** Also where the claims are gone: for what performs nothing. They are not made then. */
  readonly reading: boolean;
  readonly report: Report;
}

/** The mesh as it was found or made. */
export interface Made {
  readonly mesh: string;
  readonly partitions: number;
  readonly shards: Shards;
  /** The guarded streams that are there. */
  readonly seen: readonly Seen[];
  readonly census: Census | undefined;
  /** What a stream that is made anew later has besides its declaration. */
  readonly anew: (name: string) => Partial<StreamConfig>;
}

/** What is asked again before it is believed: another host may be making the rest at this moment. */
const lookAgainMs = 300;

/**
 * May be done again at any time: of what exists it changes nothing but to add the identity. Throws MESH_INCOMPLETE,
 * MESH_MIXED, MESH_RESTORED, SERVER_MISCONFIGURED, UNAVAILABLE; then nothing was made but streams of this mesh.
 */
export async function makeMesh(context: ReadContext, options: MakeOptions): Promise<Made> {
  const { jsm } = context;
  const census = await readCensus(context);
  const look = async () => {
    const looked = await findStreams(jsm, census);
    return { ...looked, standing: standingOf(looked.there.map(seenOf), census, looked.shards) };
  };
  let looked = await look();
  if (looked.standing.faults.length > 0 || looked.standing.shortLedger !== undefined) {
    await sleep(lookAgainMs);
    looked = await look();
  }
  const { there, standing } = looked;
  refuse(standing, options);
  const asked = options.shards ?? 1;
  const shards = looked.shards ?? { arbiters: asked, all: asked };
  const existing = existingMesh(there);
  const partitions = existing?.partitions ?? census?.partitions ?? options.partitions ?? partitionsDefault;
  if (options.partitions !== undefined && options.partitions !== partitions)
    options.report(
      `the mesh has ${partitions} partitions and keeps them; \`sagamesh partitions ${options.partitions}\` is for adding some`,
    );
  const without = new Set(standing.faults.map(({ stream }) => stream));
  const declared = declareStreams({ partitions, shards, replicas: options.replicas }).filter(
    ({ name }) => !without.has(name),
  );
  // What is missing, a stream of a newer version say, is made with as many copies as the others have.
  const replicas = options.replicas ?? existing?.replicas ?? 1;
  const isOld = there.some(isLedger);
  const making = { standing, replicas, partitions, shards, isNoticed: noticing(standing, there), isOld };
  const made = await declareAll(jsm, declared, making);
  await adopt(jsm, made, making, options.report);
  const consumers = inboxConsumers(partitions, options.inboxAckWaitMs);
  await Promise.all(consumers.map((consumer) => declareConsumer(jsm, streams.inbox, consumer)));
  return {
    ...{ mesh: made.mesh, partitions, shards, census },
    anew: (name) => ({
      num_replicas: replicas,
      metadata: identityOf(made.mesh, standing.generation, lostWith[name] !== undefined),
    }),
    seen: made.infos.map(seenOf).filter(({ name }) => isGuarded(name)),
  };
}

function refuse(standing: Standing, { reading, report }: MakeOptions): void {
  const error = incomplete(standing);
  if (error !== undefined && !(reading && standing.faults.every(({ stream }) => stream === claimStream)))
    throw error;
  if (error !== undefined) report(`${describeError(error)} ${error.remedy}`);
  const waits = unsaid(standing);
  if (waits !== undefined && !reading) throw waits;
  if (waits !== undefined) report(`${describeError(waits)} ${waits.remedy}`);
}

interface Making {
  readonly standing: Standing;
  readonly replicas: number;
  readonly partitions: number;
  readonly shards: Shards;
  readonly isNoticed: (name: string) => boolean;
  /** There is a LEDGER. */
  readonly isOld: boolean;
}

interface AllMade {
  readonly mesh: string;
  readonly infos: readonly StreamInfo[];
}

/** What is made beside a LEDGER that has the identity is made anew; a mesh of a former version merely lacks what came later. */
const noticing =
  ({ isInUse }: Standing, there: readonly StreamInfo[]) =>
  (name: string): boolean =>
    isInUse &&
    lostWith[name] !== undefined &&
    there.some((info) => isLedger(info) && seenOf(info).mesh !== undefined);

const isLedger = ({ config }: Pick<StreamInfo, "config">): boolean => config.name === streams.ledger;

const identityOf = (mesh: string, generation: number, isRemade: boolean): Record<string, string> => ({
  [identityKeys.mesh]: mesh,
  [identityKeys.generation]: String(generation),
  ...(isRemade ? { [identityKeys.remade]: new Date().toISOString() } : {}),
});

async function declareAll(
  jsm: JetStreamManager,
  declared: readonly Declared[],
  { standing, replicas, partitions, shards, isNoticed, isOld }: Making,
): Promise<AllMade> {
  const make = (stream: Declared, mesh: string) =>
    declareStream(jsm, stream, {
      num_replicas: replicas,
      metadata: {
        ...identityOf(mesh, standing.generation, isNoticed(stream.name)),
        ...(stream.name === streams.ledger ? { [partitionsKey]: String(partitions) } : {}), // MQ2
        ...(isLedgerStream(stream.name) ? shardsTold(shards) : {}),
      },
      ...(isOld ? numberedFrom(stream.name) : {}),
    });
  const first = declared.find(({ name }) => name === streams.ledger)!; // Declared always, and `refuse` lets nobody in without.
  const ledger = await make(first, standing.mesh ?? randomBytes(8).toString("hex")); // MQ1
  const mesh = seenOf(ledger).mesh ?? standing.mesh ?? derivedMesh(ledger.created);
  const rest = declared.filter((stream) => stream !== first);
  return { mesh, infos: [ledger, ...(await Promise.all(rest.map((stream) => make(stream, mesh))))] };
}

/** Gives streams their identity, LEDGER last; a host that may not change streams goes on without (identity.ts, IY2 and IY3). */
async function adopt(
  jsm: JetStreamManager,
  { mesh, infos }: AllMade,
  { standing: { generation }, isNoticed }: Pick<Making, "standing" | "isNoticed">,
  report: Report,
): Promise<void> {
  const nameless = infos.filter((info) => seenOf(info).mesh === undefined);
  const give = ({ config: { name, metadata } }: StreamInfo) =>
    jsm.streams.update(name, {
      metadata: { ...metadata, ...identityOf(mesh, generation, isNoticed(name)) },
    });
  try {
    await Promise.all(nameless.filter((info) => !isLedger(info)).map(give));
    await Promise.all(nameless.filter(isLedger).map(give));
  } catch (error) {
    report(`the streams were not marked as of mesh ${mesh}: ${describeError(error)}`);
  }
}

/** How many partitions and copies the mesh has, as far as it tells. Throws SERVER_MISCONFIGURED. */
function existingMesh(
  there: readonly StreamInfo[],
): { partitions: number | undefined; replicas: number } | undefined {
  const inbox = there.find(({ config }) => config.name === streams.inbox);
  const any = inbox ?? there.find(({ config }) => config.name === streams.ledger);
  if (any === undefined) return undefined;
  const replicas = any.config.num_replicas;
  const partitions = Number(any.config.metadata?.[partitionsKey]);
  if (Number.isInteger(partitions) && partitions > 0) return { partitions, replicas };
  if (inbox === undefined) return { partitions: undefined, replicas }; // A LEDGER of a former version; the census may tell.
  throw new MeshError(
    "SERVER_MISCONFIGURED",
    `stream ${streams.inbox}: metadata: expected ${partitionsKey}, got none`,
  );
}
