/**
 * A real nats-server for tests: on a free port, with a store of its own, gone afterwards.
 *
 * The binary is found or got as in the product; the first run of all may take half a minute, so the suite
 * gets it before its tests start. A server ends with the process of the test, however that ends.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedServer } from "../../services/nats/server/embedded.ts";

export interface TestServer {
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  /** Kills the server and removes its folder. May be called again. */
  stop(): Promise<void>;
}

/** Starts a server in a new temporary folder. `extraConfig` is in the server's own language. */
export const startTestServer = async (
  options: { syncAlways?: boolean; extraConfig?: string } = {},
): Promise<TestServer> => {
  const dataDir = await mkdtemp(join(tmpdir(), "sagamesh-test-"));
  const server = await startEmbeddedServer({ ...options, dataDir, report: () => {} });
  const guard = endWithThisProcess(dataDir);
  const kill = () => {
    try {
      process.kill(server.pid, "SIGKILL");
    } catch {
      // It is gone already.
    }
  };
  process.once("exit", kill);
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= remove());
  const remove = async () => {
    process.off("exit", kill);
    kill();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
    guard.end();
  };
  return { url: server.url, pid: server.pid, dataDir, stop };
};

/**
 * A shell that waits for the end of a pipe, which only this process holds, and then kills the server of the folder: also one
 * that was started again there, and where this process was killed and runs nothing more. Nothing, once the folder is gone.
 */
function endWithThisProcess(dataDir: string): { end(): void } {
  const shell = spawn("/bin/sh", ["-c", guard, "sagamesh-test-guard", dataDir], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  shell.unref();
  shell.stdin.on("error", () => undefined);
  return { end: () => void shell.stdin.end() };
}

const guard = `cat >/dev/null
pid=$(sed -n 's/.*"pid":\\([0-9]*\\).*/\\1/p' "$1/server.json") && [ -n "$pid" ] && kill -9 "$pid"
rm -rf "$1"`;
