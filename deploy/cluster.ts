/**
 * `npm run cluster -- [--data DIR] [--sync] [--json]`: three NATS servers on this machine, until Ctrl-C.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startLocalCluster } from "./local-cluster.ts";

const { values } = parseArgs({
  options: {
    data: { type: "string", default: join(tmpdir(), "sagamesh-cluster") },
    sync: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const stopping = new AbortController();
const stopped = new Promise<void>((resolve) => {
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => {
      stopping.abort(new Error(name));
      resolve();
    });
});
const say = (line: string) => void process.stderr.write(`${line}\n`);

const cluster = await startLocalCluster({
  dataDir: values.data,
  syncAlways: values.sync,
  report: say,
  signal: stopping.signal,
});
const servers = cluster.servers.map((server) => ({ name: server.name, url: server.url, pid: server.pid() }));
process.stdout.write(
  values.json
    ? `${JSON.stringify({ url: cluster.url, dataDir: values.data, servers })}\n`
    : [
        ...servers.map(({ name, url, pid }) => `${name}  ${url}  process ${pid}`),
        "",
        "sagamesh up --app FILE --replicas 3, in another terminal with:",
        `  export NATS_URL=${cluster.url}`,
        "Kill one with `kill -9`; Ctrl-C here stops all three, and this command starts them again on the same data.",
        "",
      ].join("\n"),
);
const idle = setInterval(() => undefined, 2 ** 30); // The servers are in sessions of their own and keep nothing open here.
await stopped;
clearInterval(idle);
await cluster.stop();
