/**
 * Config: what a process is told from outside, read once. A flag, then the environment, then the default.
 *
 * Owns: every variable's name and rule. Does not own: what an application file reads for itself.
 *
 * CG1 All faults are told in one error, each with the variable, the rule and an example.
 * CG2 A secret is never printed: what is logged is `describeConfig`.
 */
import { userInfo } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { limits } from "../../protocol/limits.ts";
import { weightDefault, weightOf } from "../../protocol/host-weight.ts";
import { partitionsMax, partitionsOf } from "../../protocol/partitions.ts";
import { shardsMax } from "../../protocol/shards.ts";
import { MeshError } from "../../protocol/errors.ts";
import { cacheFolder, dataFolder, type Environment } from "../nats/server/user-folders.ts";

export interface Config {
  /** `nats://host:port`, several separated by commas. Undefined: the embedded server. */
  readonly servers: string | undefined;
  /** The data folder, where a flag named one. */
  readonly dataDir: string | undefined;
  /** Folder of the embedded server. */
  readonly serverDir: string;
  /** Folder of what `replay --query` does: a server and its runs, apart from every mesh it reads. */
  readonly replayDir: string;
  /** Folder of what `plan` does: a folder with a server for each planning. */
  readonly planDir: string;
  /** Folder of archives, beside the embedded server's. */
  readonly archiveDir: string;
  /** Folder of the tables that queries read; it may be deleted. */
  readonly indexDir: string;
  /** `postgres://user:password@host/database`: the database in which they are instead. */
  readonly indexUrl: string | undefined;
  /** Folder of what exporters of spans remember. */
  readonly traceDir: string;
  /** The variables of OpenTelemetry, as they are. Some hold secrets. */
  readonly otel: Environment;
  /** What callback URLs begin with; a token follows. */
  readonly callbackBase: string;
  /** Undefined: the process's own default. */
  readonly logLevel: LogLevel | undefined;
  readonly anthropicApiKey: string | undefined;
  readonly health: HealthConfig;
  readonly gateway: GatewayConfig;
  /** Copies of each stream. Undefined: as many as the mesh has, and one for a new one. */
  readonly replicas: number | undefined;
  /** Streams of ledgers that a new mesh is made with. Undefined: one. */
  readonly shards: number | undefined;
  /** Partitions that a new mesh is made with. Undefined: as many as is usual. */
  readonly partitions: number | undefined;
  /** How long one saga may hold the loop of its host's process before that is ended, milliseconds of processor time. */
  readonly heldMaxMs: number;
  /** How much is kept for what runs, when little is left to store in: bytes. Undefined: a twentieth, at most 1 GiB. */
  readonly reserveBytes: number | undefined;
  /** Whether hosts decide each turn twice, for development. */
  readonly foldsTwice: boolean;
  /** How many of the partitions a host takes beside others. */
  readonly weight: number;
  /** Files with the seeds of NKeys: what a host signs its turns with, and a person their votes. */
  readonly hostNkey: string | undefined;
  readonly nkey: string | undefined;
  /** What the console asks of who acts, of who only looks, and of the proxy in front of it. */
  readonly console: Readonly<Record<"token" | "lookToken" | "proxySecret", string | undefined>>;
  /** Who speaks; recorded with signals and votes. */
  readonly from: string;
}

/** The door for answers from outside: what its links begin with, and what they are signed with. */
export interface GatewayConfig {
  /** Undefined: there is none, and a callback is a bare token. */
  readonly url: string | undefined;
  /** The first signs, all verify. */
  readonly secrets: readonly string[];
  /** Where one on an embedded server keeps its secret and its port. */
  readonly folder: string;
}

/** Where a host or worker shows its health. */
export interface HealthConfig {
  /** Default 127.0.0.1: the metrics tell much and there is no password, so only this machine sees them. */
  readonly host: string;
  /** 0: any free one. Undefined: nowhere, and nothing of it is loaded. */
  readonly port: number | undefined;
}

export interface ConfigFlags {
  readonly server?: string | undefined;
  /** What messages call the one above; `--server` unless given. */
  readonly serverFrom?: string | undefined;
  readonly data?: string | undefined;
  readonly from?: string | undefined;
}

export const LogLevel = z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]);
export type LogLevel = z.infer<typeof LogLevel>;

