/** Stores that lose their tail, are set back, exchanged or full. */
import { cp, mkdir, open, readdir, rm } from "node:fs/promises";
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { streams } from "../../../protocol/subjects.ts";
import { runCommand } from "../../../services/nats/server/command.ts";
import { serverFiles } from "../../../services/nats/server/state.ts";
import { startServers } from "../../chaos/servers.ts";
import { ensureNatsCli } from "../../support/nats-cli.ts";
import type { Fault, Stage } from "../fault.ts";

const storeOf = ({ folder }: Stage, place: number) =>
  serverFiles(join(folder, "servers", `n${place + 1}`)).store;

const signalAll = ({ servers }: Stage, signal: NodeJS.Signals) => {
  for (const server of servers.cluster.servers) server.signal(signal);
};

const startAll = async ({ servers }: Stage) => {
  await Promise.all(servers.cluster.servers.map((server) => server.start()));
};

const places = ({ servers }: Stage) => servers.cluster.servers.map((_, place) => place);

/** With every server dead, so that nothing is written beside it. */
async function withServersDead(stage: Stage, change: (place: number) => Promise<void>): Promise<void> {
  signalAll(stage, "SIGKILL");
  await delay(500);
  for (const place of places(stage)) await change(place);
  await startAll(stage);
}

/** As a copy of a disk is made: of a moment. */
async function copyStores(stage: Stage, to: string): Promise<void> {
  signalAll(stage, "SIGSTOP");
  try {
    for (const place of places(stage))
      await cp(storeOf(stage, place), join(stage.folder, to, String(place)), { recursive: true });
  } finally {
    signalAll(stage, "SIGCONT");
  }
}

const ledgerFolder = (store: string) => join(store, "jetstream", "$G", "streams", streams.ledger);

/** Cuts the end off the newest block, and takes away what was remembered of it. */
async function truncateLedger(store: string, bytes: number): Promise<void> {
  const messages = join(ledgerFolder(store), "msgs");
  const blocks = (await readdir(messages)).filter((name) => name.endsWith(".blk"));
  const newest = blocks.sort((a, b) => parseInt(a) - parseInt(b)).at(-1);
  if (newest === undefined) throw new Error(`no block in ${messages}`);
  const path = join(messages, newest);
  const file = await open(path, "r+");
  await file.truncate(Math.max(0, statSync(path).size - bytes));
  await file.close();
  await rm(join(messages, "index.db"), { force: true });
}

/** Why the `nats` command line is not to be had here; undefined where it is. */
export const natsMissing = async (): Promise<string | undefined> => {
  const cli = await ensureNatsCli();
  return "missing" in cli ? cli.missing : undefined;
};

const servingMs = 60_000;

/** Hosts and workers are started anew, as after a restore that took them down. */
const restarted = {
  remedyIs: "hosts and workers started again, `nudge --all`",
  remedy: async ({ crew, operate }: Stage) => {
    for (const member of crew.members) member.kill(500);
    await delay(1_000);
    await Promise.race([crew.serving(), delay(servingMs)]);
    await operate("nudge", "--all");
  },
};

/** Hosts and workers are stopped, the operator says what was put back, and they are started again. */
const said = (...words: string[]): Pick<Fault, "remedy" | "remedyIs"> => ({
  remedyIs: `hosts and workers stopped, \`${["restored", "--yes", ...words].join(" ")}\`, started again`,
  remedy: async ({ crew, operate }) => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    for (const member of crew.members) member.kill(promise);
    await operate("restored", "--yes", ...words);
    resolve(undefined);
    await Promise.race([crew.serving(), delay(servingMs)]);
  },
});
/** KV_CLAIM ran on. */
const ledgerSaid = said("--claims-kept");

const tailBytes = 8_000;

const tail: Fault = {
  name: "LEDGER-tail-lost",
  does: `the last ${tailBytes / 1_000} kB of LEDGER are lost with the servers' death, hosts run on`,
  takes: ["sagas", "turns", "inputs"],
  ...ledgerSaid,
  strike: (stage) => withServersDead(stage, (place) => truncateLedger(storeOf(stage, place), tailBytes)),
};

const olderLedger: Fault = {
  name: "LEDGER-older-restored",
  does: "`nats stream restore` of a backup of LEDGER some seconds old, hosts run on",
  takes: ["sagas", "turns", "inputs"],
  lacks: natsMissing,
  ...ledgerSaid,
  prepare: async ({ nats, folder }) => {
    await nats("stream", "backup", streams.ledger, join(folder, "backup"), "--no-progress");
  },
  strike: async ({ nats, servers, folder }) => {
    await servers.jsm.streams.delete(streams.ledger);
    await nats("stream", "restore", join(folder, "backup"), "--no-progress");
  },
};

const olderStore = (isDown: boolean): Fault => {
  let spoken = Promise.withResolvers<unknown>();
  return {
    name: isDown ? "store-older-restored-while-down" : "store-older-restored",
    does: `the whole store is exchanged for a copy some seconds old, hosts ${isDown ? "are down meanwhile" : "run on"}`,
    takes: ["sagas", "turns", "inputs"],
    ...said(),
    prepare: (stage) => copyStores(stage, "copy"),
    strike: async (stage) => {
      spoken = Promise.withResolvers(); // Those that are down stay so until the operator has spoken.
      if (isDown) for (const member of stage.crew.members) member.kill(spoken.promise);
      await withServersDead(stage, async (place) => {
        await rm(storeOf(stage, place), { recursive: true });
        await cp(join(stage.folder, "copy", String(place)), storeOf(stage, place), { recursive: true });
      });
    },
    ...(isDown
      ? { remedy: async (stage: Stage) => spoken.resolve(await stage.operate("restored", "--yes")) }
      : {}),
  };
};

