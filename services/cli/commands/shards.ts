import type { ShardsDocument } from "../../../protocol/documents/shards.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { tellShards } from "../../runtime/shards.ts";
import { defineCommand } from "../frame/command.ts";
import { table } from "../frame/table.ts";

/** Over how many streams the ledgers are spread. */
export const shards = defineCommand({
  name: "shards",
  summary: "show over how many streams the ledgers are spread, or add some",
  details:
    "One stream stores and syncs one message after another; several do so beside each other. Sagas that begin from then on are\n" +
    "spread over all of them; no ledger is moved, and nothing stops meanwhile. Streams are added and never taken away. All hosts,\n" +
    "workers and clients must be of a version that knows of several: hosts of a former one keep it from being done\n" +
    "(HOSTS_UNREADY), and whatever of such a version starts afterwards refuses the mesh. A new mesh is made with as many as\n" +
    "SAGAMESH_SHARDS says. Without --yes it is only said what would be done; broken off, it is run again.",
  positionals: {
    streams: { help: "how many there are to be; unless given they are only shown", optional: true },
  },
  options: { yes: { type: "boolean", help: "do it" } },
  examples: ["sagamesh shards", "sagamesh shards 4", "sagamesh shards 4 --yes"],
  run: async ({ streams, yes }, { config, output, signal }) => {
    if (streams === undefined && yes)
      throw new MeshError("USAGE", "shards: --yes is for adding some: how many?");
    if (streams !== undefined && !/^[1-9]\d?$/.test(streams))
      throw new MeshError("USAGE", `shards: expected a number, got "${streams}"`);
    const report = (line: string) => output.note(line);
    const all = streams === undefined ? undefined : Number(streams);
    const document = await tellShards(config, { all, isDryRun: !yes, report, signal });
    output.print(document, () => describe(document));
    return 0;
  },
});

function describe({ outcome, madeWith, all, streams }: ShardsDocument): string {
  const rows = streams.map(({ name, messages, bytes, leader }) => [
    name,
    String(messages),
    String(bytes),
    leader ?? "",
  ]);
  return [
    table(["STREAM", "MESSAGES", "BYTES", "LEADER"], rows),
    outcome === "due"
      ? `The ledgers of sagas that begin would be spread over ${all} streams, from ${streams.length}. Nothing was changed; --yes does it.`
      : `The ledgers of sagas that begin are spread over ${all} stream${all === 1 ? "" : "s"}; the mesh was made with ${madeWith}.`,
  ].join("\n");
}
