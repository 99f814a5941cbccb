/**
 * Growing: more streams for the ledgers of sagas that begin from now on. No ledger is moved (homes.ts).
 *
 * GW1 The new streams are there before anybody is told of them. What tells, LEDGER's configuration, also keeps out the processes
 *     of versions that know of one shard: they compare its subjects. Broken off anywhere, it is run again.
 * GW2 Nothing has to wait for it: who has not heard of it begins sagas where they began before, and finds the others.
 */
import { MeshError } from "../../protocol/errors.ts";
import { oneShard, type Shards, shardsMax } from "../../protocol/shards.ts";
import { ledgerStream, streams } from "../../protocol/subjects.ts";
import { readCensus } from "./census.ts";
import { declareStream } from "./declare.ts";
import { translated } from "./errors.ts";
import { identityKeys, incomplete, seenOf, standingOf, unsaid } from "./identity.ts";
import type { ReadContext } from "./read.ts";
import { findStreams, shardsTold } from "./shards.ts";
import { ledger } from "./streams.ts";

/**
 * Gives the mesh as many shards, and returns what it has then, or would have. As many as it has is free, and mends what was broken
 * off. Throws USAGE for fewer or too many, MESH_INCOMPLETE, MESH_MIXED, MESH_RESTORED, UNAVAILABLE.
 */
export async function growShards(
  context: ReadContext,
  all: number,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): Promise<Shards> {
  const { jsm } = context;
  const census = await readCensus(context);
  const { there, shards: before = oneShard } = await findStreams(jsm, census);
  const standing = standingOf(there.map(seenOf), census, before);
  // As many as there are mends LEDGER where a copy of before was put back, which `restored` needs first.
  const error = incomplete(standing) ?? (all > before.all ? unsaid(standing) : undefined);
  if (error !== undefined) throw error;
  const first = there.find(({ config }) => config.name === streams.ledger);
  if (first === undefined)
    throw new MeshError("USAGE", "there is no mesh yet", {
      remedy: `\`sagamesh up --shards ${all}\`, or a host's, makes it with as many.`,
    });
  if (!Number.isInteger(all) || all < before.all || all > shardsMax)
    throw new MeshError(
      "USAGE",
      `the mesh has ${before.all} shards; it can have up to ${shardsMax}, not ${all}`,
      {
        remedy: "Shards are added and never taken away: sagas are in them.",
      },
    );
  const shards = { arbiters: before.arbiters, all };
  if (all === 1 || isDryRun) return shards;
  const { num_replicas } = first.config;
  const metadata = {
    ...(standing.mesh === undefined ? {} : { [identityKeys.mesh]: standing.mesh }),
    [identityKeys.generation]: String(standing.generation),
    ...shardsTold(shards),
  };
  for (let shard = 1; shard < all; shard++)
    await declareStream(jsm, ledger(shard, shards), { num_replicas, metadata }); // GW1
  for (let shard = 0; shard < all; shard++) {
    const stream = ledgerStream(shard);
    await translated(stream, async () => {
      const { config } = await jsm.streams.info(stream);
      const told = { ...config.metadata, ...shardsTold(shards) };
      await jsm.streams.update(stream, { subjects: ledger(shard, shards).subjects, metadata: told });
    });
  }
  return shards;
}
