/** Temporal: its development server, built by Go, a worker and a client. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Peer } from "../peer.ts";
import { freePort } from "../../../support/free-port.ts";
import { bytesBelow, startServer, tailOf, untilTrue } from "../processes.ts";

const run = promisify(execFile);
const command = "github.com/temporalio/cli/cmd/temporal@v1.5.1";
const sdk = ["worker", "client", "workflow", "activity"].map((part) => `@temporalio/${part}@1.24.0`);
const file = fileURLToPath(new URL("temporal-process.ts", import.meta.url));
/** The worker bundles it, and looks beside it for what it imports. */
const workflows = fileURLToPath(new URL("temporal-workflows.js", import.meta.url));

export const temporal: Peer = {
  name: "temporal",
  packages: sdk,
  about:
    "workflows of activities (10 s from start to close, so that those of a dead worker are given again; 1,000 at once), the development server as it comes, which is no production setting, with its SQLite in a file",
  durability: {
    always: "SQLite with `synchronous = FULL`",
    default: "SQLite with `synchronous = NORMAL`",
  },
  fewer: { one: 100, each: 25, rounds: 2 },
  cannot: {
    crowd: "51,200 steps take it more than six minutes at the steps a second of 64 workflows",
    resume: "10,000 activities are 60,000 events; a history ends at 51,200",
  },
  prepare: async (folder, say) => {
    const binary = join(folder, "bin", "temporal");
    if (!existsSync(binary)) {
      say("temporal is built by Go, which takes many minutes");
      await mkdir(join(folder, "bin"), { recursive: true });
      await run("go", ["install", command], { env: { ...process.env, GOBIN: join(folder, "bin") } });
    }
    await copyFile(workflows, join(folder, "workflows.js"));
    return command;
  },
  start: async ({ folder, data, sync }) => {
    const port = await freePort();
    const log = join(data, "temporal.log");
    const database = join(data, "temporal.db");
    const server = startServer(
      join(folder, "bin", "temporal"),
      [
        ...["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", `${port}`],
        ...["--db-filename", database, "--log-level", "error"],
        ...[
          "--sqlite-pragma",
          "journal_mode=WAL",
          "--sqlite-pragma",
          `synchronous=${sync === "always" ? 2 : 1}`,
        ],
      ],
      { log },
    );
    const health = ["operator", "cluster", "health", "--address", `127.0.0.1:${port}`];
    const ready = () =>
      run(join(folder, "bin", "temporal"), health).then(({ stdout }) => stdout.includes("SERVING"));
    try {
      await untilTrue("the Temporal server is ready", ready, 60_000);
    } catch (error) {
      await server.stop();
      throw new Error(`the Temporal server did not start: ${await tailOf(log)}`, { cause: error });
    }
    const at = `127.0.0.1:${port}`;
    return {
      pids: [server.pid],
      app: { file, args: ["app", at, join(folder, "workflows.js")] },
      client: { file, args: ["client", at] },
      stored: () => bytesBelow(data, (path) => path.startsWith(database)),
      stop: () => server.stop("SIGTERM"),
    };
  },
};
