/**
 * Config: what a process is told from outside, read once. A flag, then the environment, then the default.
 *
 * Owns: every variable's name and rule. Does not own: what an application file reads for itself.
 *
 * G1 All faults are told in one error, each with the variable, the rule and an example.
 * G2 A secret is never printed: what is logged is `describeConfig`.
 */
import { userInfo } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { MeshError } from "../../protocol/errors.ts";
import { dataFolder, type Environment } from "../nats/user-folders.ts";

export interface Config {
  /** `nats://host:port`, several separated by commas. Undefined: the embedded server. */
  readonly servers: string | undefined;
  /** The data folder, where a flag named one. */
  readonly dataDir: string | undefined;
  /** Folder of the embedded server. */
  readonly serverDir: string;
  /** What callback URLs begin with; a token follows. */
  readonly callbackBase: string;
  /** Undefined: the process's own default. */
  readonly logLevel: LogLevel | undefined;
  readonly anthropicApiKey: string | undefined;
  /** Who speaks; recorded with signals and votes. */
  readonly from: string;
}

export interface ConfigFlags {
  readonly server?: string | undefined;
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
    flags.server === undefined ? [env["NATS_URL"], "NATS_URL"] : [flags.server, "--server"];
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
  if (flags.data === "") faults.push("--data: expected a folder, got nothing");
  if (faults.length > 0)
    throw new MeshError("USAGE", faults.join("; "), {
      remedy: "Correct the flag or variable named, or leave it out.",
    });
  return {
    servers: servers || undefined,
    dataDir: flags.data,
    serverDir: join(
      dataFolder(flags.data === undefined ? env : { ...env, SAGAMESH_DATA: flags.data }),
      "server",
    ),
    callbackBase: callback === undefined ? noCallbackBase : callback.replace(/\/?$/, "/"),
    logLevel: env["LOG_LEVEL"] ? level.data : undefined,
    anthropicApiKey: env["ANTHROPIC_API_KEY"] || undefined,
    from: flags.from ?? userName(),
  };
}

/** The configuration as it may be shown. */
export const describeConfig = (config: Config): Record<string, unknown> => ({
  ...config,
  ...(config.servers === undefined ? {} : { servers: redactUrl(config.servers) }),
  anthropicApiKey: config.anthropicApiKey === undefined ? undefined : "[redacted]",
});

/** An address without its user and password. */
export const redactUrl = (servers: string): string => servers.replaceAll(/\/\/[^/@,]*@/g, "//***@");

const schemes = new Set(["nats:", "tls:", "ws:", "wss:"]);

const isServer = (server: string): boolean => {
  if (/\s/.test(server) || server === "") return false;
  if (!server.includes("://")) return /^[\w.[\]:-]+$/.test(server);
  return URL.canParse(server) && schemes.has(new URL(server).protocol) && new URL(server).hostname !== "";
};

/** The machine's name for whoever runs this; some containers have none. */
const userName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return "somebody";
  }
};
