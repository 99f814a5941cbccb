/**
 * A real PostgreSQL for tests: the machine's binaries, a new data folder, a free port, gone afterwards. Where the machine has none the
 * tests that need one are left out, and say how to get it.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { appendFile, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";

const run = promisify(execFile);

const versionOf = (path: string): number => Number(path.split("/").at(-2));

/** The newest on this machine, as Debian's packages lay it out, or another one; undefined where there is none. */
export const [postgresBin] = [
  ...globSync("/usr/lib/postgresql/*/bin").sort((a, b) => versionOf(b) - versionOf(a)),
  ...globSync("/{usr,opt,usr/local}/{pgsql*,postgresql*}/bin"),
];

/** The heading of tests that need one. */
export const withPostgres =
  postgresBin === undefined
    ? "in PostgreSQL, which is left out: apt-get install postgresql"
    : "in PostgreSQL";

/** It refuses to run as root, so root runs it as the user that its package made, or as nobody. */
export async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (kind: string, user: string) => run("id", [kind, user]).then(({ stdout }) => Number(stdout));
  for (const user of ["postgres", "nobody"])
    try {
      return { uid: await idOf("-u", user), gid: await idOf("-g", user) };
    } catch {
      // There is no such user; the next may be there.
    }
  throw new Error("PostgreSQL does not run as root, and there is no user postgres or nobody");
}

export interface TestPostgres {
  /** Of its superuser. */
  readonly url: string;
  /** Of a role that may do nothing yet. */
  readonly guestUrl: string;
  /** Kills it as it is, and starts it again on what it left. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one. Throws where the machine has none. */
export async function startPostgres(): Promise<TestPostgres> {
  if (postgresBin === undefined) throw new Error("there is no PostgreSQL here: apt-get install postgresql");
  const bin = (name: string) => join(postgresBin, name);
  const user = await unprivileged();
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-postgres-"));
  if (user) await chown(folder, user.uid, user.gid);
  const cluster = join(folder, "cluster");
  const how = [
    "--pgdata",
    cluster,
    "--username",
    "owner",
    "--auth",
    "trust",
    "--encoding",
    "UTF8",
    "--no-sync",
  ];
  await run(bin("initdb"), [...how, "--locale", "C.UTF-8"], { cwd: folder, ...user });
  const port = await freePort();
  const settings = [
    ...["listen_addresses = '127.0.0.1'", `port = ${port}`, `unix_socket_directories = '${folder}'`],
    ...["shared_buffers = 64MB", "fsync = off"], // A killed process loses nothing by it.
  ];
  await appendFile(join(cluster, "postgresql.conf"), `${settings.join("\n")}\n`);
  let server: ChildProcess;
  const begin = async () => {
    server = spawn(bin("postgres"), ["-D", cluster], { cwd: folder, stdio: "ignore", ...user });
    const exited = once(server, "exit");
    for (;;) {
      const ready = run(bin("pg_isready"), ["-h", "127.0.0.1", "-p", `${port}`]).then(
        () => true,
        () => false,
      );
      if (await ready) return;
      if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${String(await exited)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const end = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    server.kill("SIGQUIT"); // At once, its processes with it: what it did not write is recovered when it is started again.
    await exited;
  };
  await begin();
  const guard = endWithThisProcess(folder);
  return {
    url: `postgres://owner@127.0.0.1:${port}/postgres`,
    guestUrl: `postgresql://guest@127.0.0.1:${port}/postgres`,
    restart: async () => {
      await end();
      await begin();
    },
    stop: async () => {
      await end();
      await rm(folder, { recursive: true, force: true });
      guard.stdin?.end();
    },
  };
}

/** A shell that waits for the end of a pipe, which only this process holds, and then ends the server of the folder. */
function endWithThisProcess(folder: string): ChildProcess {
  const shell = spawn("/bin/sh", ["-c", guardScript, "sagamesh-test-guard", folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  shell.unref();
  shell.stdin.on("error", () => undefined);
  return shell;
}

const guardScript = `cat >/dev/null
pid=$(head -n 1 "$1/cluster/postmaster.pid") && [ -n "$pid" ] && kill -QUIT "$pid" && sleep 1
rm -rf "$1"`;
