/**
 * Goal: a mesh is given more streams for its ledgers while it runs, and everything that reads ledgers goes on telling of all.
 * Method: a real server; a host that runs sagas before, while and after; the commands as a person has them.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { encodeHostEntry } from "../../../protocol/host-entry.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { placeOf } from "../../../protocol/shards.ts";
import { isTombstone } from "../../../services/ledger/reader.ts";
import { growShards } from "../../../services/nats/grow.ts";
import { createRequests } from "../../../services/nats/requests.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { noopApp, noopSaga } from "../../bench/noop-saga.ts";
import { runHere } from "../../support/cli.ts";
import { ownOfFile } from "../../support/own-file.ts";
import { openRealMesh, type RealMesh } from "../../support/real-mesh.ts";

const own = ownOfFile("shards", 3);

async function meshAt(url: string, options: { shards?: number } = {}): Promise<RealMesh> {
  const mesh = await openRealMesh(url, options);
  onTestFinished(() => mesh.close());
  return mesh;
}
const noop = noopSaga("host");
const run = async (mesh: RealMesh, name: string, count: number) => {
  const ids = Array.from({ length: count }, (_, k) => sagaId(`${name}-${k}`));
  const sagas = await Promise.all(ids.map((id) => mesh.client.start(noop, { steps: 3 }, { id })));
  for (const saga of sagas) expect((await saga.result()).status).toBe("completed");
  return ids;
};

/** All of them: what stays on the server is a tombstone each, wherever it is, and none of them begins again. */
async function archives(mesh: RealMesh, url: string, ids: readonly SagaId[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-shards-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const command = ["archive", "--after", "0s", "--force", "--to", folder, "--json", "--server", url];
  const { code, stdout } = await runHere(command);
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toHaveLength(ids.length);
  for (const id of ids) {
    expect(await mesh.ports.ledger.read(id, 0, Number.POSITIVE_INFINITY)).toHaveLength(1);
    expect(isTombstone((await mesh.ports.ledger.last(id))!)).toBe(true);
    await expect(mesh.client.start(noop, { steps: 3 }, { id })).resolves.toBeDefined();
    expect(await mesh.client.list({ archived: true })).toContainEqual(
      expect.objectContaining({ saga: id, status: "completed" }),
    );
  }
}

test("sagas begin, end and are read before and after a mesh grew beside its host", async () => {
  const url = own.server.nextUrl();
  const mesh = await meshAt(url);
  await mesh.host(noopApp());
  const cli = (...args: string[]) => runHere([...args, "--server", url]);
  const before = await run(mesh, "before", 4);
  expect((await cli("shards")).stdout).toContain("over 1 stream; the mesh was made with 1");
  const former = { partitions: [], draining: false, since: 0, serves: [], deployments: 0 };
  await mesh.ports.membership.beat("former", encodeHostEntry(former), 60_000);
  const refused = await cli("shards", "4", "--yes");
  expect(refused.stderr).toMatch(/HOSTS_UNREADY.*former: of a version/);
  await mesh.ports.membership.leave("former");
  expect((await cli("shards", "4")).stdout).toContain("would be spread over 4 streams, from 1");
  expect((await cli("shards")).stdout).toContain("over 1 stream;");
  const [grown, meanwhile] = await Promise.all([cli("shards", "4", "--yes"), run(mesh, "meanwhile", 8)]);
  expect(grown).toMatchObject({ code: 0, stdout: expect.stringContaining("over 4 streams") });
  const after = await run(await meshAt(url), "after", 8); // The host may not have heard of it yet.
  const all = [...before, ...meanwhile, ...after];
  const { stdout: listed } = await cli("ls");
  for (const id of all) expect(listed).toContain(id);
  expect(await cli("verify", "--all")).toMatchObject({ code: 0 });
  await archives(mesh, url, all);
  expect((await cli("doctor")).stdout).toMatch(/15 streams are there and as declared/);
  expect((await cli("shards", "2", "--yes")).code).toBe(2);
});

test("over shards that a mesh was made with, sagas are where their ids say, and archives free them", async () => {
  const url = own.server.nextUrl();
  const mesh = await meshAt(url, { shards: 4 });
  await mesh.host(noopApp());
  const ids = await run(mesh, "made", 12);
  const jsm = await jetstreamManager(mesh.nc);
  for (const id of ids) {
    const shard = placeOf(id, { all: 4 });
    expect((await mesh.ports.ledger.last(id))?.subject).toBe(
      shard === 0 ? `saga.${id}.ledger` : `saga.${id}.ledger.${shard}`,
    );
  }
  const requests = createRequests(mesh.nc);
  expect(await growShards({ jsm, requests }, 4)).toEqual({ arbiters: 4, all: 4 });
  requests.close();
  expect(await runHere(["verify", "--all", "--server", url])).toMatchObject({ code: 0 });
  await archives(mesh, url, ids);
});
