/**
 * Goal: a flood of starts waits in the stream and not in a host, and what reaches a running saga goes by it.
 * Method: a host with small bounds on a memory mesh; tools that take their time and note what runs together.
 */
import { expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";

function openMesh(bounds: { sagasMax?: number; effectsMax?: number }, tookMs: number) {
  const mesh = createMemoryMesh({ seed: 1, partitions: 2 });
  const hostProcess = mesh.spawn("host");
  const account = { running: 0, most: 0, done: 0 };
  const work = defineTool({
    name: "work",
    description: "Takes its time.",
    effect: "idempotent",
    compensation: "point_of_no_return",
    placement: "host",
    input: z.object({}),
    output: z.object({}),
    perform: async () => {
      account.most = Math.max(account.most, ++account.running);
      await hostProcess.clock.sleep(tookMs);
      account.running -= 1;
      account.done += 1;
      return {};
    },
  });
  const machine = setup({ actors: toActors({ work }) }).createMachine({
    id: "worker",
    initial: "working",
    states: {
      working: { invoke: { id: "call", src: "work", input: {}, onDone: "done" }, on: { stop: "done" } },
      done: { type: "final" },
    },
    output: {},
  });
  const saga = defineSaga({
    name: "worker",
    version: 1,
    input: z.object({}),
    output: z.object({}),
    signals: { stop: z.object({}) },
    machine,
  });
  const base = { log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  const host = mesh.clock.until(
    startHost({ ...base, ...hostProcess, ...bounds }, defineApp({ sagas: [saga] })),
  );
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  return { mesh, host, client, saga, account };
}

test("no more sagas run than the host takes upon itself, the others wait in the stream, and all end", async () => {
  const { mesh, host, client, saga, account } = openMesh({ sagasMax: 6 }, 400);
  const { resident } = await host;
  const handles = await mesh.clock.until(
    Promise.all(Array.from({ length: 60 }, (_, n) => client.start(saga, {}, { id: `s${n}` }))),
  );
  await mesh.clock.advance(300);
  expect(account.running).toBeGreaterThan(1);
  expect(resident()).toBeLessThanOrEqual(6);
  expect(mesh.server.open().inbox).toBeGreaterThanOrEqual(50);
  const ends = await mesh.clock.until(Promise.all(handles.map((handle) => handle.result())));
  expect(ends.every(({ status }) => status === "completed")).toBe(true);
  expect(account.most).toBeLessThanOrEqual(6);
  expect(account.done).toBe(60);
});

test("a signal reaches a running saga past any number of starts that wait", async () => {
  const { mesh, host, client, saga } = openMesh({ sagasMax: 2 }, 3_600_000);
  await host;
  const ids = Array.from({ length: 40 }, (_, n) => `s${n}`);
  const handles = await mesh.clock.until(Promise.all(ids.map((id) => client.start(saga, {}, { id }))));
  await mesh.clock.advance(1_000);
  const running = await mesh.clock.until(mesh.spawn("look").ports.ledger.list());
  expect(running.length).toBeLessThanOrEqual(2);
  const handle = handles[ids.indexOf(running[0]!.saga)]!;
  const sentAt = mesh.clock.now();
  await mesh.clock.until(handle.signal("stop", {}));
  const look = mesh.spawn("look2").ports.ledger;
  while ((await mesh.clock.until(look.last(running[0]!.saga)))?.headers["Saga-Event"] !== "signal")
    await mesh.clock.advance(10);
  expect(mesh.clock.now() - sentAt).toBeLessThan(1_000);
});

test("no more effects are in flight than the host takes upon itself", async () => {
  const { mesh, host, client, saga, account } = openMesh({ effectsMax: 3 }, 100);
  await host;
  const handles = await mesh.clock.until(
    Promise.all(Array.from({ length: 20 }, (_, n) => client.start(saga, {}, { id: `s${n}` }))),
  );
  await mesh.clock.until(Promise.all(handles.map((handle) => handle.result())));
  expect([account.done, account.most]).toEqual([20, 3]);
});
