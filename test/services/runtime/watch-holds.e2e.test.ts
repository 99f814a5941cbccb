/**
 * The thread that watches a process's loop, beside a real server: what it writes of a holding that lasts, and of one that only
 * stands still.
 *
 * Method: this process holds its own loop. What was ever written to SUSPECT is counted by its stream.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../../../services/process/log.ts";
import { watchHolds } from "../../../services/runtime/watch-holds.ts";
import { readMark } from "../../../services/suspects/mark.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";

let server: AccountServer;
let mesh: RealMesh;
beforeAll(async () => {
  server = await startAccountServer(1);
  mesh = await openRealMesh(server.nextUrl());
});
afterAll(async () => {
  await mesh.close();
  await server.stop();
});

const written = async (): Promise<number> =>
  (await mesh.nc.request("$JS.API.STREAM.INFO.KV_SUSPECT", "")).json<{ state: { last_seq: number } }>().state
    .last_seq;

const spinFor = (ms: number): void => {
  const begun = process.cpuUsage();
  for (let ran = 0; ran < ms;) {
    const { user, system } = process.cpuUsage(begun);
    ran = (user + system) / 1_000;
  }
};

test("a loop that is held and given back is marked meanwhile, and nothing is left; one that gets no processor is not", async () => {
  const watch = watchHolds({ maxMs: 60_000, marking: { by: "h-1", servers: mesh.url } }, silentLog);
  const { during } = watch.holding;
  const standsFor = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  try {
    during("saga.starved", "signal a", () => standsFor(1_500));
    for (let n = 0; n < 40; n += 1) during("saga.busy", "signal b", () => spinFor(10));
    expect(await written()).toBe(0);
    during("saga.held", "signal c", () => spinFor(1_000));
    await until("a mark was written", async () => (await written()) > 0, 20_000);
    await until(
      "it has gone",
      async () => (await readMark(mesh.ports.suspects, "saga.held")) === undefined,
      20_000,
    );
    expect(await written()).toBe(1);
  } finally {
    await watch.stop();
  }
});
