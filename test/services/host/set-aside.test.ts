/**
 * Setting aside what a saga's processes died of: what is recorded, and who is told.
 *
 * Method: a real server. The inputs are taken from INBOX by hand, as whoever sets them aside has them; a host goes on
 * afterwards.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { defineSaga, type SignalEvents, toActors } from "sagamesh";
import { defineTool } from "../../../actors/contract/tool.ts";
import { IntentId, parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import { subjects } from "../../../protocol/subjects.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createRows } from "../../../services/listing/rows.ts";
import { depsOf } from "../../../services/host/host.ts";
import { routingAlone } from "../../../services/host/routing.ts";
import { setAside } from "../../../services/host/set-aside.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import { silentLog } from "../../../services/process/log.ts";
import { publishResult } from "../../../services/perform/publish-result.ts";
import type { Delivery } from "../../../services/wire/ports.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";
import { callingSaga } from "../../support/calling-saga.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(6);
});
afterAll(() => server.stop());

const nothing = z.object({});
const wire = defineTool({
  name: "wire",
  description: "Wires money.",
  effect: "once",
  compensation: "point_of_no_return",
  onDoubt: "model",
  input: nothing,
  output: nothing,
});
const look = defineTool({
  name: "look",
  description: "Looks something up.",
  effect: "read",
  input: nothing,
  output: nothing,
});
const wirer = callingSaga("wirer", wire);
const looker = callingSaga("looker", look);

/** From then on its machine cannot be folded again, as one that kills its process cannot. */
let isDeadly = false;
const undone: string[] = [];
const giveBack = defineTool({
  ...{ name: "give_back", description: "Gives money back.", effect: "idempotent", placement: "host" },
  ...{ input: z.object({ paid: z.string() }), output: nothing },
  perform: async (_, { key }) => {
    undone.push(key);
    return {};
  },
});
const pay = defineTool({
  ...{
    name: "pay_now",
    description: "Pays.",
    effect: "idempotent",
    placement: "host",
    input: nothing,
    output: nothing,
  },
  compensation: { tool: giveBack, input: ({ key }) => ({ paid: key }) },
  perform: async () => ({}),
});
const later = { boom: nothing };
const payer = defineSaga({
  ...{ name: "payer", version: 1, input: nothing, output: nothing, signals: later },
  machine: setup({
    types: { events: {} as SignalEvents<typeof later> },
    actors: toActors({ pay }),
    guards: {
      lives: () => {
        if (isDeadly) throw new Error("deadly");
        return true;
      },
    },
  }).createMachine({
    initial: "paying",
    states: {
      paying: { invoke: { src: "pay", input: {}, onDone: { target: "waiting", guard: "lives" } } },
      waiting: { on: { boom: { target: "done", guard: "lives" } } },
      done: { type: "final" },
    },
    output: {},
  }),
});
const app = defineApp({ sagas: [wirer, looker, payer] });

const withMesh = async (work: (mesh: RealMesh) => Promise<void>): Promise<void> => {
  const mesh = await openRealMesh(server.nextUrl());
  try {
    await work(mesh);
  } finally {
    await mesh.close();
  }
};

const rowsBase = {
  ...{ clock: systemClock, log: silentLog, signal: new AbortController().signal },
  ...{ hasLapsed: () => false, saysWhatItOwes: false, incarnation: "h-last-1" },
};

const depsFor = ({ ports }: RealMesh) => ({
  ...depsOf(
    {
      ports,
      clock: systemClock,
      chance: systemChance,
      log: silentLog,
      incarnation: "h-last-1",
      callbackBase: "sagamesh:",
    },
    app,
    new AbortController().signal,
  ),
  routing: routingAlone(app),
  hasLapsed: () => false,
  rows: createRows({ ...rowsBase, ports }),
  movesOf: async () => "pinned" as const,
});

/** What waits in INBOX for the saga, held as a host would hold it. */
async function inputsOf({ ports }: RealMesh, saga: SagaId, count = 1): Promise<Delivery[]> {
  const taken: Delivery[] = [];
  const consumptions = await Promise.all(
    Array.from({ length: ports.inbox.partitions }, (_, partition) =>
      ports.inbox.consume(partition, { inFlightMax: 10, startsMax: () => 10 }, (delivery) => {
        if (delivery.subject.includes(`.${saga}.`)) taken.push(delivery);
      }),
    ),
  );
  await until("an input", () => taken.length >= count);
  await Promise.all(consumptions.map((consumption) => consumption.stop()));
  return taken;
}

