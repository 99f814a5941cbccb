/**
 * Rebuilding what a mesh cannot forget: the claims, filled from outside, an empty ledger, and what was put back from a copy.
 *
 * Owns: the stream's side. Does not own: what is claimed (services/runtime/rebuild.ts).
 *
 * XB1 While the claims are filled, their stream takes what is sent to another subject alone. So no worker, of whichever
 *     version, claims anything before all that may have begun is claimed.
 * XB2 Again is free at any place: what was filled stays, and only the last step opens the stream.
 * XB3 What is rebuilt is of the next generation; by that processes that run know it from what came back by itself.
 * XB4 What stands in a stream that has forgotten decides nothing: its holder may have won because it had forgotten. Whoever
 *     really began goes on, and tells how it ended.
 * XB5 An empty ledger counts on beyond all that was counted of the lost one, and beyond the places that trust names: whoever
 *     knows a sequence of that one finds another message under it never, and what must be signed from a place on stays so.
 */
import type { StreamConfig, StreamInfo } from "@nats-io/jetstream";
import { MeshError } from "../../protocol/errors.ts";
import { maxOf } from "../../protocol/extremes.ts";
import { SagaId } from "../../protocol/ids.ts";
import { partitionsDefault } from "../../protocol/partitions.ts";
import { arbiterOf, isGrown, oneShard, type Shards } from "../../protocol/shards.ts";
import { buckets, ledgerStream, shardOfStream, streams, subjects } from "../../protocol/subjects.ts";
import type { DeadPort, StoredMessage } from "../wire/ports.ts";
import { markText, type RestoreMark } from "../wire/restored.ts";
import { keepCensus, readCensus } from "./census.ts";
import { createDead } from "./dead.ts";
import { declareStream, found, streamsOf } from "./declare.ts";
import { translated } from "./errors.ts";
import {
  claimStream,
  countedIn,
  type Fault,
  guardedOf,
  identityKeys,
  incomplete,
  seenOf,
  type Standing,
  standingOf,
} from "./identity.ts";
import { publish } from "./publish.ts";
import { headOf, nextOfLeader, type ReadContext } from "./read.ts";
import { findStreams, shardsTold } from "./shards.ts";
import { mendSignposts, sagasByShard, signedTo } from "./signposts.ts";
import { declareStreams, entrySubject, fillingSubject, ledger, type Declared } from "./streams.ts";

/** The mesh as it stands for somebody who mends it. */
export interface Broken {
  readonly standing: Standing;
  /** What is wrong with the stream that is to be rebuilt; undefined: nothing is. */
  readonly fault: Fault | undefined;
  readonly there: readonly StreamInfo[];
  readonly shards: Shards;
}

async function look(context: ReadContext): Promise<Omit<Broken, "fault">> {
  const census = await readCensus(context);
  const { there, shards = oneShard } = await findStreams(context.jsm, census);
  return { there, shards, standing: standingOf(there.map(seenOf), census, shards) };
}

/**
 * Looks, and changes nothing. The fault is the first of such streams: the claims, or those of ledgers. Throws MESH_INCOMPLETE or
 * MESH_MIXED for what rebuilding them does not mend.
 */
export async function lookAtBroken(context: ReadContext, which: "claims" | "ledger"): Promise<Broken> {
  const looked = await look(context);
  const { faults } = looked.standing;
  const isMeant = ({ stream }: Fault) => (stream === claimStream) === (which === "claims");
  const others = faults.filter(
    (fault) => fault.kind === "foreign" || (!isMeant(fault) && which === "claims"),
  );
  const error = incomplete({ faults: others });
  if (error !== undefined) throw error;
  return { ...looked, fault: faults.find(isMeant) };
}

/** The claims while they are filled. */
export interface Filling {
  /** Claims the attempt for nobody, whoever held it (XB4). */
  claim(name: string): Promise<void>;
  /** Opens the stream for workers (XB2). */
  open(): Promise<void>;
}

