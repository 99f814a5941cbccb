/**
 * The nats-server process: spawned, awaited, ended.
 *
 * Owns: one process from spawn to death. Does not own: which process may start or stop it (embedded.ts).
 *
 * NP1 The server is in a session of its own, with no pipe to its parent: neither a Ctrl-C at the terminal nor
 *     the parent's death by SIGKILL reaches it.
 * NP2 It is ready when it wrote its ports file and answers there by its name; JetStream has recovered by then.
 */
import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MeshError } from "../../../protocol/errors.ts";
import {
  isServerProcess,
  probe,
  serverFiles,
  type ServerIdentity,
  type ServerInfo,
  serverName,
} from "./state.ts";

const pollMs = 30;
const killGraceMs = 10_000;
const killWaitMs = 5_000;
const logTailBytes = 600;

/** Starts the server under the name that the nonce gives it; gives its process id at once. */
export const spawnServer = async (binary: string, dataDir: string, nonce: string): Promise<number> => {
  const { config, log } = serverFiles(dataDir);
  const output = await open(log, "a", 0o600);
  try {
    const child = spawn(binary, ["--config", config, "--name", serverName(nonce)], {
      cwd: dataDir,
      detached: true, // NP1
      stdio: ["ignore", output.fd, output.fd],
    });
    return await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("spawn", () => {
        child.unref();
        resolve(child.pid!); // "spawn" is emitted only once there is a process.
      });
    });
  } catch (error) {
    throw new MeshError("UNAVAILABLE", `nats-server could not be started: ${String(error)}`, {
      cause: error,
    });
  } finally {
    await output.close();
  }
};

export interface ReadyServer {
  readonly url: string;
  readonly info: ServerInfo;
}

/** NP2: waits until the server is ready; undefined if its process ended or the time is over. */
export const awaitReady = async (
  server: ServerIdentity & { readonly url?: string; readonly dataDir: string },
  limit: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<ReadyServer | undefined> => {
  const endAt = performance.now() + limit.timeoutMs;
  while (performance.now() < endAt) {
    limit.signal?.throwIfAborted();
    const url = server.url ?? (await readPortsFile(server.pid, server.dataDir));
    const info = url === undefined ? undefined : await probe(url, server.nonce);
    if (url !== undefined && info !== undefined) return { url, info };
    if (!(await isServerProcess(server))) return undefined;
    await sleep(pollMs);
  }
  return undefined;
};

/**
 * SIGTERM, then SIGKILL after a grace. Returns when the process is gone; does nothing if it is not ours.
 *
 * @throws MeshError UNAVAILABLE if it outlives SIGKILL (it hangs in the kernel, on a broken disk for example)
 */
export const endServer = async (server: ServerIdentity): Promise<void> => {
  for (const [signal, waitMs] of [
    ["SIGTERM", killGraceMs],
    ["SIGKILL", killWaitMs],
  ] as const) {
    if (!(await isServerProcess(server))) return;
    sendSignal(server.pid, signal);
    const endAt = performance.now() + waitMs;
    while (performance.now() < endAt) {
      if (!(await isServerProcess(server))) return;
      await sleep(pollMs);
    }
  }
  throw new MeshError(
    "UNAVAILABLE",
    `nats-server (process ${server.pid}) does not end, not even by SIGKILL`,
    {
      remedy: "See whether the disk of its store still answers.",
    },
  );
};

/** The end of the server's log, for a message. */
export const readLogTail = async (dataDir: string): Promise<string> => {
  const text = await readFile(serverFiles(dataDir).log, "utf8").catch(() => "");
  return text.slice(-logTailBytes).trim();
};

const readPortsFile = async (pid: number, dataDir: string): Promise<string | undefined> => {
  try {
    const path = join(serverFiles(dataDir).ports, `nats-server_${pid}.ports`);
    const ports = JSON.parse(await readFile(path, "utf8")) as { nats?: string[] };
    return ports.nats?.[0];
  } catch {
    return undefined; // Not there yet, or half-written: it is read again.
  }
};

const sendSignal = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // Gone meanwhile: what was wanted.
  }
};