/** Without a door for answers from outside, a callback is a bare token. */
const noCallbackBase = "sagamesh:";

/** Reads flags and environment. Throws USAGE with every fault. */
export function readConfig(flags: ConfigFlags = {}, env: Environment = process.env): Config {
  const faults: string[] = [];
  const [servers, serversFrom] =
    flags.server === undefined
      ? [env["NATS_URL"], "NATS_URL"]
      : [flags.server, flags.serverFrom ?? "--server"];
  if (servers !== undefined && servers !== "" && !servers.split(",").every(isServer))
    faults.push(
      `${serversFrom}: expected nats://host:port, or several separated by commas, got "${redactUrl(servers)}"`,
    );
  const callback = env["SAGAMESH_CALLBACK_URL"] || undefined;
  if (callback !== undefined && !/^https?:\/\/\S+$/.test(callback))
    faults.push(
      `SAGAMESH_CALLBACK_URL: expected a URL such as https://example.org/callbacks/, got "${callback}"`,
    );
  const level = LogLevel.safeParse(env["LOG_LEVEL"] || "info");
  if (!level.success)
    faults.push(`LOG_LEVEL: expected one of ${LogLevel.options.join(", ")}, got "${env["LOG_LEVEL"] ?? ""}"`);
  const healthPort = env["SAGAMESH_HEALTH_PORT"] ? readPort(env["SAGAMESH_HEALTH_PORT"]) : undefined;
  if (healthPort === "bad")
    faults.push(
      `SAGAMESH_HEALTH_PORT: expected 0 to 65535, such as 9464, got "${env["SAGAMESH_HEALTH_PORT"] ?? ""}"`,
    );
  const replicas = env["SAGAMESH_REPLICAS"] ? readReplicas(env["SAGAMESH_REPLICAS"]) : undefined;
  if (replicas === "bad")
    faults.push(`SAGAMESH_REPLICAS: expected 1, 3 or 5, got "${env["SAGAMESH_REPLICAS"] ?? ""}"`);
  const heldMax = env["SAGAMESH_HELD_MAX_MS"] || String(limits.heldMaxMs);
  if (!/^\d{4,6}$/.test(heldMax) || Number(heldMax) < 1_000)
    faults.push(`SAGAMESH_HELD_MAX_MS: expected 1000 to 999999, such as 20000, got "${heldMax}"`);
  const sizes = readSizes(env, faults);
  const gatewayUrl = env["SAGAMESH_GATEWAY_URL"] || undefined;
  if (gatewayUrl !== undefined && !isPublicUrl(gatewayUrl))
    faults.push(
      `SAGAMESH_GATEWAY_URL: expected a URL such as https://example.org/sagamesh, got "${gatewayUrl}"`,
    );
  const secrets = (env["SAGAMESH_GATEWAY_SECRET"] || undefined)?.split(",").map((one) => one.trim()) ?? [];
  if (secrets.some((one) => one.length < secretCharsMin))
    faults.push(
      `SAGAMESH_GATEWAY_SECRET: expected ${secretCharsMin} characters or more, or several such separated by commas, as \`openssl rand -base64 32\` makes them`,
    );
  const indexUrl = readIndexUrl(env["SAGAMESH_INDEX_URL"], faults);
  faults.push(...twiceFaults(env["SAGAMESH_FOLDS_TWICE"]), ...dataFaults(flags.data));
  if (faults.length > 0)
    throw new MeshError("USAGE", faults.join("; "), {
      remedy: "Correct the flag or variable named, or leave it out.",
    });
  const folder = dataFolder(flags.data === undefined ? env : { ...env, SAGAMESH_DATA: flags.data });
  return {
    servers: servers || undefined,
    dataDir: flags.data,
    ...foldersIn(folder),
    ...{ indexDir: join(cacheFolder(env), "index"), indexUrl },
    otel: Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("OTEL_"))),
    callbackBase: callback === undefined ? noCallbackBase : callback.replace(/\/?$/, "/"),
    logLevel: env["LOG_LEVEL"] ? level.data : undefined,
    anthropicApiKey: env["ANTHROPIC_API_KEY"] || undefined,
    health: {
      host: env["SAGAMESH_HEALTH_HOST"] || "127.0.0.1",
      port: healthPort === "bad" ? undefined : healthPort,
    },
    gateway: { url: gatewayUrl, secrets, folder: join(folder, "gateway") },
    replicas: replicas === "bad" ? undefined : replicas,
    heldMaxMs: Number(heldMax),
    ...sizes,
    foldsTwice: env["SAGAMESH_FOLDS_TWICE"] === "1",
    ...{ hostNkey: env["SAGAMESH_HOST_NKEY"] || undefined, nkey: env["SAGAMESH_NKEY"] || undefined },
    console: consoleSecrets(env),
    from: flags.from ?? userName(),
  };
}

