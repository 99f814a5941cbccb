/** DBOS: a library in the application's process, and a PostgreSQL that it keeps everything in. */
import { fileURLToPath } from "node:url";
import type { Peer } from "../peer.ts";
import { postgresDurability, postgresVersion, startPostgres } from "./postgres.ts";

export const dbos: Peer = {
  name: "dbos",
  packages: ["@dbos-inc/dbos-sdk@5.3.0"],
  about:
    "workflows of `runStep`, started and signalled in the application's own process, one PostgreSQL on this machine",
  durability: postgresDurability,
  cannot: {},
  prepare: postgresVersion,
  start: async (place) => {
    const { url, pid, stored, stop } = await startPostgres(place);
    const file = fileURLToPath(new URL("dbos-process.ts", import.meta.url));
    return { pids: [pid], app: { file, args: [url] }, stored, stop };
  },
};
