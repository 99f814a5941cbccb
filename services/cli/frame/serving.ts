/**
 * Serving: what a process that serves says of itself once it does.
 */
import type { ServingDocument } from "../../../protocol/documents/process.ts";
import { msOf } from "../../../protocol/duration.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { weightOf } from "../../../protocol/host-weight.ts";
import { type App, bodilessTools, workerTools } from "../../app/app.ts";
import { toolLabel } from "../../../protocol/tool.ts";
import { type Config, withHealth, withReplicas } from "../../runtime/config.ts";
import type { HostBounds } from "../../runtime/run-host.ts";
import type { Running, ServedOptions } from "../../runtime/running.ts";
import { aborted, drainLine } from "../../runtime/serve.ts";
import { graceMs } from "../../runtime/shutdown.ts";
import type { CommandContext } from "./context.ts";
import type { Output } from "./output.ts";

/** The option by which a process that serves is told what. */
export const servedApp = {
  type: "string",
  hint: "FILE",
  required: true,
  help: "application file, its default export made by defineApp",
} as const;

/** What people see of a host's or worker's log. It is for machines, so it looks the same to both. */
export const logHelp =
  "Its log is on stderr, one JSON line each, with --json or without; LOG_LEVEL=warn shows only what goes wrong.";

/** Where a process that serves shows its health. */
export const healthOptions = {
  "health-port": {
    type: "string",
    hint: "PORT",
    help: "show /healthz, /readyz and /metrics here, 0 for any free port; else SAGAMESH_HEALTH_PORT, else nowhere",
  },
  "health-host": {
    type: "string",
    hint: "ADDRESS",
    help: "listen on this address for it; else SAGAMESH_HEALTH_HOST, else 127.0.0.1",
  },
} as const;

/** How many copies the streams have that a process which serves makes or finds. */
export const replicasOption = {
  type: "string",
  hint: "N",
  help: "copies of each stream: 3 in a cluster; else SAGAMESH_REPLICAS, else as many as there are, 1 for a new mesh",
} as const;

/** How much one host takes upon itself. */
export const boundOptions = {
  "sagas-max": {
    type: "string",
    hint: "N",
    help: "sagas it runs at once; more starts wait in the stream (2000)",
  },
  "effects-max": { type: "string", hint: "N", help: "model calls and tools of its own at once (256)" },
  "audit-every": {
    type: "string",
    hint: "DURATION",
    help: "how often it looks for what is open and in no queue (5m), and hands it on again",
  },
  weight: {
    type: "string",
    hint: "N",
    help: "how many of the partitions it takes beside other hosts: 2 takes twice as many as 1; 0.1 to 100; else SAGAMESH_WEIGHT, else 1",
  },
} as const;

/** How a host stands to hosts of other definitions. */
export const besideOption = {
  type: "boolean",
  help: "serve what was changed without a new version beside the old one, whose sagas live; keep a host of that running",
} as const;

/** Those options as numbers. Throws USAGE. */
export const servedBounds = (args: {
  readonly [K in keyof typeof boundOptions]: string | undefined;
}): HostBounds => ({
  sagasMax: boundOf("sagas-max", args["sagas-max"]),
  effectsMax: boundOf("effects-max", args["effects-max"]),
  auditEveryMs: auditOf(args["audit-every"]),
  weight: weightFlag(args.weight),
});

const auditLeastMs = 1_000;

function auditOf(text: string | undefined): number | undefined {
  const ms = text === undefined ? undefined : msOf(text);
  if (ms === undefined || ms >= auditLeastMs) return ms;
  throw new MeshError("USAGE", `--audit-every: expected 1s or more, got "${text}"`, {
    remedy: "For example --audit-every 1m.",
  });
}

function weightFlag(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const weight = weightOf(text);
  if (weight !== undefined) return weight;
  throw new MeshError("USAGE", `--weight: expected 0.1 to 100, in tenths, got "${text}"`, {
    remedy: "For example --weight 2 for a host that is twice as fast as the others.",
  });
}

function boundOf(name: "sagas-max" | "effects-max", text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new MeshError("USAGE", `--${name}: expected a number from 1 to 999999, got "${text}"`, {
    remedy: `For example --${name} 500.`,
  });
}