const consoleSecrets = (env: Environment): Config["console"] => ({
  token: env["SAGAMESH_CONSOLE_TOKEN"],
  lookToken: env["SAGAMESH_CONSOLE_LOOK_TOKEN"],
  proxySecret: env["SAGAMESH_CONSOLE_PROXY_SECRET"],
});

const foldersIn = (
  folder: string,
): Pick<Config, "serverDir" | "replayDir" | "planDir" | "archiveDir" | "traceDir"> => ({
  serverDir: join(folder, "server"),
  replayDir: join(folder, "replays"),
  planDir: join(folder, "plans"),
  archiveDir: join(folder, "archive"),
  traceDir: join(folder, "traces"),
});

/** What `--data` cannot be: a person means a signal's data by it. */
function dataFaults(data: string | undefined): string[] {
  if (data === "") return ["--data: expected a folder, got nothing"];
  if (!/^\s*[{["]/.test(data ?? "")) return [];
  return [
    "--data: expected the data folder of the embedded server, got JSON; what a signal says is its third word: `sagamesh signal SAGA NAME '{…}'`",
  ];
}

const twiceFaults = (text = ""): string[] =>
  ["", "0", "1"].includes(text) ? [] : [`SAGAMESH_FOLDS_TWICE: expected 1 or 0, got "${text}"`];

/** The configuration with what a command's own flags say of health. Throws USAGE. */
export function withHealth(
  config: Config,
  flags: { readonly host: string | undefined; readonly port: string | undefined },
): Config {
  const { health } = config;
  const port = flags.port === undefined ? health.port : readPort(flags.port);
  if (port === "bad")
    throw new MeshError("USAGE", `--health-port: expected 0 to 65535, got "${flags.port ?? ""}"`, {
      remedy: "For example --health-port 9464; 0 takes any free one.",
    });
  return { ...config, health: { host: flags.host ?? health.host, port } };
}

const readSizes = (
  env: Environment,
  faults: string[],
): Pick<Config, "reserveBytes" | "shards" | "partitions" | "weight"> => ({
  reserveBytes: readReserve(env["SAGAMESH_RESERVE_MB"], faults),
  shards: readShards(env["SAGAMESH_SHARDS"], faults),
  partitions: readPartitions(env["SAGAMESH_PARTITIONS"], faults),
  weight: readWeight(env["SAGAMESH_WEIGHT"], faults),
});

function readWeight(text: string | undefined, faults: string[]): number {
  const weight = text ? weightOf(text) : weightDefault;
  if (weight === undefined)
    faults.push(`SAGAMESH_WEIGHT: expected 0.1 to 100, in tenths, such as 2, got "${text ?? ""}"`);
  return weight ?? weightDefault;
}

function readShards(text: string | undefined, faults: string[]): number | undefined {
  if (!text) return undefined;
  if (/^[1-9]\d?$/.test(text) && Number(text) <= shardsMax) return Number(text);
  faults.push(`SAGAMESH_SHARDS: expected 1 to ${shardsMax}, got "${text}"`);
  return undefined;
}

function readPartitions(text: string | undefined, faults: string[]): number | undefined {
  if (!text) return undefined;
  const partitions = partitionsOf(text);
  if (partitions === undefined)
    faults.push(`SAGAMESH_PARTITIONS: expected 1 to ${partitionsMax}, got "${text}"`);
  return partitions;
}

/** The configuration with what a command's own flag says of copies. Throws USAGE. */
export function withReplicas(config: Config, flag: string | undefined): Config {
  if (flag === undefined) return config;
  const replicas = readReplicas(flag);
  if (replicas === "bad")
    throw new MeshError("USAGE", `--replicas: expected 1, 3 or 5, got "${flag}"`, {
      remedy: "A cluster of three servers holds three copies; one server holds one.",
    });
  return { ...config, replicas };
}

/** 256 bits in base64 are 44, in hex 64; a word that a person made up is none. */
const secretCharsMin = 32;

const isPublicUrl = (text: string): boolean => {
  if (/\s/.test(text) || !URL.canParse(text)) return false;
  const { protocol, search, hash } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && search === "" && hash === "";
};

/** The configuration with what a command's own flag says of the gateway's public URL. Throws USAGE. */
export function withGatewayUrl(config: Config, flag: string | undefined): Config {
  if (flag === undefined) return config;
  if (!isPublicUrl(flag))
    throw new MeshError("USAGE", `--public-url: expected a URL, got "${flag}"`, {
      remedy: "For example --public-url https://example.org/sagamesh, as the outside reaches the gateway.",
    });
  return { ...config, gateway: { ...config.gateway, url: flag } };
}

const databaseHint = "a URL such as postgres://user:password@host/database";
const isDatabase = (text: string): boolean =>
  /^postgres(?:ql)?:\/\/\S+$/.test(text) && URL.canParse(text) && new URL(text).hostname !== "";

function readIndexUrl(text: string | undefined, faults: string[]): string | undefined {
  if (!text) return undefined;
  if (!isDatabase(text))
    faults.push(`SAGAMESH_INDEX_URL: expected ${databaseHint}, got "${redactDatabase(text)}"`);
  return text;
}

/** The configuration with what a command's own flag says of the tables' database. Throws USAGE. */
export function withIndexUrl(config: Config, flag: string | undefined): Config {
  if (flag === undefined) return config;
  if (!isDatabase(flag))
    throw new MeshError("USAGE", `--url: expected ${databaseHint}, got "${redactDatabase(flag)}"`, {
      remedy: "Without --url and SAGAMESH_INDEX_URL the tables are a file of this user.",
    });
  return { ...config, indexUrl: flag };
}

/** A flag that names a port. Throws USAGE. */
export function portOf(flag: string, text: string): number {
  const port = readPort(text);
  if (port === "bad")
    throw new MeshError("USAGE", `--${flag}: expected 0 to 65535, got "${text}"`, {
      remedy: `For example --${flag} 8088; 0 takes any free one.`,
    });
  return port;
}

function readReserve(text: string | undefined, faults: string[]): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (!/^\d{1,8}$/.test(text))
    faults.push(`SAGAMESH_RESERVE_MB: expected megabytes such as 512, or 0 for none, got "${text}"`);
  return Number(text) * 1_000_000;
}

/** With two or four copies the loss of as many servers stops the mesh as with one or three. */
const readReplicas = (text: string): number | "bad" => (/^[135]$/.test(text) ? Number(text) : "bad");

const readPort = (text: string): number | "bad" =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : "bad";

/** The configuration as it may be shown. */
export const describeConfig = ({ anthropicApiKey, console, ...config }: Config): Record<string, unknown> => ({
  ...config,
  ...(config.servers === undefined ? {} : { servers: redactUrl(config.servers) }),
  ...(config.indexUrl === undefined ? {} : { indexUrl: redactDatabase(config.indexUrl) }),
  gateway: { ...config.gateway, secrets: config.gateway.secrets.map(() => "[redacted]") },
  otel: Object.keys(config.otel),
  // What is not set is left out: a log that redacts by name would show it as something.
  ...(anthropicApiKey === undefined ? {} : { anthropicApiKey: "[redacted]" }),
  ...(Object.values(console).some((one) => one) ? { console: "[redacted]" } : {}),
});

/** An address without its user and password. */
export const redactUrl = (servers: string): string => servers.replaceAll(/\/\/[^/@,]*@/g, "//***@");

/** A database's address without user, password and options, which may name them too. */
export const redactDatabase = (url: string): string => redactUrl(url).replace(/\?.*$/s, "");

const schemes = new Set(["nats:", "tls:", "ws:", "wss:"]);

const isServer = (server: string): boolean => {
  if (/\s/.test(server) || server === "") return false;
  if (!server.includes("://")) return /^[\w.[\]:-]+$/.test(server);
  return URL.canParse(server) && schemes.has(new URL(server).protocol) && new URL(server).hostname !== "";
};

/** The machine's name for the user who runs this; some containers have none. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return "somebody";
  }
};
