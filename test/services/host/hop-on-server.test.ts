/**
 * Hosts that differ, on a real server: every kind of input over the hop; a version's only host that goes and comes again;
 * and that equal hosts hand nothing on.
 *
 * Method: two hosts with a connection each, as two processes would have, on all partitions.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentObserver } from "../../../services/host/host-deps.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";
import {
  appBoth,
  appV1,
  appV2,
  desk1,
  desk2,
  placeOf,
  questionOf,
  sayYes,
} from "../../support/two-versions.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(4);
}, 60_000);
afterAll(() => server.stop());

const named = (prefix: string) => Array.from({ length: 10 }, (_, n) => `${prefix}-${n}`);

const all = (mesh: RealMesh, ids: readonly string[], place: string) =>
  until(`all ${place}`, async () => {
    const places = await Promise.all(ids.map(async (id) => placeOf(await mesh.turns(id).catch(() => []))));
    return places.every((one) => one === place);
  });

const answer = (mesh: RealMesh, ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => sayYes(mesh.client, id, questionOf(await mesh.turns(id)) ?? "")));

const signal = (mesh: RealMesh, ids: readonly string[]) =>
  Promise.all(ids.map((id) => mesh.client.saga(desk1, id).signal("go", {})));

const counting = (outcomes: string[]) => ({
  ...silentObserver,
  handedOn: (outcome: string) => void outcomes.push(outcome),
});

const hostsOf = async (mesh: RealMesh, ids: readonly string[]): Promise<number> =>
  new Set((await Promise.all(ids.map((id) => mesh.turns(id)))).flat().map(({ host }) => host)).size;

test("two hosts of two versions take their own sagas of every partition; those of the one that goes wait, and go on when it is back", async () => {
  const mesh = await openRealMesh(server.nextUrl());
  try {
    const outcomes: string[] = [];
    await mesh.worker(appBoth);
    await mesh.host(appV1, { observe: counting(outcomes) });
    const young = await mesh.host(appV2, { observe: counting(outcomes) });
    await until("both have partitions", () => young.partitions().length === 4);
    const [ones, twos] = [named("one"), named("two")];
    await Promise.all([
      ...ones.map((id) => mesh.client.start(desk1, {}, { id, version: 1 })),
      ...twos.map((id) => mesh.client.start(desk2, {}, { id, version: 2 })),
    ]);
    await all(mesh, [...ones, ...twos], "resting");
    expect(await hostsOf(mesh, ones)).toBe(1);
    expect(await hostsOf(mesh, twos)).toBe(1);
    expect(outcomes).toContain("taken");

    await young.stop(2_000);
    await signal(mesh, [...ones, ...twos]);
    await all(mesh, ones, "task");
    await answer(mesh, ones);
    await all(mesh, ones, "completed by 1");
    await all(mesh, twos, "resting");

    await mesh.host(appV2);
    await all(mesh, twos, "task");
    await answer(mesh, twos);
    await all(mesh, twos, "completed by 2");
    await until("nothing is left", async () => (await mesh.unacked()).inbox === 0);
    expect(await mesh.letters()).toEqual([]);
  } finally {
    await mesh.close();
  }
}, 60_000);

test("hosts that are equal hand nothing on", async () => {
  const mesh = await openRealMesh(server.nextUrl());
  try {
    const outcomes: string[] = [];
    await mesh.worker(appBoth);
    const hosts = await Promise.all([1, 2].map(() => mesh.host(appBoth, { observe: counting(outcomes) })));
    await until("both have partitions", () => hosts.every((one) => one.partitions().length === 4));
    const ids = named("same");
    await Promise.all(ids.map((id) => mesh.client.start(desk2, {}, { id, version: 2 })));
    await all(mesh, ids, "resting");
    await signal(mesh, ids);
    await all(mesh, ids, "task");
    await answer(mesh, ids);
    await all(mesh, ids, "completed by 2");
    expect(outcomes).toEqual([]);
  } finally {
    await mesh.close();
  }
}, 60_000);
