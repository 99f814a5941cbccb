/**
 * A host that dies beside another one, on a real server, with leases of ten minutes: what it had can only come back because
 * it was found dead.
 *
 * Method: two hosts in this process, each on a connection of its own. One dies as the server sees a process die: its
 * connection is closed, and it says nothing more.
 */
import { setup } from "xstate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { silentLog } from "../../../services/process/log.ts";
import { newIncarnation, systemChance, systemClock } from "../../../services/runtime/system.ts";
import { type AccountServer, startAccountServer, until } from "../../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(1);
});
afterAll(() => server.stop());

const performed: string[] = [];

/** Its tool never ends on the host that is to die. */
function appOf(by: "dying" | "living") {
  const look = defineTool({
    name: "look",
    description: "looks",
    effect: "read",
    placement: "host",
    input: z.object({}),
    output: z.object({}),
    perform: async (_, { abort }) => {
      performed.push(by);
      if (by === "dying") await systemClock.sleep(600_000, abort);
      return {};
    },
  });
  const machine = setup({ actors: toActors({ look }) }).createMachine({
    initial: "looking",
    states: { looking: { invoke: { src: "look", input: {}, onDone: "seen" } }, seen: { type: "final" } },
    output: {},
  });
  const looker = defineSaga({
    ...{ name: "looker", version: 1, input: z.object({}), output: z.object({}), signals: {}, machine },
  });
  return { looker, app: defineApp({ sagas: [looker] }) };
}

async function open(url: string) {
  const nc = await connectNats({ servers: url, name: "test" });
  const ports = await openNatsPorts(nc, { partitions: 2, inboxAckWaitMs: 600_000 });
  const parts = {
    ports,
    clock: systemClock,
    chance: systemChance,
    log: silentLog,
    callbackBase: "sagamesh:",
  };
  return { nc, ports, parts };
}

test("what a host had when it died goes on with another one at once", { timeout: 120_000 }, async () => {
  const url = server.nextUrl();
  const [one, other] = [await open(url), await open(url)];
  const host = await startHost({ ...one.parts, incarnation: newIncarnation("host") }, appOf("dying").app);
  const { looker } = appOf("dying");
  const client = createClient({ ...other.parts, from: "test" }, async () => undefined);
  const sagas = Array.from({ length: 20 }, (_, n) => `looker-${n}`);
  for (const id of sagas) await client.start(looker, {}, { id });
  await until("all are at work", () => performed.length === sagas.length, 60_000);
  const { membership } = other.ports;
  const entries = await membership.hosts();
  await one.nc.close();
  // A machine that is busy may take longer than an entry lasts.
  for (const { host: name, data } of entries) await membership.beat(name, data, 60_000);
  const next = await startHost({ ...other.parts, incarnation: newIncarnation("host") }, appOf("living").app);
  const ends = await Promise.all(sagas.map((id) => client.saga(looker, id).result()));
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(["completed"]));
  expect(performed.filter((by) => by === "living")).toHaveLength(sagas.length);
  await next.stop(1_000);
  await host.stop(0);
  for (const { ports, nc } of [one, other]) {
    await ports.close();
    await nc.close();
  }
});