/** Closes the claims to all but the filling, making their stream if it is not there (XB1). */
export async function fillClaims(
  context: ReadContext,
  { standing, fault, there }: Broken,
  holder: string,
): Promise<Filling> {
  const { jsm, requests } = context;
  const declared = declaredAs(claimStream);
  const before = there.find(({ config }) => config.name === claimStream);
  const generation = String(standing.generation + (fault?.kind === "rebuilding" ? 0 : 1)); // XB3
  const identity = { [identityKeys.mesh]: standing.mesh ?? "", [identityKeys.generation]: generation };
  const [src, dest] = [fillingSubject(buckets.claim, ">"), entrySubject(buckets.claim, ">")];
  const closed = {
    ...{ subjects: [src], subject_transform: { src, dest } },
    metadata: { ...before?.config.metadata, ...identity, [identityKeys.rebuilding]: "yes" },
  };
  await translated(claimStream, () =>
    before === undefined
      ? jsm.streams.add({ ...declared, ...copiesOf(there), ...closed })
      : jsm.streams.update(claimStream, { ...declared, ...closed }),
  );
  return {
    claim: async (name) => {
      await publish(requests, {
        ...{ stream: claimStream, subject: fillingSubject(buckets.claim, name), data: Buffer.from(holder) },
      });
    },
    open: async () => {
      const { subjects } = declared;
      // The client sends what it is given over what is there: what is undefined is left out.
      const opened = {
        subjects,
        subject_transform: undefined,
        metadata: identity,
      } as unknown as StreamConfig;
      await translated(claimStream, () => jsm.streams.update(claimStream, opened));
      await countAnew(context, standing);
    },
  };
}

/** Beyond what was counted: more than a mesh stores between two counts. */
const uncountedMax = 1_000_000;

/** The shards that are lost. */
export const lostShards = ({ standing }: Broken): number[] =>
  standing.faults.flatMap(({ stream }) => shardOfStream(stream) ?? []);

/** Tells whose ledger was in a shard that is lost; of an id that cannot be read, and where nothing else is there, all are. */
export async function lostSagas(
  context: ReadContext,
  broken: Broken,
): Promise<(saga: string | undefined) => Promise<boolean>> {
  const { shards } = broken;
  const lost = lostShards(broken);
  if (lost.length === shards.all) return async () => true;
  const held = await sagasByShard(context, shards, lost);
  return async (text) => {
    const saga = SagaId.safeParse(text).data;
    if (saga === undefined) return true;
    const arbiter = arbiterOf(saga, shards);
    if (held.some((sagas, shard) => shard !== arbiter && sagas.has(saga))) return false;
    if (lost.includes(arbiter)) return true;
    const first = await nextOfLeader(context.jsm, {
      ...{ stream: ledgerStream(arbiter), subject: subjects.ledger(saga, arbiter) },
      ...{ afterSeq: 0, throughSeq: Number.POSITIVE_INFINITY },
    });
    return first !== undefined && lost.includes(signedTo(first) ?? arbiter);
  };
}

/**
 * An empty stream of ledgers of the next generation, of the same mesh, in place of each that is lost; its messages count on beyond
 * `after` (XB5). What was sent to sagas of the lost ones is to be taken away before: `empty` does it. Throws SERVER_MISCONFIGURED
 * where such a stream is there, and does nothing then.
 */
export async function emptyLedger(
  context: ReadContext,
  broken: Broken,
  { after = 0, empty }: { readonly after?: number; readonly empty?: () => Promise<void> } = {},
): Promise<void> {
  const { standing, there, shards } = broken;
  const lost = lostShards(broken);
  const left =
    lost.length === 0
      ? streams.ledger
      : there.find(({ config }) => lost.includes(shardOfStream(config.name) ?? -1))?.config.name;
  if (left !== undefined)
    throw new MeshError("SERVER_MISCONFIGURED", `stream ${left} is there: an empty one cannot be made`, {
      remedy: `Look what it holds. If it is nothing, \`nats stream rm ${left}\`, and then this again.`,
    });
  const census = await readCensus(context);
  await empty?.();
  const identity = {
    ...(standing.mesh === undefined ? {} : { [identityKeys.mesh]: standing.mesh }),
    [identityKeys.generation]: String(standing.generation + 1),
    ...shardsTold(shards),
  };
  for (const shard of lost) {
    const declared = ledger(shard, shards);
    const counted = census?.streams[declared.name]?.lastSeq ?? 0;
    const first_seq = Math.max(counted, after) + uncountedMax;
    // Nobody begins beside a stream without the mesh's identity: it gets that last where it lacks signposts.
    const metadata = isGrown(shards) ? {} : identity;
    await translated(declared.name, () =>
      context.jsm.streams.add({ ...declared, ...copiesOf(there), metadata, first_seq }),
    );
  }
  if (isGrown(shards)) {
    await mendSignposts(context, shards);
    for (const shard of lost)
      await changeMetadata(context, ledgerStream(shard), (told) => ({ ...told, ...identity }));
  }
  await countAnew(context, standing);
}

