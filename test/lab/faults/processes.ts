/** Processes and servers that die, stand still, starve, are cut off, or have a clock of their own. */
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { streams } from "../../../protocol/subjects.ts";
import type { Direction } from "../../chaos/proxy.ts";
import type { Fault, Stage } from "../fault.ts";

const freeze = (seconds: number): Fault => ({
  name: `hosts-frozen-${seconds}s`,
  does: `all hosts are stopped (SIGSTOP) for ${seconds} s`,
  strike: async ({ hosts }) => {
    for (const host of hosts) host.freeze();
    await delay(seconds * 1_000);
    for (const host of hosts) host.thaw();
  },
});

const killed = (what: "hosts" | "workers"): Fault => ({
  name: `${what}-killed`,
  does: `all ${what} are killed (SIGKILL), others come 2 s later`,
  strike: async (stage) => {
    for (const member of stage[what]) member.kill(2_000);
  },
});

const downMs = 3_000;

const serverKilled: Fault = {
  name: "server-killed",
  does: `the server is killed (SIGKILL) and started again ${downMs / 1_000} s later; of three, the leader of LEDGER`,
  strike: async ({ servers }) => {
    const server = servers.cluster.servers[(await servers.leaderOf(streams.ledger)) ?? 0];
    server?.signal("SIGKILL");
    await delay(downMs);
    await server?.start();
  },
};

const clusterKilled: Fault = {
  name: "cluster-killed",
  does: `all servers are killed at once and started again ${downMs / 1_000} s later`,
  sizes: [3],
  strike: async ({ servers: { cluster } }) => {
    for (const server of cluster.servers) server.signal("SIGKILL");
    await delay(downMs);
    await Promise.all(cluster.servers.map((server) => server.start()));
  },
};

const cutSeconds = 30;

const cut = (name: string, direction: Direction): Fault => ({
  name: `link-${name}`,
  does: `nothing comes through ${direction === "both" ? "in either direction" : direction} for a host and a worker, ${cutSeconds} s`,
  strike: async ({ hosts, workers }) => {
    const lines = [hosts[0], workers[0]].flatMap((member) => member?.proxy ?? []);
    for (const line of lines) line.cut(direction);
    await delay(cutSeconds * 1_000);
    for (const line of lines) line.heal();
  },
});

const hogSeconds = 30;
const hogsPerCore = 6;

const starved: Fault = {
  name: "starved",
  does: `${hogsPerCore} busy loops on each core, above everything else, for ${hogSeconds} s`,
  strike: async ({ ends }) => {
    const hogs = Array.from({ length: availableParallelism() * hogsPerCore }, () =>
      spawn("nice", ["-n", "-5", process.execPath, "-e", "for(;;);"], { stdio: "ignore" }),
    );
    const end = () => {
      for (const hog of hogs) hog.kill("SIGKILL");
    };
    ends.defer(async () => end());
    process.once("exit", end);
    await delay(hogSeconds * 1_000);
    end();
    process.off("exit", end);
  },
};

const clockFile = (folder: string, name: string) => join(folder, `${name}.clock`);

/** Each process's own file says how far its machine's clock is off. */
const settable: NonNullable<Fault["raise"]> = {
  first: ["test/support/set-clock.mjs"],
  environmentOf: (folder, name) => {
    const file = clockFile(folder, name);
    writeFileSync(file, "0");
    return { SET_CLOCK: file };
  },
};

const setClocks = ({ folder, hosts }: Stage, seconds: readonly number[]) =>
  Promise.all(
    hosts.map(({ name }, place) => writeFile(clockFile(folder, name), String((seconds[place] ?? 0) * 1_000))),
  );

const clocksApart: Fault = {
  name: "clocks-apart",
  does: "the clock of one host is set ten minutes ahead, that of the other ten minutes back (in the process, by a preloaded module)",
  raise: settable,
  strike: async (stage) => {
    await setClocks(stage, [600, -600]);
  },
};

const clocksJump: Fault = {
  name: "clocks-jump",
  does: "the clocks of all hosts jump an hour ahead, 10 s later two hours back, 10 s later to the right time",
  raise: settable,
  strike: async (stage) => {
    for (const seconds of [3_600, -3_600, 0]) {
      await setClocks(stage, [seconds, seconds]);
      await delay(10_000);
    }
  },
};

const serversClock: Fault = {
  name: "servers-clock-set",
  does: "the server's own clock is set",
  sizes: [1],
  lacks: async () =>
    "nats-server asks the kernel and not libc, so no preloaded library sets its clock, and a time namespace has only clocks that nothing sets",
  strike: () => Promise.reject(new Error("this machine cannot make it")),
};

export const processes: readonly Fault[] = [
  killed("hosts"),
  killed("workers"),
  ...[3.6, 11, 90].map(freeze),
  serverKilled,
  clusterKilled,
  cut("cut", "both"),
  cut("cut-to-server", "to the server"),
  cut("cut-from-server", "from the server"),
  starved,
  clocksApart,
  clocksJump,
  serversClock,
];
