/**
 * A tree of agents on a real server while hosts are killed by SIGKILL: each child is started once and heard of once,
 * and a cancel of the root undoes everything, each child before its parent, nothing twice.
 *
 * Method: hosts are processes of their own, killed at moments that the outside world's file tells; the worker runs
 * here. What was done is held against that file and the ledgers.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Turn } from "../../protocol/turn.ts";
import { livingHosts } from "../../services/deployments/served.ts";
import { childrenOf } from "../../services/views/children.ts";
import { ownOfFile } from "../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";
import { type SpawnedProcess, spawnProcess } from "../support/spawn-process.ts";
import { readActs, treeApp } from "../support/tree-app.ts";

const own = ownOfFile("tree", 8);

let mesh: RealMesh;
let world: string;
let runs = 0;
const hosts: SpawnedProcess[] = [];
beforeEach(async () => {
  world = join(own.folder, `world-${runs++}`);
  await writeFile(world, "");
  mesh = await openRealMesh(own.server.nextUrl());
});
afterEach(async () => {
  for (const host of hosts.splice(0)) host.kill();
  await mesh.close();
});

async function startHosts(count: number): Promise<SpawnedProcess[]> {
  const env = { MESH_URL: mesh.url, MESH_WORLD: world };
  const started = Array.from({ length: count }, () => spawnProcess("tree-process", env));
  hosts.push(...started);
  await Promise.all(started.map(({ serves }) => serves));
  // A host serves before it has its share: until then the first may do all the work, and its death proves little.
  const sharing = async () =>
    (await livingHosts(mesh.ports.membership)).filter(({ partitions }) => partitions.length > 0).length;
  await until("each host has its share", async () => (await sharing()) >= count, 20_000);
  return started;
}

const acts = (tool: string) => readActs(world).filter((act) => act.tool === tool);
const intentsIn = (turns: readonly Turn[]) =>
  turns.flatMap(({ steps }) => steps.flatMap((step) => step.intents));
const eventsIn = (turns: readonly Turn[]) => turns.flatMap(({ steps }) => steps.map((step) => step.event));
const endsOf = (turns: readonly Turn[]) => intentsIn(turns).filter(({ kind }) => kind === "end");
const childrenIn = (turns: readonly Turn[]) =>
  intentsIn(turns).flatMap((intent) => (intent.kind === "saga" ? [intent] : []));

describe("fifty children over two hosts of which one is killed", () => {
  test("are each started once, each heard of once, and each does its work under one key", async () => {
    const { lead, app } = treeApp(world);
    await mesh.worker(app);
    const [first] = await startHosts(2);
    const work = { of: "r", parts: 50, then: "finish", leaf: false } as const;
    const saga = await mesh.client.start(lead, work, { id: "fan-out" });
    await until("some have done their work", () => acts("stamp").length >= 5, 30_000);
    first?.kill();
    const end = await saga.result({ signal: AbortSignal.timeout(60_000) });
    expect(end).toEqual({ status: "completed", output: { done: ["r"] }, standing: [] });

    const turns = await mesh.turns("fan-out");
    const children = childrenIn(turns);
    expect(new Set(children.map(({ saga: id }) => id)).size).toBe(50);
    expect(children).toHaveLength(50);
    const results = eventsIn(turns).flatMap((event) =>
      event.type === "result" && children.some(({ id }) => id === event.intent) ? [event] : [],
    );
    expect(results.map(({ intent }) => intent).sort()).toEqual(children.map(({ id }) => id).sort());
    expect(results.every(({ result }) => result.outcome === "succeeded")).toBe(true);

    for (const { saga: id } of children) {
      const own = eventsIn(await mesh.turns(id));
      expect(
        own.filter(({ type }) => type === "start"),
        id,
      ).toHaveLength(1);
    }
    const keys = new Map<string, Set<string>>();
    for (const { of, key } of acts("hold")) keys.set(of, (keys.get(of) ?? new Set()).add(key));
    expect(keys.size).toBe(51);
    expect([...keys.values()].every((one) => one.size === 1)).toBe(true);
    expect(
      new Set(
        (await Promise.all(children.map(({ saga: id }) => mesh.view(id)))).flatMap(({ hosts: of }) => of),
      ).size,
    ).toBeGreaterThan(1);
    expect(await mesh.letters()).toEqual([]);
  }, 120_000);
});

/** Each hold is let go under one key, and after all that is below it. Returns nothing: it must be so. */
function checkUndone(held: ReadonlyMap<string, string>): void {
  const released = acts("release");
  for (const [key, of] of held) {
    const keys = released.filter(({ holds }) => holds === key).map((act) => act.key);
    expect(new Set(keys).size, of).toBe(1);
  }
  // Performed again under its key it may be; first it is performed after all that is below it.
  const firstAt = (of: string) => released.findIndex((act) => act.of === of);
  for (const of of held.values())
    for (const above of held.values())
      if (of.startsWith(`${above}.`))
        expect(firstAt(of), `${of} before ${above}`).toBeLessThan(firstAt(above));
}

