/**
 * A new version takes the place of an old one while sagas run and sleep, and signals and starts come all the time: one
 * process after the other, beside the old fleet, and with a new version that does not start.
 *
 * Method: `sagamesh host` and `sagamesh worker` as an operator starts them, on a real server. The outside's account is a
 * file that every tool appends a line to. What is checked is what happened and how often, and that nothing stood still
 * for long while a host served it. How large a run is, and how long is long, follow from the variables below; the whole
 * run, and what it came to, is in README.md.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { runHere } from "../support/cli.ts";
import { ownOfFile } from "../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";
import { createFleet, type Fleet, type Place } from "./fleet.ts";
import type { Deed, Version } from "./office.ts";
import { createTraffic, type Traffic } from "./traffic.ts";

const sleeping = Number(process.env["ROLLING_SLEEPING"] ?? "200");
const running = Number(process.env["ROLLING_RUNNING"] ?? "30");
/** Ten seconds is the promise on a machine of its own; beside the rest of the suite it is more. */
const standstillMaxMs = Number(process.env["ROLLING_STANDSTILL_MS"] ?? "30000");

const own = ownOfFile("rolling", 4);

interface Run {
  readonly mesh: RealMesh;
  readonly fleet: Fleet;
  readonly traffic: Traffic;
  /** Makes this version the one that starts become, and from now on expects that they do. */
  promote(version: Version): Promise<void>;
  /** Starts so many sagas that sleep and so many that run for `notes` steps, and waits until the first do. */
  populate(asleep: number, awake: number, notes: number): Promise<void>;
  /** Until it is stopped, wakes sleepers and starts sagas that sleep, so many of each in a second. */
  flow(perSecond: { wakes: number; starts: number }): { stop(): Promise<void> };
  /** Wakes what still sleeps, waits for every end, and checks what was promised. */
  conclude(): Promise<void>;
}

let runs = 0;

async function withRun(work: (run: Run) => Promise<void>): Promise<void> {
  const world = join(own.folder, `world-${runs++}`);
  await writeFile(world, "");
  const mesh = await openRealMesh(own.server.nextUrl());
  const fleet = createFleet(mesh.url, world);
  const traffic = createTraffic(mesh);
  let current: Version = 1;
  let promotions = 0;
  let count = 0;
  const startOne = (notes = 0) =>
    traffic.start(
      notes === 0 && count++ % 2 === 0 ? "order" : "clerk",
      { notes, waits: notes === 0 },
      current,
    );
  const run: Run = {
    ...{ mesh, fleet, traffic },
    promote: async (version) => {
      promotions += 1;
      traffic.expectEitherOfUnbegun();
      for (const name of ["clerk", "order"]) {
        const { code, stderr } = await runHere([
          ...["deployments", "promote", `${name}@${version}`, "--server", mesh.url],
        ]);
        expect(code, stderr).toBe(0);
      }
      current = version;
      promotions += 1;
    },
    populate: async (asleep, awake, notes) => {
      for (let at = 0; at < asleep; at += 50)
        await Promise.all(Array.from({ length: Math.min(50, asleep - at) }, () => startOne()));
      await Promise.all(Array.from({ length: awake }, () => startOne(notes)));
      await until("all that are to sleep sleep", () => traffic.sleeping().length >= asleep, 120_000);
    },
    flow: ({ wakes, starts }) => {
      const over = new AbortController();
      const steadily = async (perSecond: number, act: () => Promise<unknown>) => {
        while (!over.signal.aborted) {
          const began = Date.now();
          await act();
          await delay(Math.max(0, 1_000 / perSecond - (Date.now() - began)));
        }
      };
      const both = Promise.all([
        steadily(wakes, async () => {
          const [one] = traffic.sleeping();
          if (one !== undefined) await traffic.wake(one.id);
        }),
        steadily(starts, async () => {
          // What is started while another version is promoted may become either.
          const before = promotions;
          const id = await startOne();
          if (before % 2 === 1 || before !== promotions) traffic.expectEither(id);
        }),
      ]);
      return {
        stop: async () => {
          over.abort();
          await both;
        },
      };
    },
    conclude: async () => {
      const open = () => [...traffic.sagas.values()].filter(({ end }) => end === undefined);
      await until(
        "every saga ends",
        async () => {
          await Promise.all(traffic.sleeping().map(({ id }) => traffic.wake(id)));
          return open().length === 0;
        },
        120_000,
      ).catch((error: unknown) => {
        const some = open()
          .slice(0, 5)
          .map(({ id, version, dueSince }) => ({ id, version, dueSince }));
        throw new Error(`${open().length} did not, such as ${JSON.stringify(some)}`, { cause: error });
      });
      await traffic.stop();
      checkEnds(traffic);
      checkDeeds(traffic, await readDeeds(world));
      expect(await mesh.letters()).toEqual([]);
    },
  };
  try {
    await work(run);
  } finally {
    await traffic.stop();
    fleet.close();
    await mesh.close();
  }
}

