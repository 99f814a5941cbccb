/** A PostgreSQL of its own for a peer: the machine's binaries, a new data folder, a free port, gone afterwards. */
import { execFile } from "node:child_process";
import { chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Place } from "../peer.ts";
import { freePort } from "../../../support/free-port.ts";
import { postgresBin, unprivileged } from "../../../support/postgres.ts";
import { bytesBelow, startServer, tailOf, untilTrue } from "../processes.ts";

const run = promisify(execFile);

/** As it comes, and enough connections; without fsync of commits only `synchronous_commit` differs. */
export const postgresDurability = {
  always: "PostgreSQL syncs its WAL before a commit is answered (`synchronous_commit = on`, its default)",
  default: "the same with `synchronous_commit = off`",
} as const;

/** The newest on this machine, else what `pg_config` says. */
async function binaries(): Promise<string> {
  const found =
    postgresBin ??
    (await run("pg_config", ["--bindir"]).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    ));
  if (found === undefined) throw new Error("PostgreSQL is not on this machine: apt-get install postgresql");
  return found;
}

/** What `binaries` finds, for the table of versions. */
export const postgresVersion = async (): Promise<string> =>
  (await run(join(await binaries(), "postgres"), ["--version"])).stdout.trim();

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
