/**
 * Three NATS servers on this machine that are one cluster: for tests, and for a person who wants to see one die.
 *
 * Owns: the addresses, the configuration files and the processes of one data folder. Does not own: the binary and
 * what a server process is (services/nats), and what is stored.
 *
 * C1 A server keeps its name, its store and its addresses for the life of the folder: the others know it by its
 *    name, clients by its address. One that comes back is the same member.
 * C2 Two servers never run on one store: a recorded process that still lives is taken over, not started beside.
 * C3 All listens on 127.0.0.1, without passwords. Three on one machine survive a process, not the machine: they
 *    are no production.
 */
import { randomBytes } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join, resolve } from "node:path";
import { withFileLock } from "../services/nats/server/file-lock.ts";
import { type Report, withProgress } from "../services/nats/progress.ts";
import { ensureServerBinary } from "../services/nats/server/binary.ts";
import { renderServerConfig } from "../services/nats/server/config.ts";
import { awaitReady, endServer, readLogTail, spawnServer } from "../services/nats/server/process.ts";
import { isServerProcess, serverFiles, serverName } from "../services/nats/server/state.ts";

/** A member is sometimes slow to recover its store beside two others. */
const startTimeoutMs = 60_000;

export interface ClusterServer {
  /** As the other members and the monitoring name it. */
  readonly name: string;
  readonly url: string;
  /** Of the process that runs now; undefined while none does. */
  pid(): number | undefined;
  /** Sends the process a signal and waits for nothing. SIGKILL is a crash, SIGSTOP a machine that hangs. */
  signal(signal: NodeJS.Signals): void;
  /** Starts it again with its store and addresses. Resolves when it answers, not when it has caught up. */
  start(): Promise<void>;
}

export interface LocalCluster {
  readonly servers: readonly ClusterServer[];
  /** All addresses, as `--server` and NATS_URL take them. */
  readonly url: string;
  /** Ends the servers in order; their stores stay. May be called again. */
  stop(): Promise<void>;
}

export interface LocalClusterOptions {
  /** Made if absent. Holds a folder for each server and `cluster.json`. */
  readonly dataDir: string;
  readonly report: Report;
  readonly signal?: AbortSignal;
  /** Every write on the disk before it is acked. Default false, as the server's own. */
  readonly syncAlways?: boolean;
  /** Whether clients are told of the other servers. Default true; false where each must keep to a proxy of its own. */
  readonly advertise?: boolean;
  /** More lines of the server's own language, for each server. */
  readonly extraConfig?: string;
  /** Default three. One is a server by itself, that is killed and started as the three are. Of a new folder only. */
  readonly size?: 1 | 3;
}

interface Member {
  readonly nonce: string;
  readonly port: number;
  readonly routePort: number;
  readonly pid?: number;
}

/**
 * Starts the three servers of the folder, or takes over those that still run. Resolves when all answer; their
 * JetStream elects its leaders in the seconds after. Throws SERVER_MISSING, UNAVAILABLE.
 */
export async function startLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const { report, signal } = options;
  const dataDir = resolve(options.dataDir);
  const { path: binary } = await ensureServerBinary({ report, signal });
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  return withFileLock({ path: join(dataDir, "cluster.lock"), signal }, async () => {
    const members = (await readMembers(dataDir)) ?? (await newMembers(options.size ?? 3));
    // Synchronous: three starts write it at once, and what is there must be whole.
    const record = () => {
      const path = join(dataDir, "cluster.json");
      writeFileSync(`${path}.new`, `${JSON.stringify(members)}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    };
    const servers = members.map((member, index) => createServerOf(member, index));

    function createServerOf({ nonce, port }: Member, index: number): ClusterServer {
      const folder = join(dataDir, `n${index + 1}`);
      const url = `nats://127.0.0.1:${port}`;
      const current = () => members[index]!;
      const start = async () => {
        const survivor = current().pid;
        const lives = survivor !== undefined && (await isServerProcess({ pid: survivor, nonce })); // C2
        if (!lives) {
          await writeConfig(folder, members, index, options);
          members[index] = { ...current(), pid: await spawnServer(binary, folder, nonce) };
          record();
        }
        const pid = current().pid!;
        const line = (seconds: number) => `  ${serverName(nonce)} is starting: ${seconds} s`;
        const ready = await withProgress(report, line, () =>
          awaitReady({ pid, nonce, url, dataDir: folder }, { timeoutMs: startTimeoutMs, signal }),
        );
        if (ready === undefined)
          throw new Error(`nats-server ${index + 1} does not answer: ${await readLogTail(folder)}`);
      };
      return {
        name: serverName(nonce),
        url,
        start,
        pid: () => current().pid,
        signal: (name) => {
          const { pid } = current();
          if (pid !== undefined) process.kill(pid, name);
          if (name === "SIGKILL") members[index] = { ...current(), pid: undefined };
        },
      };
    }

    const stop = async () => {
      for (const { nonce, pid } of members) if (pid !== undefined) await endServer({ pid, nonce });
    };
    try {
      await Promise.all(servers.map((server) => server.start()));
    } catch (error) {
      await stop();
      throw error;
    }
    return { servers, url: servers.map(({ url }) => url).join(","), stop };
  });
}

async function readMembers(dataDir: string): Promise<Member[] | undefined> {
  const text = await readFile(join(dataDir, "cluster.json"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Member[]); // Written by `record` alone, whole.
}

async function writeConfig(
  folder: string,
  members: readonly Member[],
  index: number,
  { syncAlways = false, advertise = true, extraConfig = "" }: LocalClusterOptions,
): Promise<void> {
  const files = serverFiles(folder);
  const { port, routePort } = members[index]!;
  await rm(files.ports, { recursive: true, force: true });
  await mkdir(files.ports, { recursive: true, mode: 0o700 });
  const alone = [extraConfig];
  const together = [
    `cluster {`,
    `  name: sagamesh`,
    `  listen: "127.0.0.1:${routePort}"`,
    `  routes: [${members.map((member) => `"nats://127.0.0.1:${member.routePort}"`).join(", ")}]`,
    ...(advertise ? [] : [`  no_advertise: true`]),
    `}`,
    extraConfig,
  ];
  const extra = (members.length === 1 ? alone : together).join("\n");
  const config = { port, storeDir: files.store, portsDir: files.ports, logFile: files.log, syncAlways };
  await writeFile(files.config, renderServerConfig({ ...config, extra }), { mode: 0o600 });
}

/** All ports are held until the last is known, so no two are the same. */
async function newMembers(size: number): Promise<Member[]> {
  const held = await Promise.all(Array.from({ length: size * 2 }, holdPort));
  const ports = held.map(({ port }) => port);
  await Promise.all(held.map(({ server }) => new Promise((done) => server.close(done))));
  const family = randomBytes(4).toString("hex");
  return Array.from({ length: size }, (_, index) => ({
    nonce: `${family}-n${index + 1}`,
    port: ports[index]!,
    routePort: ports[size + index]!,
  }));
}

const holdPort = (): Promise<{ server: Server; port: number }> =>
  new Promise((held, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (typeof address === "object" && address !== null) held({ server, port: address.port });
    });
  });
