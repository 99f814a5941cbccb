import type { DoctorDocument } from "../../../protocol/documents.ts";
import { examine } from "../../runtime/doctor.ts";
import { defineCommand } from "../command.ts";
import { table } from "../table.ts";

/** What is wrong with the mesh, and what to do. */
export const doctor = defineCommand({
  name: "doctor",
  summary: "check server, streams, hosts, lag, what is served, dead letters",
  details: "Exit code 1 if something is wrong; each finding comes with what to do.",
  positionals: {},
  options: {},
  examples: ["sagamesh doctor --server nats://10.0.0.5:4222"],
  run: async (_, { config, output, signal }) => {
    const document = await examine(config, { report: output.note, signal });
    output.print(document, () => describe(document));
    return document.ok ? 0 : 1;
  },
});

function describe(document: DoctorDocument): string {
  const { server, streams, hosts, partitions, tools, definitions, deadLetters, durability, findings } =
    document;
  const lag = partitions.reduce((sum, { waiting }) => sum + waiting, 0);
  return [
    ...(server === undefined
      ? []
      : [
          `server       NATS ${server.version}, API level ${server.apiLevel}, at ${server.url}${server.embedded ? " (embedded)" : ""}`,
        ]),
    ...durability.map((line) => `durability   ${line}`),
    ...(streams.length === 0
      ? []
      : [`streams      ${streams.map(({ name, messages }) => `${name} ${messages}`).join(", ")}`]),
    ...hosts.map(
      ({ host, partitions: own }) => `host         ${host}: partitions ${own.join(", ") || "none yet"}`,
    ),
    ...(partitions.length === 0
      ? []
      : [`inbox        ${lag} inputs wait over ${partitions.length} partitions`]),
    ...(tools.length === 0
      ? []
      : [
          "",
          table(
            ["TOOL", "WAITING", "HELD", "WORKERS"],
            tools.map((tool) => [
              tool.name,
              String(tool.waiting),
              String(tool.held),
              tool.paused ? "paused" : tool.workers ? "yes" : "none",
            ]),
          ),
        ]),
    ...(definitions.length === 0
      ? []
      : [
          "",
          table(
            ["DEFINITION", "KIND", "HASH"],
            definitions.map((one) => [`${one.name}@${one.version}`, one.kind, one.hash]),
          ),
        ]),
    "",
    `dead letters: ${deadLetters}`,
    ...findings.flatMap(({ code, what, remedy }) => [`finding: [${code}] ${what}`, `  remedy: ${remedy}`]),
    document.ok ? "all is well" : `${findings.length} finding${findings.length === 1 ? "" : "s"}`,
  ].join("\n");
}