/** The configuration with those options. Throws USAGE. */
export const servedConfig = (
  config: Config,
  args: { readonly [K in keyof typeof healthOptions | "replicas"]: string | undefined },
): Config =>
  withReplicas(withHealth(config, { host: args["health-host"], port: args["health-port"] }), args.replicas);

/** What the options of a host or worker are for the call that starts it. Throws USAGE. */
export function servedOptions(
  { config, output, signal }: CommandContext,
  args: Parameters<typeof servedConfig>[1],
): Omit<ServedOptions, "app"> {
  const { servers, dataDir, replicas, health } = servedConfig(config, args);
  return {
    ...{ servers, dataDir, replicas, signal, report: output.note },
    ...{ healthHost: health.host, healthPort: health.port, logLevel: config.logLevel ?? "info" },
  };
}

/** Says that it serves, and ends it well at the signal. Throws UNAVAILABLE if its connection ends for good before. */
export async function untilEnded(
  running: Running,
  { signal, output }: Pick<CommandContext, "signal" | "output">,
  say: () => void,
): Promise<0> {
  try {
    say();
    const lost = await Promise.race([aborted(signal), running.lost]);
    if (lost !== undefined) throw lost;
    output.note(drainLine(running.underWay(), graceMs));
    return 0;
  } finally {
    await running.stop();
  }
}

/** What a process that serves says besides. */
interface Told {
  /** Of a worker: the only tools it performs. */
  readonly only?: readonly string[] | undefined;
  readonly gateway?: string | undefined;
  readonly console?: string | undefined;
}

/** Prints where things are, what is served and, where sagas are, how to start one. */
export function announce(
  output: Output,
  role: ServingDocument["role"],
  { server, healthUrl }: Pick<Running, "server" | "healthUrl">,
  app: App,
  { only, gateway, console }: Told = {},
): void {
  const document: ServingDocument = {
    role,
    url: server.url,
    serverVersion: server.version,
    ...(server.dataDir === undefined ? {} : { dataDir: server.dataDir }),
    definitions: role === "worker" ? [] : app.startable.map(({ name, version }) => ({ name, version })),
    tools: role === "host" ? [] : workerTools(app, only).map(toolLabel),
    ...(role === "up" ? { bodiless: bodilessTools(app).map(toolLabel) } : {}),
    ...(role === "worker" || app.notes.length === 0 ? {} : { notes: [...app.notes] }),
    pid: process.pid,
    ...(healthUrl === undefined ? {} : { health: healthUrl }),
    ...(gateway === undefined ? {} : { gateway }),
    ...(console === undefined ? {} : { console }),
  };
  output.print(document, () => describe(document));
}

function describe(document: ServingDocument): string {
  const { role, url, serverVersion, dataDir, definitions, tools, bodiless = [], health, gateway } = document;
  const { notes = [], console } = document;
  const lines = [
    `${role}: NATS ${serverVersion} at ${url}${dataDir === undefined ? "" : `, data in ${dataDir}`}`,
  ];
  if (role !== "worker")
    lines.push(
      `serves ${definitions.map(({ name, version }) => `${name}@${version}`).join(", ") || "no sagas"}`,
    );
  if (role !== "host") lines.push(`performs ${tools.join(", ") || "no tools"}`);
  if (bodiless.length > 0)
    lines.push(`calls of ${bodiless.join(", ")} wait for another worker: ${lacksBody}`);
  lines.push(...notes.map((note) => `note: ${note}`));
  if (gateway !== undefined) lines.push(`takes answers from outside at ${gateway}`);
  if (console !== undefined) lines.push(`look at it at ${console}`);
  if (health !== undefined) lines.push(`health at ${health}/readyz, ${health}/metrics`);
  const [first] = definitions;
  if (role === "up" && first !== undefined)
    lines.push(`start one: sagamesh start ${first.name} --input '{…}' --wait    (Ctrl-C here stops)`);
  return lines.join("\n");
}

const lacksBody = "this file has no body for it (perform, or implement under implementations)";
