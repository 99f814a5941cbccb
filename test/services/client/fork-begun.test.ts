/**
 * Goal: a person who forks is told of a refusal whenever a host lives, also where the machine keeps it from saying so for a while; and
 * where none lives they are told that, and soon.
 * Method: forks of a model that no host has, on a memory mesh; the host's entry is taken away for a while that is drawn, as it runs
 * out when heartbeats come late, and the host takes nothing meanwhile.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineSaga } from "../../../actors/saga/define.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { defineApp } from "../../../services/app/app.ts";
import { forkBegun } from "../../../services/client/fork-begun.ts";
import { newestLetter } from "../../../services/client/refusal.ts";
import { startFork, startSaga } from "../../../services/client/start.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { codeOf } from "../../contract/mesh-under-test.ts";
import { notingMachine } from "../../support/noting.ts";

const noting = defineSaga({
  name: "noting",
  version: 1,
  input: z.object({}),
  output: z.object({ notes: z.int() }),
  signals: { note: z.object({}), end: z.object({}) },
  machine: notingMachine,
});
const origin = parseSagaId("origin");

async function open() {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  const caller = { ...mesh.spawn("ana"), from: "ana" };
  const serve = (incarnation: string) =>
    clock.until(
      startHost(
        { ...mesh.spawn(incarnation), log: silentLog, callbackBase: "sagamesh:", incarnation },
        defineApp({ sagas: [noting] }),
      ),
    );
  const former = await serve("h1");
  await clock.until(startSaga(caller, { id: origin, name: "noting", input: {} }));
  await clock.advance(1_000);
  await clock.until(former.stop(0));
  return { clock, caller, serve };
}

/** The caller's ports while nobody sees a host up to a time. */
const unseenUntil = (ports: Ports, elapsed: () => number, until: number): Ports => ({
  ...ports,
  membership: {
    ...ports.membership,
    hosts: async () => (elapsed() < until ? [] : ports.membership.hosts()),
  },
});

test("a host whose entry has run out for less than a lease is waited for, and what it refuses is told", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: limits.inboxAckWaitMs - 200 }), async (awayMs) => {
      const { clock, caller, serve } = await open();
      const since = await clock.until(newestLetter(caller.ports));
      const { id, turn } = await clock.until(startFork(caller, origin, { from: 1, model: "nobody" }));
      const ports = unseenUntil(caller.ports, clock.elapsed, clock.elapsed() + awayMs);
      const told = codeOf(forkBegun({ ports, clock: caller.clock }, { id, turn, since }));
      await clock.advance(awayMs);
      const host = await serve("h2");
      expect(await clock.until(told)).toBe("INPUT_INVALID"); // Its sagas ask no model at all.
      await clock.until(host.stop(0));
    }),
    { numRuns: 20 },
  );
});

test("where no host lives it is told after a lease, and not after the whole patience", async () => {
  const { clock, caller } = await open();
  const since = await clock.until(newestLetter(caller.ports));
  const { id, turn } = await clock.until(startFork(caller, origin, { from: 1 }));
  const from = clock.elapsed();
  expect(await clock.until(forkBegun(caller, { id, turn, since }))).toBe("unserved");
  expect(clock.elapsed() - from).toBeLessThan(limits.inboxAckWaitMs + 1_000);
});
