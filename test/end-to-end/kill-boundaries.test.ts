/**
 * Death at every boundary: a host or a worker is killed by SIGKILL before or after each thing that it does for
 * a saga, another takes over, and the account of the outside world must be right.
 *
 * Method: the victim is a process of its own with a kill switch at one point. It is the only one there until it
 * is dead; then a second host, or worker, starts here. The world is a file that both append to.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readLedger, readView, type SagaView } from "../../services/views/view.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { crowdPlaces, crowdSize, type Done, killApp, killTools, readWorld } from "../support/kill-app.ts";
import { createKillSwitch } from "../support/kill-switch.ts";
import { overcrowded } from "../support/overcrowded.ts";
import { ownOfFile } from "../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";
import { spawnProcess } from "../support/spawn-process.ts";

const own = ownOfFile("kill");

let runs = 0;

interface Run {
  readonly mesh: RealMesh;
  readonly world: string;
  readonly app: ReturnType<typeof killApp>["app"];
  readonly errand: ReturnType<typeof killApp>["errand"];
  readonly crowd: ReturnType<typeof killApp>["crowd"];
}

async function withRun<T>(work: (run: Run) => Promise<T>): Promise<T> {
  const world = join(own.folder, `world-${runs++}`);
  await writeFile(world, "");
  const mesh = await openRealMesh(own.server.nextUrl());
  try {
    return await work({ mesh, world, ...killApp(world, createKillSwitch(undefined)) });
  } finally {
    await mesh.close();
  }
}

/** Runs the errand with a victim that dies at the point; what else it needs is there from the start. */
const errandWith = (victim: "host" | "worker", point: string, { nextToo = [] as string[] } = {}) =>
  withRun(async ({ mesh, world, app, errand }) => {
    const env = { MESH_URL: mesh.url, MESH_WORLD: world };
    if (victim === "host") await mesh.worker(app);
    else await mesh.host(app);
    const saga = await mesh.client.start(errand, {}, { id: "errand" });
    for (const kill of [point, ...nextToo]) {
      const doomed = spawnProcess(`${victim}-process`, { ...env, MESH_KILL: kill });
      await until(`${victim} dies at ${kill}`, () => !doomed.isRunning(), 20_000).finally(doomed.kill);
      expect(await doomed.ended, `${victim} dies at ${kill}, and of nothing else`).toBe("SIGKILL");
    }
    if (victim === "host") await mesh.host(app);
    else await mesh.worker(app);
    const end = await saga.result({ signal: AbortSignal.timeout(40_000) });
    const view = await readView(mesh.ports, parseSagaId("errand"));
    expect(end).toEqual({ status: "completed", output: { done: true }, standing: doubtsOf(view) });
    checkWorld(view, readWorld(world));
    expect(await mesh.letters()).toEqual([]);
    return { view, world: readWorld(world) };
  });

/** What the end must list: that a saga completed does not say whether these happened. */
const doubtsOf = ({ intents }: SagaView): string[] =>
  intents.flatMap(({ intent, outcome }) =>
    intent.kind === "tool" && outcome === "in_doubt" ? [`${intent.name} ${intent.key}`] : [],
  );

/** The account: what the ledger says of each effect against what was done to the world. */
function checkWorld(view: SagaView, world: readonly Done[]): void {
  for (const [name, { effect }] of Object.entries(killTools)) {
    const intents = view.intents.filter(({ intent }) => intent.kind === "tool" && intent.name === name);
    expect(intents, `${name} is intended once`).toHaveLength(1);
    const [intended] = intents;
    const done = world.filter((one) => one.tool === name);
    const keys = new Set(done.map((one) => one.key));
    expect([...keys], `${name} has one key`).toEqual(
      done.length === 0 ? [] : [intended?.intent.kind === "tool" ? intended.intent.key : ""],
    );
    if (effect === "once") {
      expect(done.length, `${name} is done at most once`).toBeLessThanOrEqual(1);
      if (intended?.outcome === "succeeded") expect(done).toHaveLength(1);
      else expect(intended?.outcome, `${name}'s end is known, or known to be unknown`).toBe("in_doubt");
    } else {
      expect(intended?.outcome, `${name} is not lost`).toBe("succeeded");
      expect(done.length).toBeGreaterThanOrEqual(1);
    }
    if (effect === "probe") expect(done, `${name} is asked for before it is done again`).toHaveLength(1);
  }
}