const allHeld = () => new Map(acts("hold").map(({ of, key }) => [key, of]));
const allStamps = () => [...new Set(acts("stamp").map(({ key }) => `stamp ${key}`))].sort();

/** Two of three hosts are killed one after the other, and the root is not undone before both are dead. */
async function withDyingHosts(run: (lead: Lead, fell: () => Promise<void>) => Promise<void>): Promise<void> {
  const bothDead = Promise.withResolvers<void>();
  const { lead, app } = treeApp(world, (of) => (of === "r" ? bothDead.promise : delay(150)));
  await mesh.worker(app);
  const [first, second] = await startHosts(3);
  await run(lead, async () => {
    await until("something is undone", () => acts("release").length > 0, 20_000);
    first?.kill();
    await until("a part is undone", () => acts("release").some(({ of }) => /^r\.\d+$/.test(of)), 40_000);
    second?.kill();
    bothDead.resolve();
  });
}

type Lead = ReturnType<typeof treeApp>["lead"];

describe("a tree that is cancelled at its root while its hosts are killed one after the other", () => {
  const leavesAreDone = () => new Set(acts("stamp").map(({ of }) => of)).size === 8;

  test(
    "undoes everything once, each child before its parent, and the root's end lists what cannot be undone",
    () =>
      withDyingHosts(async (lead, fell) => {
        const work = { of: "r", parts: 8, then: "wait", leaf: true } as const;
        const saga = await mesh.client.start(lead, work, { id: "felled" });
        await until("every leaf has done its work", leavesAreDone, 60_000);
        const held = allHeld();
        expect(held.size).toBe(1 + 8 + 8);
        await saga.cancel("enough");
        await fell();
        const end = await saga.result({ signal: AbortSignal.timeout(60_000) });
        checkUndone(held);
        expect(end).toMatchObject({ status: "cancelled", reason: "enough" });
        expect([...end.standing].sort()).toEqual(allStamps());
        expect(await mesh.letters()).toEqual([]);
        for (const { saga: id } of childrenIn(await mesh.turns("felled"))) {
          const view = await mesh.view(id);
          expect(view.status, id).toBe("cancelled");
          expect(view.end?.standing, id).toHaveLength(1);
          expect(endsOf(await mesh.turns(id)), id).toHaveLength(1);
        }
      }),
    200_000,
  );

  test(
    "brings back the children that had ended well, and theirs, and undoes them in the same order",
    () =>
      withDyingHosts(async (lead, fell) => {
        const work = { of: "r", parts: 8, then: "outlive", leaf: true } as const;
        const saga = await mesh.client.start(lead, work, { id: "outlived" });
        const heard = async () =>
          childrenOf((await mesh.view("outlived")).intents).filter(({ outcome }) => outcome === "succeeded")
            .length;
        await until(
          "every part has ended well",
          async () => leavesAreDone() && (await heard()) === 8,
          60_000,
        );
        const held = allHeld();
        await saga.cancel("enough");
        await fell();
        const end = await saga.result({ signal: AbortSignal.timeout(60_000) });
        checkUndone(held);
        expect(end).toMatchObject({ status: "cancelled", reason: "enough" });
        expect([...end.standing].sort()).toEqual(allStamps());
        for (const { saga: id } of childrenOf((await mesh.view("outlived")).intents))
          expect(endsOf(await mesh.turns(id)), id).toMatchObject([
            { status: "completed" },
            { status: "cancelled" },
          ]);
        expect(await mesh.letters()).toEqual([]);
      }),
    200_000,
  );
});
