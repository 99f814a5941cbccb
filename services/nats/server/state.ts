/**
 * What is written down about the embedded server of one data folder, and whether it is true.
 *
 * Owns: `server.json`, the last port, the probe of a port, the question whether a process is ours. Does not own: starting
 * and stopping (embedded.ts). A record is a claim: processes die without correcting it, ports and
 * process ids are given to others. So:
 *
 * SS1 A server is the recorded one only if it names itself by the record's nonce on the recorded port.
 * SS2 A process is ours only if it lives and its command line holds the record's nonce.
 * SS3 The record is replaced whole, by a rename: a reader sees the old one or the new one.
 */
import { execFile } from "node:child_process";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { z } from "zod";

const probeTimeoutMs = 2_000;
const infoBytesMax = 64 * 1024;

const serverRecord = z.strictObject({
  pid: z.int().positive(),
  nonce: z.string().min(1),
  /** Absent while the server starts. */
  url: z.url().optional(),
  syncAlways: z.boolean(),
});
export type ServerRecord = z.infer<typeof serverRecord>;
export type ServerIdentity = Pick<ServerRecord, "pid" | "nonce">;

const serverInfo = z.looseObject({
  server_name: z.string(),
  version: z.string(),
  api_lvl: z.int().optional(),
});
export type ServerInfo = z.infer<typeof serverInfo>;

/** What one data folder holds. */
export const serverFiles = (dataDir: string) => ({
  record: join(dataDir, "server.json"),
  lock: join(dataDir, "server.lock"),
  config: join(dataDir, "server.conf"),
  log: join(dataDir, "server.log"),
  ports: join(dataDir, "ports"),
  store: join(dataDir, "store"),
  port: join(dataDir, "port"),
  users: join(dataDir, "users"),
});

export const serverName = (nonce: string): string => `sagamesh-${nonce}`;

/** The record, or undefined if there is none that can be read: a damaged one is worth as much as none. */
export const readRecord = async (dataDir: string): Promise<ServerRecord | undefined> => {
  const text = await readFile(serverFiles(dataDir).record, "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseJson(serverRecord, text);
};

export const writeRecord = async (dataDir: string, record: ServerRecord): Promise<void> => {
  const path = serverFiles(dataDir).record;
  await writeFile(`${path}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path); // SS3
};

/** Removes the record unless it speaks of another server by now. Called under the folder's lock. */
export const removeRecord = async (dataDir: string, nonce: string): Promise<void> => {
  if ((await readRecord(dataDir))?.nonce === nonce) await rm(serverFiles(dataDir).record, { force: true });
};

/** The port that the folder's server had last, also after a clean end; undefined if it never had one. */
export const readPort = async (dataDir: string): Promise<number | undefined> => {
  const text = await readFile(serverFiles(dataDir).port, "utf8").catch(() => "");
  return /^\d{1,5}\n$/.test(text) ? Number(text) : undefined;
};

export const writePort = (dataDir: string, url: string): Promise<void> =>
  writeFile(serverFiles(dataDir).port, `${new URL(url).port}\n`, { mode: 0o600 });

/** SS1: what the server at this address says of itself; undefined if it is silent, gone or another. */
export const probe = async (url: string, nonce: string): Promise<ServerInfo | undefined> => {
  const line = await readFirstLine(url);
  if (line === undefined || !line.startsWith("INFO ")) return undefined;
  const info = parseJson(serverInfo, line.slice("INFO ".length));
  return info?.server_name === serverName(nonce) ? info : undefined;
};

/** SS2. False also for a process that ended and was not collected yet. */
export const isServerProcess = async ({ pid, nonce }: ServerIdentity): Promise<boolean> => {
  const command =
    process.platform === "linux"
      ? await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")
      : await readCommandLine(pid);
  return command.includes(serverName(nonce));
};

const readCommandLine = (pid: number): Promise<string> =>
  new Promise((resolve) => {
    execFile("ps", ["-ww", "-o", "command=", "-p", String(pid)], (_error, stdout) => resolve(stdout));
  });

const readFirstLine = (url: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    let text = "";
    const end = (line: string | undefined) => {
      socket.destroy();
      resolve(line);
    };
    socket.setEncoding("utf8");
    socket.setTimeout(probeTimeoutMs, () => end(undefined));
    socket.once("error", () => end(undefined));
    socket.once("close", () => end(undefined));
    socket.on("data", (chunk: string) => {
      text += chunk;
      const length = text.indexOf("\r\n");
      if (length >= 0) end(text.slice(0, length));
      else if (text.length > infoBytesMax) end(undefined);
    });
  });

const parseJson = <T>(schema: z.ZodType<T>, text: string): T | undefined => {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // Not JSON: half-written by something else, or no NATS server.
  }
};
