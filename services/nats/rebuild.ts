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
import { buckets, streams } from "../../protocol/subjects.ts";
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
  guarded,
  identityKeys,
  incomplete,
  seenOf,
  type Standing,
  standingOf,
} from "./identity.ts";
import { publish } from "./publish.ts";
import { headOf, nextOfLeader, type ReadContext } from "./read.ts";
import {
  declareStreams,
  entrySubject,
  fillingSubject,
  partitionsDefault,
  streamNames,
  type Declared,
} from "./streams.ts";

/** The mesh as it stands for somebody who mends it. */
export interface Broken {
  readonly standing: Standing;
  /** What is wrong with the stream that is to be rebuilt; undefined: nothing is. */
  readonly fault: Fault | undefined;
  readonly there: readonly StreamInfo[];
}

/** Looks, and changes nothing. Throws MESH_INCOMPLETE or MESH_MIXED for what rebuilding this stream does not mend. */
export async function lookAtBroken(context: ReadContext, stream: string): Promise<Broken> {
  const there = await streamsOf(context.jsm, streamNames);
  const standing = standingOf(there.map(seenOf), await readCensus(context));
  const others = standing.faults.filter(
    (fault) => fault.kind === "foreign" || (fault.stream !== stream && stream === claimStream),
  );
  const error = incomplete({ faults: others });
  if (error !== undefined) throw error;
  return { standing, there, fault: standing.faults.find((fault) => fault.stream === stream) };
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

/**
 * An empty ledger of the next generation, of the same mesh, whose messages count on beyond `after` (XB5). What was sent to
 * sagas of the lost one is to be taken away before: `empty` does it. Throws SERVER_MISCONFIGURED where a ledger is there, and
 * does nothing then.
 */
export async function emptyLedger(
  context: ReadContext,
  { standing, there }: Broken,
  { after = 0, empty }: { readonly after?: number; readonly empty?: () => Promise<void> } = {},
): Promise<void> {
  const declared = declaredAs(streams.ledger);
  if (there.some(({ config }) => config.name === streams.ledger))
    throw new MeshError(
      "SERVER_MISCONFIGURED",
      `stream ${streams.ledger} is there: an empty one cannot be made`,
      {
        remedy: `Look what it holds. If it is nothing, \`nats stream rm ${streams.ledger}\`, and then this again.`,
      },
    );
  const counted = (await readCensus(context))?.streams[streams.ledger]?.lastSeq ?? 0;
  await empty?.();
  const metadata = {
    ...(standing.mesh === undefined ? {} : { [identityKeys.mesh]: standing.mesh }),
    [identityKeys.generation]: String(standing.generation + 1),
  };
  const first_seq = Math.max(counted, after) + uncountedMax;
  await translated(streams.ledger, () =>
    context.jsm.streams.add({ ...declared, ...copiesOf(there), metadata, first_seq }),
  );
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
  const there = await streamsOf(context.jsm, streamNames);
  const standing = standingOf(there.map(seenOf), await readCensus(context));
  const error = incomplete({ faults: standing.faults.filter(({ kind }) => kind !== "short") });
  if (error !== undefined) throw error;
  return { standing, there, fault: standing.faults[0] ?? standing.shortLedger };
}

/** Sets or takes away what is said of a restore, in both streams that carry it. */
export async function markRestored(context: ReadContext, mark: RestoreMark | undefined): Promise<void> {
  for (const name of guarded)
    await changeMetadata(context, name, ({ [identityKeys.restored]: _, ...rest }) =>
      mark === undefined ? rest : { ...rest, [identityKeys.restored]: markText(mark) },
    );
}

/** Ledger and claims are of the next generation, and counted as they are: what waits for that begins, what refused goes on (XB3). */
export async function releaseRestored(context: ReadContext, { standing }: Broken): Promise<void> {
  const generation = String(standing.generation + 1);
  for (const name of guarded)
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
