/**
 * Partitions: how many the inputs of sagas are spread over, which is how many hosts can share them, and more of them by a person's word.
 */
import type { PartitionsDocument } from "../../protocol/documents/partitions.ts";
import { MeshError } from "../../protocol/errors.ts";
import { livingHosts } from "../deployments/served.ts";
import { countPartitions, growPartitions } from "../nats/grow-partitions.ts";
import { hostEntries } from "../nats/membership.ts";
import type { Config } from "./config.ts";
import { onLedgers, type OnLedgersOptions } from "./on-ledgers.ts";

export interface PartitionsOptions extends OnLedgersOptions {
  /** As many as there are to be; undefined: only look. */
  readonly all: number | undefined;
  /** Only say what would be done. */
  readonly isDryRun: boolean;
}

/**
 * Looks, and grows them where that is meant. Throws HOSTS_UNREADY where a host lives (XN3 of nats/grow-partitions.ts), USAGE for fewer
 * than there are or too many, MESH_INCOMPLETE, MESH_MIXED, MESH_RESTORED, UNAVAILABLE; broken off it is run again.
 */
export const tellPartitions = (
  config: Config,
  { all, isDryRun, ...options }: PartitionsOptions,
): Promise<PartitionsDocument> =>
  onLedgers("sagamesh partitions", config, options, async ({ context }) => {
    const partitions = await countPartitions(context);
    const hosts = (await livingHosts(hostEntries(context))).map(({ host }) => host);
    if (all === undefined) return { outcome: "shown", partitions, hosts };
    await growPartitions(context, all, { isDryRun: true });
    if (isDryRun) return { outcome: all === partitions ? "shown" : "due", partitions, asked: all, hosts };
    if (hosts.length > 0)
      throw new MeshError("HOSTS_UNREADY", `${hosts.join(", ")}: would leave the new partitions alone`, {
        remedy:
          "Stop all hosts, run this again, and start them: what comes meanwhile waits. A host that was killed is gone after 15 s.",
      });
    await growPartitions(context, all);
    return { outcome: "grown", partitions: all, asked: all, hosts };
  });