/** From a mesh of its own, on a server of its own. */
async function backUpOther(stage: Stage, to: string): Promise<void> {
  const folder = join(stage.folder, "other");
  await mkdir(folder);
  const other = await startServers(folder, 1, { size: 1, audits: false });
  try {
    const cli = await ensureNatsCli();
    if ("missing" in cli) throw new Error(cli.missing);
    const args = ["--server", other.cluster.url, "stream", "backup", streams.ledger, to, "--no-progress"];
    await runCommand({ file: cli.path, args, env: process.env, timeoutMs: 60_000 });
  } finally {
    await other.stop();
  }
}

const otherMesh: Fault = {
  name: "LEDGER-of-another-mesh",
  does: "LEDGER is deleted, and the backup of another mesh's is restored in its place",
  lacks: natsMissing,
  remedyIs: `the own backup is restored; ${ledgerSaid.remedyIs}`,
  takes: ["sagas", "turns", "inputs"],
  prepare: async (stage) => {
    await backUpOther(stage, join(stage.folder, "others"));
    await stage.nats("stream", "backup", streams.ledger, join(stage.folder, "backup"), "--no-progress");
  },
  strike: async ({ nats, servers, folder, size }) => {
    await servers.jsm.streams.delete(streams.ledger);
    await nats("stream", "restore", join(folder, "others"), "--no-progress", "--replicas", String(size));
  },
  remedy: async (stage) => {
    await stage.servers.jsm.streams.delete(streams.ledger);
    await stage.nats("stream", "restore", join(stage.folder, "backup"), "--no-progress");
    await ledgerSaid.remedy?.(stage);
  },
};

const emptied: Fault = {
  name: "store-emptied",
  does: "the servers come back with empty stores, hosts run on",
  takes: ["sagas", "turns", "inputs"],
  remedyIs:
    "no copy is left: `rebuild ledger --accept-loss`, `rebuild claims --yes`, hosts and workers started again",
  strike: (stage) => withServersDead(stage, (place) => rm(storeOf(stage, place), { recursive: true })),
  remedy: async (stage) => {
    await stage.operate("rebuild", "ledger", "--accept-loss");
    await stage.operate("rebuild", "claims", "--yes");
    await restarted.remedy(stage);
  },
};

const diskMb = 48;

/** A disk of its own below the servers' folders. */
const ownDisk: NonNullable<Fault["raise"]>["before"] = async (folder) => {
  const disk = join(folder, "servers");
  await mkdir(disk);
  const run = (file: string, ...args: string[]) =>
    runCommand({ file, args, env: process.env, timeoutMs: 10_000 });
  await run("mount", "-t", "tmpfs", "-o", `size=${diskMb}m`, "none", disk);
  return async () => {
    await run("umount", "-l", disk);
  };
};

const filler = ({ folder }: Stage) => join(folder, "servers", "filler");

const fullDisk: Fault = {
  name: "disk-full",
  does: `others fill the servers' disk (${diskMb} MB) to its last byte`,
  sizes: [1],
  lacks: async () => (process.getuid?.() === 0 ? undefined : "a disk of its own needs root"),
  raise: { before: ownDisk },
  remedyIs: "the room is given back, the server started again",
  strike: async (stage) => {
    const chunk = Buffer.alloc(64 * 1_024, 1);
    const file = await open(filler(stage), "w");
    try {
      for (;;) await file.write(chunk);
    } catch {
      // Full, as it was to be.
    } finally {
      await file.close();
    }
  },
  remedy: async (stage) => {
    await rm(filler(stage));
    signalAll(stage, "SIGKILL");
    await delay(500);
    await startAll(stage);
  },
};

const limitMb = 64;

const accountLimit: Fault = {
  name: "account-limit",
  does: `somebody else's stream takes what is left of the server's storage limit (${limitMb} MB)`,
  sizes: [1],
  raise: {
    extraConfig: `accounts { LAB: { jetstream: { max_file: ${limitMb}MB }, users: [{ user: lab, password: lab }] } }\nno_auth_user: lab`,
  },
  remedyIs: "that stream is deleted",
  strike: async ({ servers: { jsm, nc } }) => {
    await jsm.streams.add({ name: "OTHERS", subjects: ["others"], max_bytes: -1 });
    const chunk = new Uint8Array(512 * 1_024);
    for (let sent = 0; sent < 400; sent++)
      try {
        const { data } = await nc.request("others", chunk, { timeout: 5_000 });
        if (Buffer.from(data).includes('"error"')) return;
      } catch {
        return; // No answer: full.
      }
  },
  remedy: async ({ servers: { jsm } }) => {
    await jsm.streams.delete("OTHERS");
  },
};

export const stores: readonly Fault[] = [
  tail,
  olderLedger,
  olderStore(false),
  olderStore(true),
  otherMesh,
  emptied,
  fullDisk,
  accountLimit,
];
