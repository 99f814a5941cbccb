/**
 * Growing: more partitions for the inputs that come from now on. No input is moved: what is stored stays with the partition it is in.
 *
 * XN1 The new partitions' consumers are there before the first input is in one of them; INBOX, which alone is believed while it is there
 *     (MQ2 of make.ts), changes last and at once. Broken off anywhere, the mesh has as many as before, and it is run again.
 * XN2 A saga's inputs may be in two partitions for a while, with two hosts: which of them is first its ledger decides, as ever.
 * XN3 A host learns how many there are as it starts. Nobody grows them beside one that runs: it would leave the new ones alone.
 */
import { MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { partitionsMax } from "../../protocol/partitions.ts";
import { oneShard } from "../../protocol/shards.ts";
import { inboxTransform, streams } from "../../protocol/subjects.ts";
import { readCensus } from "./census.ts";
import { declareConsumer } from "./declare.ts";
import { translated } from "./errors.ts";
import { incomplete, seenOf, standingOf, unsaid } from "./identity.ts";
import { inboxConsumers } from "./queues.ts";
import type { ReadContext } from "./read.ts";
import { findStreams } from "./shards.ts";
import { partitionsKey } from "./streams.ts";

/** How many partitions the mesh has. Throws USAGE where there is no mesh, UNAVAILABLE. */
export async function countPartitions({ jsm }: ReadContext): Promise<number> {
  const { there } = await findStreams(jsm, undefined);
  const inbox = there.find(({ config }) => config.name === streams.inbox);
  const count = Number(inbox?.config.metadata?.[partitionsKey]);
  if (Number.isInteger(count) && count > 0) return count;
  throw new MeshError("USAGE", "there is no mesh yet", {
    remedy: "SAGAMESH_PARTITIONS says how many partitions a new one is made with.",
  });
}

/**
 * Gives the mesh as many partitions. No host runs meanwhile (XN3): the caller sees to it. As many as it has is free, and mends what was
 * broken off. Throws USAGE for fewer or too many, MESH_INCOMPLETE, MESH_MIXED, MESH_RESTORED, UNAVAILABLE.
 */
export async function growPartitions(
  context: ReadContext,
  all: number,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): Promise<void> {
  const { jsm } = context;
  const before = await countPartitions(context);
  const census = await readCensus(context);
  const { there, shards } = await findStreams(jsm, census);
  const standing = standingOf(there.map(seenOf), census, shards ?? oneShard);
  const error = incomplete(standing) ?? unsaid(standing);
  if (error !== undefined) throw error;
  if (!Number.isInteger(all) || all < before || all > partitionsMax)
    throw new MeshError(
      "USAGE",
      `the mesh has ${before} partitions; it can have up to ${partitionsMax}, not ${all}`,
      { remedy: "Partitions are added and never taken away: inputs are in them." },
    );
  if (isDryRun) return;
  for (const consumer of inboxConsumers(all, limits.inboxAckWaitMs))
    await declareConsumer(jsm, streams.inbox, consumer); // XN1
  for (const stream of [streams.ledger, streams.inbox])
    await translated(stream, async () => {
      const { config } = await jsm.streams.info(stream);
      const metadata = { ...config.metadata, [partitionsKey]: String(all) };
      const isInbox = stream === streams.inbox;
      await jsm.streams.update(stream, {
        metadata,
        ...(isInbox ? { subject_transform: inboxTransform(all) } : {}),
      });
    });
}