const publishJson = (mesh: RealMesh, subject: string, body: object) =>
  mesh.ports.inbox.publish({ subject, data: Buffer.from(JSON.stringify(body)), headers: {} });

/** Starts the saga, lets a host decide its call, and ends that host. */
async function untilItCalls(mesh: RealMesh, saga: typeof looker): Promise<SagaId> {
  const host = await mesh.host(app);
  const { id } = await mesh.client.start(saga, {});
  await until(
    "its call is open",
    async () => (await mesh.head(id)) > 0 && (await mesh.unacked()).inbox === 0,
  );
  await host.stop(1_000);
  return id;
}

test.each([
  { saga: looker, effect: "read", outcome: "failed" },
  { saga: wirer, effect: "once", outcome: "in_doubt" },
])("the result of a $effect that kills becomes a letter, and $outcome takes its place", ({ saga, outcome }) =>
  withMesh(async (mesh) => {
    const id = await untilItCalls(mesh, saga);
    const intent = IntentId.parse("1-0");
    // Failed as well: the one in its place must not be taken for a repeat of it.
    const result = { outcome: "failed", code: "TOOL_FAILED", reason: "a killer", retry: false } as const;
    const deps = depsFor(mesh);
    await publishResult(deps, { saga: id, intent, attempt: 1 }, { type: "result", result });
    await setAside(deps, id, await inputsOf(mesh, id));
    expect(await mesh.letters()).toMatchObject([
      { subject: `dead.inbox.${id}`, reason: expect.stringContaining("[POISON]") as string },
    ]);
    await mesh.host(app);
    await until("its end", async () => (await mesh.view(id)).status !== "running");
    const results = (await mesh.turns(id)).flatMap(({ steps }) =>
      steps.flatMap(({ event }) =>
        event.type === "result" && event.intent === intent ? [event.result] : [],
      ),
    );
    expect(results).toMatchObject([{ outcome, code: "POISON" }]);
  }),
);

test("a start that kills becomes a letter, and the parent hears that its child never began", () =>
  withMesh(async (mesh) => {
    const child = parseSagaId("child-1");
    const parent = { saga: parseSagaId("parent-1"), intent: "3-1" };
    await publishJson(mesh, subjects.start(child), { name: "looker", version: 1, input: {}, parent });
    await setAside(depsFor(mesh), child, await inputsOf(mesh, child));
    expect(await mesh.letters()).toMatchObject([{ subject: `dead.inbox.${child}` }]);
    const [told] = await inputsOf(mesh, parent.saga);
    expect(told?.subject).toMatch(/\.parent-1\.result\.3-1$/);
    expect(JSON.parse(Buffer.from(told!.data).toString())).toMatchObject({
      outcome: "failed",
      code: "POISON",
    });
  }));

test("a cancellation among what kills is taken without the machine, and undoes what stands, whoever loads the saga", () =>
  withMesh(async (mesh) => {
    const first = await mesh.host(app);
    const { id } = await mesh.client.start(payer, {}, { id: "paid" });
    await until("it has begun", async () => (await mesh.head(id)) > 0);
    await until("it has paid", async () => (await mesh.view(id)).effects.length === 1);
    await until("it waits", async () => (await mesh.unacked()).inbox === 0);
    await first.stop(1_000);
    isDeadly = true;
    const handle = mesh.client.saga(payer, id);
    await handle.signal("boom", {});
    await handle.cancel("its machine kills");
    // The fold that a snapshot would spare is made here, so that only a way without the machine is left.
    await jetstreamManager(mesh.nc).then((jsm) => jsm.streams.purge("KV_SNAPSHOT"));
    await setAside(depsFor(mesh), id, await inputsOf(mesh, id, 2));
    expect((await mesh.turns(id)).at(-1)?.steps[0]?.event).toMatchObject({
      name: "cancel",
      withoutMachine: true,
    });
    await mesh.host(app);
    await until("its end", async () => (await mesh.view(id)).status !== "running");
    const view = await mesh.view(id);
    expect(view.end).toMatchObject({ status: "cancelled", reason: "its machine kills", standing: [] });
    expect(undone).toEqual(
      [view.intents.find(({ intent }) => "undoes" in intent)?.intent].map(
        (one) => one && "key" in one && one.key,
      ),
    );
    // Whoever has the machine proves that it would have been undone in the same way.
    isDeadly = false;
    expect((await verifyLedger(mesh.ports, id, app)).findings).toEqual([]);
  }));