/** A stream that no number of partitions changes. */
const declaredAs = (stream: string): Declared =>
  declareStreams({ partitions: partitionsDefault }).find(({ name }) => name === stream)!; // Of these.

const copiesOf = (there: readonly StreamInfo[]): { num_replicas: number } => ({
  num_replicas: maxOf(
    there.map(({ config }) => config.num_replicas),
    1,
  ),
});

/**
 * Looks at a mesh of which a person says that its store was put back, and changes nothing. Throws MESH_INCOMPLETE or MESH_MIXED
 * for what another remedy is for.
 */
export async function lookAtRestored(context: ReadContext): Promise<Broken> {
  const looked = await look(context);
  const { standing } = looked;
  const error = incomplete({ faults: standing.faults.filter(({ kind }) => kind !== "short") });
  if (error !== undefined) throw error;
  return { ...looked, fault: standing.faults[0] ?? standing.shortLedger };
}

/** Sets or takes away what is said of a restore, in all streams that carry it. */
export async function markRestored(context: ReadContext, mark: RestoreMark | undefined): Promise<void> {
  const { shards = oneShard } = await findStreams(context.jsm, undefined);
  for (const name of guardedOf(shards))
    await changeMetadata(context, name, ({ [identityKeys.restored]: _, ...rest }) =>
      mark === undefined ? rest : { ...rest, [identityKeys.restored]: markText(mark) },
    );
}

/** Ledgers and claims are of the next generation, and counted as they are: what waits for that begins, what refused goes on (XB3). */
export async function releaseRestored(context: ReadContext, { standing, shards }: Broken): Promise<void> {
  await mendSignposts(context, shards);
  const generation = String(standing.generation + 1);
  for (const name of guardedOf(shards))
    await changeMetadata(context, name, (metadata) => ({
      ...metadata,
      [identityKeys.generation]: generation,
    }));
  await countAnew(context, standing);
}

async function changeMetadata(
  { jsm }: ReadContext,
  name: string,
  change: (metadata: Record<string, string>) => Record<string, string>,
): Promise<void> {
  await translated(name, async () => {
    const { config } = await jsm.streams.info(name);
    await jsm.streams.update(name, { metadata: change(config.metadata ?? {}) });
  });
}

/** What is counted from now on is of the new generation: hosts that begin before the next count know it. */
async function countAnew(context: ReadContext, { mesh }: Standing): Promise<void> {
  const census = await readCensus(context);
  if (census === undefined || census.mesh !== mesh) return;
  const infos = await streamsOf(context.jsm, Object.keys(census.streams));
  await keepCensus(context, { ...census, at: Date.now(), streams: countedIn(infos.map(seenOf)) }, true);
}

/** Every message that stands in a queue, taken or not, oldest first. */
export async function* queuedIn(context: ReadContext, stream: string): AsyncIterable<StoredMessage> {
  const { jsm } = context;
  const isThere = await found(stream, () => jsm.streams.info(stream));
  if (isThere === undefined) return;
  const { lastSeq: throughSeq } = await headOf(jsm, stream);
  for (let afterSeq = 0; ;) {
    const next = await nextOfLeader(jsm, { stream, subject: ">", afterSeq, throughSeq });
    if (next === undefined || next.seq > throughSeq) return;
    yield next;
    afterSeq = next.seq;
  }
}

/** DEAD, made if it is gone as well, to take what is set aside. */
export async function openDead(context: ReadContext, { standing, there }: Broken): Promise<DeadPort> {
  const { mesh = "", generation } = standing;
  const metadata = { [identityKeys.mesh]: mesh, [identityKeys.generation]: String(generation) };
  await declareStream(context.jsm, declaredAs(streams.dead), { ...copiesOf(there), metadata });
  return createDead(context);
}