describe.concurrent("a host that is killed", () => {
  test.each([
    ["before it takes the start", "inbox.take:before:1"],
    ["before the first append", "ledger.append:before:1"],
    ["after the first append", "ledger.append:after:1"],
    ["before the append of the calls", "ledger.append:before:2"],
    ["after the append of the calls", "ledger.append:after:2"],
    ["before the append of a worker's result", "ledger.append:before:3"],
    ["after the append of a worker's result", "ledger.append:after:3"],
    ["before it publishes work", "work.publish:before:1"],
    ["after it published some work", "work.publish:after:2"],
    ["after it published all work", "work.publish:after:4"],
    ["before it performs a once", "effect.stamp:before:1"],
    ["after it performed a once", "effect.stamp:after:1"],
    ["before it performs an idempotent effect", "effect.file:before:1"],
    ["after it performed an idempotent effect", "effect.file:after:1"],
    ["before it performs a probed effect", "effect.seal:before:1"],
    ["after it performed a probed effect", "effect.seal:after:1"],
    ["before a claim", "claims.create:before:1"],
    ["after a claim", "claims.create:after:1"],
    ["before it arms a timer", "inbox.schedule:before:1"],
    ["after it armed a timer", "inbox.schedule:after:1"],
    ["before its first ack", "inbox.ack:before:1"],
    ["after its first ack", "inbox.ack:after:1"],
    ["before a later ack", "inbox.ack:before:3"],
    ["after a later ack", "inbox.ack:after:3"],
  ])(
    "%s is followed by another that completes the saga",
    async (_, point) => {
      await errandWith("host", point);
    },
    60_000,
  );

  test("after it performed a once leaves a doubt that is on the ledger", async () => {
    const { view } = await errandWith("host", "effect.stamp:after:1");
    const stamp = view.intents.find(({ intent }) => intent.kind === "tool" && intent.name === "stamp");
    expect(stamp).toMatchObject({ outcome: "in_doubt" });
  }, 60_000);

  test("again and again, each time somewhere else, still loses nothing", async () => {
    const { view } = await errandWith("host", "ledger.append:after:1", {
      nextToo: ["work.publish:after:1", "effect.file:after:1", "ledger.append:after:3"],
    });
    expect(view.hosts.length).toBeGreaterThanOrEqual(3);
  }, 90_000);
});

/** Runs a saga whose children stand in line with hosts that die at the points, one after the other. */
const crowdWith = (...points: readonly string[]) =>
  withRun(async ({ mesh, world, app, crowd }) => {
    const env = { MESH_URL: mesh.url, MESH_WORLD: world };
    const saga = await mesh.client.start(crowd, {}, { id: "crowd" });
    for (const kill of points) {
      const doomed = spawnProcess("host-process", { ...env, MESH_KILL: kill });
      await until(`host dies at ${kill}`, () => !doomed.isRunning(), 20_000).finally(doomed.kill);
      expect(await doomed.ended, `host dies at ${kill}, and of nothing else`).toBe("SIGKILL");
    }
    await mesh.host(app);
    const end = await saga.result({ signal: AbortSignal.timeout(40_000) });
    expect(end).toMatchObject({ status: "completed" });
    const ledgers = new Map(
      await Promise.all(
        (await mesh.ports.ledger.list()).map(
          async ({ saga: one }) => [one, await readLedger(mesh.ports, one)] as const,
        ),
      ),
    );
    expect(overcrowded(ledgers, crowdPlaces)).toEqual([]);
    expect(ledgers.size).toBe(1 + crowdSize);
    expect(new Set(readWorld(world).map(({ key }) => key)).size).toBe(crowdSize);
    expect(await mesh.letters()).toEqual([]);
  });

describe.concurrent("a host that is killed with children in line", () => {
  test.each([
    ["before the turn that asks for them", ["ledger.append:before:1"]],
    ["after the turn that asks for them", ["ledger.append:after:1"]],
    ["before it starts the first", ["inbox.publish:before:1"]],
    ["after it started the first", ["inbox.publish:after:1"]],
    ["before a child tells its end", ["inbox.publish:before:3"]],
    ["after a child told its end", ["inbox.publish:after:3"]],
    ["before one of the turns in between", ["ledger.append:before:6"]],
    ["after one of the turns in between", ["ledger.append:after:6"]],
    ["before the next", ["ledger.append:before:7"]],
    ["after the next", ["ledger.append:after:7"]],
    ["after it started one that had stood in line", ["inbox.publish:after:5"]],
    ["again and again", ["ledger.append:after:1", "inbox.publish:after:2", "ledger.append:after:5"]],
  ])(
    "%s is followed by another that lets them begin in order, each once",
    async (_, points) => {
      await crowdWith(...points);
    },
    90_000,
  );
});

describe.concurrent("a worker that is killed", () => {
  test.each([
    ["before it takes work", "work.take:before:1"],
    ["before a claim", "claims.create:before:1"],
    ["after a claim", "claims.create:after:1"],
    ["before a once", "effect.charge:before:1"],
    ["after a once", "effect.charge:after:1"],
    ["after an idempotent effect", "effect.book:after:1"],
    ["after a probed effect", "effect.ship:after:1"],
    ["before it publishes a result", "inbox.publish:before:1"],
    ["after it published a result, before the ack", "work.ack:before:1"],
    ["after the ack", "work.ack:after:1"],
  ])(
    "%s is followed by another that completes the saga",
    async (_, point) => {
      await errandWith("worker", point);
    },
    60_000,
  );
});
