import type { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { weightDefault } from "../../../protocol/host-weight.ts";
import { examine } from "../../runtime/doctor.ts";
import { defineCommand } from "../frame/command.ts";
import { painted } from "../frame/screen.ts";
import { table } from "../frame/table.ts";

/** What is wrong with the mesh, and what to do. */
export const doctor = defineCommand({
  name: "doctor",
  summary: "check server, streams, hosts, lag, what is served, dead letters",
  details:
    "Exit code 1 if something is wrong; each finding comes with what to do. Changes nothing. How a server syncs " +
    "its disk only its monitoring endpoint tells; the usual one of a server on port 8222 is asked unless --monitor names others.\n" +
    "Of sagas those are looked into that go on and rest, a thousand at most, by the listing that hosts keep; where that is not whole, all.",
  positionals: {},
  options: {
    monitor: {
      type: "string",
      hint: "URL",
      multiple: true,
      help: "monitoring endpoint of a server, http://host:8222; may be repeated",
    },
    deep: {
      type: "boolean",
      help: "look into the ledgers of all sagas: half a millisecond and more for each",
    },
  },
  examples: ["sagamesh doctor --server nats://10.0.0.5:4222 --monitor http://10.0.0.5:8222"],
  run: async ({ monitor: monitors, deep }, { config, output, signal }) => {
    const document = await examine(config, { monitors, deep, report: output.note, signal });
    output.print(document, () => describe(document));
    return document.ok ? 0 : 1;
  },
});

function describe(document: DoctorDocument): string {
  const { server, hosts, findings } = document;
  const bad = findings.filter(({ severity }) => severity !== "fine");
  return [
    ...(server === undefined
      ? []
      : [`server  NATS ${server.version} at ${server.url}${server.embedded ? " (embedded)" : ""}`]),
    ...hosts.map(
      ({ host, partitions: own, draining, weight }) =>
        `host    ${host}: ${draining ? "drains" : `partitions ${own.join(", ") || "none yet"}`}${weightText(weight)}`,
    ),
    ...tables(document),
    "",
    ...findings.flatMap(({ severity, code, what, remedy }) =>
      severity === "fine"
        ? [`ok       ${what}`]
        : [
            `${painted(severity === "wrong" ? "red" : "yellow", severity.padEnd(8))} [${code}] ${what}`,
            `         remedy: ${remedy}`,
          ],
    ),
    "",
    bad.length === 0
      ? "all is well"
      : `${count(bad, "wrong")} wrong, ${count(bad, "warning")} to look at when there is time`,
  ].join("\n");
}

/** Nothing is said of what is usual. */
function weightText(weight: DoctorDocument["hosts"][number]["weight"]): string {
  if (weight === undefined) return "";
  if (weight.now < weight.declared) return `, weight ${weight.now} of ${weight.declared} as it is overloaded`;
  return weight.declared === weightDefault ? "" : `, weight ${weight.declared}`;
}

const count = (findings: DoctorDocument["findings"], severity: string): number =>
  findings.filter((one) => one.severity === severity).length;

function tables({ streams, partitions, tools, definitions }: DoctorDocument): string[] {
  const all: [string[], string[][]][] = [
    [
      ["STREAM", "MESSAGES", "BYTES", "COPIES"],
      streams.map((one) => [one.name, String(one.messages), String(one.bytes), String(one.replicas)]),
    ],
    [
      ["PARTITION", "HOST", "WAITING", "HELD", "AGAIN", "LAG", "OLDEST"],
      partitions.map((one) => [
        String(one.partition),
        one.host ?? "none",
        ...[one.waiting, one.held, one.redelivered].map(String),
        seconds(one.lagMs),
        `${seconds(one.oldestAgeMs)} ${one.oldestSaga ?? ""}`.trim(),
      ]),
    ],
    [
      ["TOOL", "WAITING", "HELD", "AGAIN", "LAG", "WORKERS"],
      tools.map((one) => [
        one.name,
        ...[one.waiting, one.held, one.redelivered].map(String),
        seconds(one.lagMs),
        one.paused ? "paused" : one.workers ? "yes" : "none",
      ]),
    ],
    [
      ["DEFINITION", "KIND", "HASH"],
      definitions.map((one) => [`${one.name}@${one.version}`, one.kind, one.hash]),
    ],
  ];
  return all.flatMap(([head, rows]) => (rows.length === 0 ? [] : ["", table(head, rows)]));
}

const seconds = (ms: number | undefined): string => (ms === undefined ? "-" : `${(ms / 1_000).toFixed(1)} s`);
