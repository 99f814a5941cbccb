/** sagamesh, as its users have it: packed, installed in a folder of its own, one host from its command line. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startTestServer } from "../../../support/nats-server.ts";
import type { Peer } from "../peer.ts";
import { bytesBelow, removeFolder } from "../processes.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../..", import.meta.url));
const app = fileURLToPath(new URL("sagamesh-app.ts", import.meta.url));
const client = fileURLToPath(new URL("sagamesh-client.ts", import.meta.url));

/** As in the first line of services/cli/main.ts. */
const asShipped = {
  flags: ["--max-semi-space-size=16", "--no-allocation-site-pretenuring"],
  env: { MALLOC_ARENA_MAX: "2", LOG_LEVEL: "error" },
};

const shardsOf = { always: 4, default: 1 };

export const sagamesh: Peer = {
  name: "sagamesh",
  packages: [],
  about:
    "XState machines with `idempotent` steps performed in the host, one host, one nats-server, one ledger stream; four where every turn is synced, for a stream syncs one turn after the other",
  durability: {
    always: "every turn is synced by the server before it is acked (`sync_interval: always`)",
    default: "a turn is written by the server and synced within two minutes (its default)",
  },
  cannot: {},
  prepare: installThis,
  start: async ({ folder, sync }) => {
    const server = await startTestServer({ syncAlways: sync === "always" });
    const main = join(folder, "node_modules/sagamesh/dist/services/cli/main.js");
    return {
      pids: [server.pid],
      app: {
        ...asShipped,
        env: { ...asShipped.env, SAGAMESH_SHARDS: String(shardsOf[sync]) },
        file: main,
        args: ["host", "--app", app, "--server", server.url],
      },
      client: { ...asShipped, file: client, args: [server.url] },
      stored: () => bytesBelow(server.dataDir),
      stop: () => server.stop(),
    };
  },
};

/** Builds and packs this checkout and installs it, unless the folder has this very commit and nothing was changed since. */
async function installThis(folder: string, say: (text: string) => void): Promise<string> {
  const git = async (...words: string[]) => (await run("git", words, { cwd: root })).stdout.trim();
  const commit = await git("rev-parse", "--short", "HEAD").catch(() => "unknown");
  const isChanged =
    (await git("status", "--porcelain", "--", "protocol", "actors", "services").catch(() => "?")) !== "";
  const what = isChanged ? `${commit} with changes` : commit;
  const mark = join(folder, `at-${commit}`);
  if (!isChanged && existsSync(mark)) return what;
  say("sagamesh is built and packed");
  await removeFolder(folder);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const npm = (cwd: string, ...words: string[]) => run("npm", words, { cwd });
  await npm(root, "run", "--silent", "build");
  await npm(root, "pack", "--silent", "--ignore-scripts", "--pack-destination", folder);
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
  await npm(
    folder,
    "install",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    `./${tarball}`,
  );
  await writeFile(mark, "");
  return what;
}
