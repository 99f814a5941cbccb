/** A PostgreSQL of its own for a peer: the machine's binaries, a new data folder, a free port, gone afterwards. */
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Place } from "../peer.ts";
import { freePort } from "../../../support/free-port.ts";
import { bytesBelow, startServer, tailOf, untilTrue } from "../processes.ts";

const run = promisify(execFile);

/** As it comes, and enough connections; without fsync of commits only `synchronous_commit` differs. */
export const postgresDurability = {
  always: "PostgreSQL syncs its WAL before a commit is answered (`synchronous_commit = on`, its default)",
  default: "the same with `synchronous_commit = off`",
} as const;

/** The newest on this machine: Debian's packages, else `pg_config`. */
async function binaries(): Promise<string> {
  const [newest] = globSync("/usr/lib/postgresql/*/bin").sort((a, b) => versionOf(b) - versionOf(a));
  const found =
    newest ??
    (await run("pg_config", ["--bindir"]).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    ));
  if (found === undefined) throw new Error("PostgreSQL is not on this machine: apt-get install postgresql");
  return found;
}

const versionOf = (path: string): number => Number(path.split("/").at(-2));

/** What `binaries` finds, for the table of versions. */
export const postgresVersion = async (): Promise<string> =>
  (await run(join(await binaries(), "postgres"), ["--version"])).stdout.trim();

/** It refuses to run as root, so root runs it as the user that its package made, or as nobody. */
async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
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

export interface Postgres {
  readonly url: string;
  readonly pid: number;
  stored(): Promise<number>;
  stop(): Promise<void>;
}

export async function startPostgres({ data, sync }: Pick<Place, "data" | "sync">): Promise<Postgres> {
  const user = await unprivileged();
  const folder = join(data, "postgres");
  await mkdir(folder, { mode: 0o700 });
  if (user) await chown(folder, user.uid, user.gid);
  const bin = await binaries();
  const cluster = join(folder, "cluster");
  const initdb = ["--pgdata", cluster, "--username", "bench", "--auth", "trust", "--encoding", "UTF8"];
  await run(join(bin, "initdb"), initdb, { cwd: folder, ...user });
  const port = await freePort();
  const settings = [
    "listen_addresses = '127.0.0.1'",
    `port = ${port}`,
    `unix_socket_directories = '${folder}'`,
    "max_connections = 200",
    `synchronous_commit = ${sync === "always" ? "on" : "off"}`,
  ];
  await writeFile(join(cluster, "postgresql.auto.conf"), `${settings.join("\n")}\n`);
  const log = join(data, "postgres.log");
  const server = startServer(join(bin, "postgres"), ["-D", cluster], { log, ...(user && { user }) });
  const ready = () => run(join(bin, "pg_isready"), ["-h", "127.0.0.1", "-p", `${port}`]).then(() => true);
  try {
    await untilTrue("PostgreSQL is ready", ready, 60_000);
  } catch (error) {
    await server.stop();
    throw new Error(`PostgreSQL did not start: ${await tailOf(log)}`, { cause: error });
  }
  return {
    url: `postgresql://bench@127.0.0.1:${port}/postgres`,
    pid: server.pid,
    stored: () => bytesBelow(cluster, (path) => !path.includes("/pg_wal/")),
    stop: () => server.stop("SIGINT"),
  };
}
