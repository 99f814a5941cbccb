/**
 * Shards: over how many streams the ledgers of a mesh are spread, and more of them by a person's word.
 *
 * HK1 Nothing is spread beside a living host that would not look for it: of a version that knows of one shard.
 */
import type { ShardsDocument } from "../../protocol/documents/shards.ts";
import { MeshError } from "../../protocol/errors.ts";
import { oneShard } from "../../protocol/shards.ts";
import { isLedgerStream } from "../../protocol/subjects.ts";
import { livingHosts } from "../deployments/served.ts";
import { growShards } from "../nats/grow.ts";
import { hostEntries } from "../nats/membership.ts";
import { findStreams } from "../nats/shards.ts";
import type { Config } from "./config.ts";
import { onLedgers, type OnLedgersOptions } from "./on-ledgers.ts";

export interface ShardsOptions extends OnLedgersOptions {
  /** As many as there are to be; undefined: only look. */
  readonly all: number | undefined;
  /** Only say what would be done. */
  readonly isDryRun: boolean;
}

/**
 * Looks, and grows the mesh where that is meant. Throws USAGE for fewer than there are or too many, HOSTS_UNREADY (HK1),
 * MESH_INCOMPLETE, MESH_MIXED, MESH_RESTORED, UNAVAILABLE; broken off it is run again.
 */
export const tellShards = (
  config: Config,
  { all, isDryRun, ...options }: ShardsOptions,
): Promise<ShardsDocument> =>
  onLedgers("sagamesh shards", config, options, async ({ context }) => {
    const look = async () => {
      const { there, shards = oneShard } = await findStreams(context.jsm, undefined);
      const ledgers = there.filter(({ config: { name } }) => isLedgerStream(name));
      const streams = ledgers.map(({ config: { name }, state: { messages, bytes }, cluster }) => ({
        ...{ name, messages, bytes },
        ...(cluster?.leader ? { leader: cluster.leader } : {}),
      }));
      return { madeWith: shards.arbiters, all: shards.all, streams };
    };
    const before = await look();
    if (all === undefined || (all === before.all && before.streams.length === all && isDryRun))
      return { outcome: "shown", ...before };
    const former = (await livingHosts(hostEntries(context))).filter(({ shards }) => shards !== true); // HK1
    if (former.length > 0)
      throw new MeshError(
        "HOSTS_UNREADY",
        `${former.map(({ host }) => host).join(", ")}: of a version that looks for ledgers in one stream`,
        {
          remedy:
            "Update the hosts that the message names, and all workers and clients, then run this again.",
        },
      );
    const grown = await growShards(context, all, { isDryRun });
    if (isDryRun) return { outcome: "due", ...before, all: grown.all };
    return { outcome: "grown", ...(await look()) };
  });
