/**
 * Goal: a mesh is given more partitions between two lives of its hosts; what came before, meanwhile and after is taken, and more hosts
 * than it had partitions have some each.
 * Method: a real server, the command as a person has it; sagas that sleep, some with an input stored in a former partition.
 */
import { expect, onTestFinished, test } from "vitest";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { sendSignal } from "../../bench/bench-mesh.ts";
import { noopApp, noopSaga, noopSignal } from "../../bench/noop-saga.ts";
import { runHere } from "../../support/cli.ts";
import { ownOfFile } from "../../support/own-file.ts";
import { openRealMesh, until } from "../../support/real-mesh.ts";

const own = ownOfFile("partitions", 1);
const noop = noopSaga("host");

test("sagas go on over more partitions, and more hosts have some", async () => {
  const url = own.server.nextUrl();
  const mesh = await openRealMesh(url);
  onTestFinished(() => mesh.close());
  const cli = (...args: string[]) => runHere([...args, "--server", url]);
  const ids = Array.from({ length: 24 }, (_, k) => sagaId(`sleeper-${k}`));
  const begin = async (ofThem: typeof ids) => {
    for (const id of ofThem) await mesh.client.start(noop, { steps: 1, stays: true }, { id });
  };
  const wake = async (ofThem: typeof ids) => {
    for (const id of ofThem) await sendSignal(mesh.ports, id, noopSignal, {});
  };
  const turnsOf = (ofThem: typeof ids) => Promise.all(ofThem.map((id) => mesh.head(id)));
  expect((await cli("partitions")).stdout).toContain("over 8 partitions; no host runs");
  const host = await mesh.host(noopApp());
  await begin(ids.slice(0, 16));
  await until("they sleep", async () => (await turnsOf(ids.slice(0, 16))).every((turns) => turns > 1));
  expect((await cli("partitions", "32")).stdout).toMatch(/over 32 partitions, from 8.*Stop .* first/);
  expect((await cli("partitions", "32", "--yes")).stderr).toMatch(/HOSTS_UNREADY.*leave the new partitions/);
  await host.stop(1_000);
  await wake(ids.slice(0, 8)); // Stored in a partition of before.
  expect(await cli("partitions", "32", "--yes")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("over 32"),
  });
  await wake(ids.slice(8, 16));
  await begin(ids.slice(16));
  const before = await turnsOf(ids.slice(0, 16));
  const hosts = await Promise.all(Array.from({ length: 10 }, () => mesh.host(noopApp())));
  await until("all go on", async () => {
    const turns = await turnsOf(ids);
    return turns.every((turn, k) => turn > (before[k] ?? 1));
  });
  await until("each has some", () => hosts.every(({ partitions }) => partitions().length >= 3));
  expect(hosts.flatMap(({ partitions }) => partitions()).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 32 }, (_, k) => k),
  );
  await until("nothing is left", async () => (await mesh.unacked()).inbox === 0);
  expect((await cli("partitions")).stdout).toContain("over 32 partitions; 10 of up to 32 hosts run");
  expect((await cli("doctor")).stdout).toMatch(/streams are there and as declared/);
  expect((await cli("partitions", "8", "--yes")).code).toBe(2);
});
