import type { PartitionsDocument } from "../../../protocol/documents/partitions.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { partitionsMax, partitionsOf } from "../../../protocol/partitions.ts";
import { tellPartitions } from "../../runtime/partitions.ts";
import { defineCommand } from "../frame/command.ts";

/** Over how many partitions the inputs are spread. */
export const partitions = defineCommand({
  name: "partitions",
  summary: "show over how many partitions inputs are spread, or add some",
  details:
    "A host takes whole partitions: of more hosts than partitions some stand by. Inputs that come from then on are spread over all of\n" +
    "them; none is moved. A host learns of it as it starts, so all are stopped meanwhile (else HOSTS_UNREADY); what comes waits,\n" +
    "and nothing is lost. Partitions are added and never taken away. A new mesh is made with as many as SAGAMESH_PARTITIONS says.\n" +
    "Without --yes it is only said what would be done; broken off, it is run again.",
  positionals: {
    partitions: { help: "how many there are to be; unless given they are only shown", optional: true },
  },
  options: { yes: { type: "boolean", help: "do it" } },
  examples: ["sagamesh partitions", "sagamesh partitions 64", "sagamesh partitions 64 --yes"],
  run: async ({ partitions: asked, yes }, { config, output, signal }) => {
    if (asked === undefined && yes)
      throw new MeshError("USAGE", "partitions: --yes is for adding some: how many?");
    const all = asked === undefined ? undefined : partitionsOf(asked);
    if (asked !== undefined && all === undefined)
      throw new MeshError("USAGE", `partitions: expected 1 to ${partitionsMax}, got "${asked}"`);
    const report = (line: string) => output.note(line);
    const document = await tellPartitions(config, { all, isDryRun: !yes, report, signal });
    output.print(document, () => describe(document));
    return 0;
  },
});

function describe({ outcome, partitions: count, asked, hosts }: PartitionsDocument): string {
  const living = hosts.length === 0 ? "no host runs" : `${hosts.length} of up to ${count} hosts run`;
  if (outcome !== "due") return `Inputs are spread over ${count} partitions; ${living}.`;
  const first = hosts.length === 0 ? "" : ` Stop ${hosts.join(", ")} first.`;
  return `Inputs would be spread over ${asked} partitions, from ${count}. Nothing was changed; --yes does it.${first}`;
}
