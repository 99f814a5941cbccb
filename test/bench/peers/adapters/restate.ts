/** Restate: its server from the package registry, and a workflow service over HTTP/2. */
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import type { Peer } from "../peer.ts";
import { freePort } from "../../../support/free-port.ts";
import { bytesBelow, startServer, tailOf, untilTrue } from "../processes.ts";

export const restate: Peer = {
  name: "restate",
  packages: ["@restatedev/restate-server@1.7.12", "@restatedev/restate-sdk@1.17.2"],
  about: "a workflow with `ctx.run` steps, one server as it comes (24 partitions), client over HTTP ingress",
  durability: {
    always: "the log server syncs its WAL, in groups, before a step is acked (its default)",
    default: "the same without the WAL's fsync (`rocksdb-disable-wal-fsync`)",
  },
  cannot: {},
  start: async ({ folder, data, sync }) => {
    const [node, admin, ingress, service] = await Promise.all([
      freePort(),
      freePort(),
      freePort(),
      freePort(),
    ]);
    const log = join(data, "restate.log");
    const base = join(data, "restate");
    const server = startServer(
      join(
        folder,
        `node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
      ),
      [],
      {
        env: {
          RESTATE_BASE_DIR: base,
          RESTATE_BIND_IP: "127.0.0.1",
          RESTATE_BIND_PORT: `${node}`,
          RESTATE_LISTEN_MODE: "tcp",
          RESTATE_ADMIN__BIND_PORT: `${admin}`,
          RESTATE_INGRESS__BIND_PORT: `${ingress}`,
          RESTATE_DISABLE_TELEMETRY: "true",
          RESTATE_LOG_FILTER: "warn",
          RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: `${sync === "default"}`,
        },
        log,
      },
    );
    const adminUrl = `http://127.0.0.1:${admin}`;
    const answers = (url: string) => async () => (await fetch(url)).ok;
    try {
      await untilTrue("restate-server is ready", answers(`${adminUrl}/health`), 60_000);
      await untilTrue("its ingress is ready", answers(`http://127.0.0.1:${ingress}/restate/health`), 60_000);
    } catch (error) {
      await server.stop();
      throw new Error(`restate-server did not start: ${await tailOf(log)}`, { cause: error });
    }
    const file = fileURLToPath(new URL("restate-process.ts", import.meta.url));
    return {
      pids: [server.pid],
      app: { file, args: ["app", `${service}`] },
      client: { file, args: ["client", `http://127.0.0.1:${ingress}`] },
      introduce: async () => {
        const answer = await fetch(`${adminUrl}/deployments`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ uri: `http://127.0.0.1:${service}`, force: true }),
        });
        if (!answer.ok) throw new Error(`Restate refused the service: ${await answer.text()}`);
      },
      stored: () => bytesBelow(base),
      stop: () => server.stop("SIGTERM"),
    };
  },
};