const readDeeds = async (world: string): Promise<Deed[]> =>
  (await readFile(world, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Deed);

/** Every saga ended as what it was started as, and none stood still for too long. */
function checkEnds(traffic: Traffic): void {
  const wrong = [...traffic.sagas.values()].filter(
    ({ expected, version, end }) =>
      (expected !== undefined && version !== expected) ||
      end?.status !== "completed" ||
      (end.output as { version: number }).version !== version,
  );
  expect(wrong.map(({ id, expected, version, end }) => ({ id, expected, version, end }))).toEqual([]);
  const slow = [...traffic.sagas.values()].filter(({ stoodStillMs }) => stoodStillMs > standstillMaxMs);
  expect(slow.map(({ id, version, stoodStillMs }) => ({ id, version, stoodStillMs }))).toEqual([]);
  if (process.env["ROLLING_TELLS"] !== undefined) console.log(sums(traffic));
}

/** How many sagas there were, and how long they stood still: of ten, of a hundred, of all, the longest. */
function sums({ sagas }: Traffic): object {
  const all = [...sagas.values()];
  const stood = all.map(({ stoodStillMs }) => stoodStillMs).sort((a, b) => a - b);
  const at = (share: number) => stood[Math.min(stood.length - 1, Math.floor(stood.length * share))];
  const of = (version: Version) => all.filter((one) => one.version === version).length;
  return { sagas: all.length, v1: of(1), v2: of(2), p50: at(0.5), p99: at(0.99), longest: stood.at(-1) };
}

/** No effect was done twice, and each by the contract of the saga's own version. */
function checkDeeds(traffic: Traffic, deeds: readonly Deed[]): void {
  const charges = new Map<string, number>();
  const keys = new Map<string, Set<string>>();
  for (const { tool, contract, key, input } of deeds) {
    const saga = key.split(".")[0] ?? "";
    if (contract !== undefined) expect(contract, `${tool} of ${saga}`).toBe(traffic.sagas.get(saga)?.version);
    if (tool === "charge" || tool === "hold")
      expect("currency" in input, `${tool} of ${saga}`).toBe(contract === 2);
    if (tool === "charge") charges.set(saga, (charges.get(saga) ?? 0) + 1);
    const place = `${saga} ${tool} ${JSON.stringify(input)}`;
    keys.set(place, (keys.get(place) ?? new Set()).add(key));
  }
  expect(
    [...charges].filter(([, count]) => count > 1),
    "charged twice",
  ).toEqual([]);
  expect(
    [...keys].filter(([, own]) => own.size > 1).map(([place]) => place),
    "under two keys",
  ).toEqual([]);
  const posted = new Set(deeds.filter(({ tool }) => tool === "post").map(({ key }) => key.split(".")[0]));
  expect(
    [...traffic.sagas.keys()].filter((id) => !posted.has(id)),
    "not posted",
  ).toEqual([]);
}

const addAll = async (fleet: Fleet, app: string): Promise<{ hosts: Place[]; workers: Place[] }> => {
  const hosts = await Promise.all([1, 2, 3].map(() => fleet.add("host", app)));
  const workers = await Promise.all([1, 2].map(() => fleet.add("worker", app)));
  return { hosts, workers };
};

test("three hosts and two workers are replaced one by one, forth and back twice, with kills in between", async () => {
  await withRun(async ({ fleet, traffic, promote, populate, flow, conclude }) => {
    const { hosts, workers } = await addAll(fleet, "v1");
    await promote(1);
    await populate(sleeping, running, 100);
    const flowing = flow({ wakes: 20, starts: 4 });
    /** One after the other; then one of them is killed. A call that two kills hit waits for two leases. */
    const roll = async (places: readonly Place[], app: string) => {
      for (const place of places) await place.replace(app);
      await places[0]?.kill();
    };
    const [first, ...others] = hosts as [Place, ...Place[]];
    for (let round = 0; round < 2; round++) {
      await roll(workers, "v2");
      await first.replace("v2");
      traffic.served(2);
      await promote(2); // One host of three serves what all starts become.
      await roll(others, "v2");
      await roll(others, "v1");
      await promote(1);
      traffic.unserved(2); // The last that serves it goes.
      await first.replace("v1");
      await roll(workers, "v1");
    }
    await roll(workers, "v2");
    await roll(hosts, "v2");
    traffic.served(2);
    await promote(2);
    await flowing.stop();
    await conclude();
  });
}, 900_000);

test("a new fleet beside the old one takes the starts once it is promoted, and the old one goes when nothing needs it", async () => {
  await withRun(async ({ mesh, fleet, traffic, promote, populate, flow, conclude }) => {
    const blue = await addAll(fleet, "v1");
    await promote(1);
    await populate(60, 20, 3);
    const flowing = flow({ wakes: 5, starts: 5 });
    const green = await addAll(fleet, "green");
    await promote(2);
    await delay(1_000);
    await green.hosts[0]?.kill();
    await delay(1_000);
    await flowing.stop();
    const waking = (async () => {
      for (;;) {
        const old = traffic.sleeping().filter(({ version }) => version === 1);
        if (old.length === 0 && [...traffic.sagas.values()].every((one) => one.version !== 1 || one.end))
          return;
        await Promise.all(old.map(({ id }) => traffic.wake(id)));
        await delay(100);
      }
    })();
    for (const name of ["clerk", "order"]) {
      const drained = await runHere(["deployments", "drain", `${name}@1`, "--server", mesh.url]);
      expect(drained.code, drained.stderr).toBe(0);
    }
    await waking;
    for (const place of [...blue.hosts, ...blue.workers]) expect(await place.stop()).toBe(0);
    await conclude();
  });
}, 200_000);

test("a new version that dies while it starts changes nothing for the old one", async () => {
  await withRun(async ({ fleet, promote, populate, flow, conclude }) => {
    await addAll(fleet, "v1");
    await promote(1);
    await populate(40, 10, 3);
    const flowing = flow({ wakes: 5, starts: 5 });
    for (const role of ["host", "worker", "host"] as const)
      expect(await fleet.addBroken(role, "broken")).not.toBe(0);
    await flowing.stop();
    await conclude();
  });
}, 200_000);
