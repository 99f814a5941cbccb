/**
 * Goal: a wake asks the server for what it has to know, and for nothing that client or host know already. What is asked for is time
 * on the way from a signal to its effect, so each question that comes back here should have a reason.
 * Method: a client and a host on the memory mesh, with every call of their ports written down; a saga begins, rests, is signalled
 * while its host has it, while it has not, and is started once more by another caller.
 */
import { expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { digestOf } from "../../../protocol/digest.ts";
import { limits } from "../../../protocol/limits.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { storeStart } from "../../../services/wire/start.ts";
import type { Ports } from "../../../services/wire/ports.ts";

const work = defineTool({
  ...{ name: "work", description: "works", effect: "idempotent", placement: "host" },
  ...{ input: z.object({ n: z.int() }), output: z.object({}), perform: async () => Promise.resolve({}) },
} as const);
const machine = setup({
  types: { context: {} as { n: number } },
  actors: toActors({ work }),
}).createMachine({
  context: { n: 0 },
  initial: "working",
  states: {
    working: {
      invoke: { src: "work", input: ({ context }) => ({ n: context.n }), onDone: "resting" },
    },
    resting: { on: { more: { target: "working", actions: assign({ n: ({ context }) => context.n + 1 }) } } },
  },
});
const resting = defineSaga({
  ...{ name: "resting", version: 1, input: z.object({}), output: z.unknown() },
  ...{ signals: { more: z.object({}) }, machine },
});

/** What is asked of the server on the way; what only tells (`live`), beats or waits for what comes is left out. */
const asking: readonly (keyof Ports)[] = [
  ...(["inbox", "ledger", "snapshots", "blobs", "claims", "registry", "work", "dead", "intake"] as const),
];

function noting(ports: Ports, noted: string[]): Ports {
  const watched = (name: string, port: object) =>
    new Proxy(port, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key);
        if (typeof member !== "function" || key === "consume" || key === "receive") return member;
        return (...given: unknown[]) => {
          noted.push(`${name}.${String(key)}`);
          return Reflect.apply(member, target, given) as unknown;
        };
      },
    });
  const all = asking.flatMap((name) => {
    const port = ports[name];
    return port === undefined ? [] : [[name, watched(name, port)]];
  });
  return { ...ports, ...(Object.fromEntries(all) as Partial<Ports>) };
}

async function open() {
  const mesh = createMemoryMesh({ seed: 1 });
  const noted = { client: [] as string[], host: [] as string[] };
  const [outside, inside] = [mesh.spawn("ana"), mesh.spawn("host")];
  const client = createClient(
    { ...outside, ports: noting(outside.ports, noted.client), from: "ana" },
    async () => undefined,
  );
  const options = { log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  const host = await mesh.clock.until(
    startHost(
      { ...inside, ports: noting(inside.ports, noted.host), ...options },
      defineApp({ sagas: [resting] }),
    ),
  );
  await mesh.clock.advance(200); // The host has found that the listing is whole.
  const asked = async (work: () => Promise<unknown>) => {
    noted.client.length = noted.host.length = 0;
    await mesh.clock.until(work());
    const byClient = [...noted.client];
    await mesh.clock.advance(100);
    return { client: byClient, host: [...noted.host] };
  };
  const letGo = async () => {
    for (let waited = 0; host.resident() > 0 && waited < 60; waited++)
      await mesh.clock.advance(limits.lingerMs);
    expect(host.resident()).toBe(0);
  };
  return { mesh, client, asked, letGo, outside };
}

const turn = "ledger.append";

test("a start under an id of its own looks for another only once it is stored, and is begun by one append", async () => {
  const { client, asked } = await open();
  expect(await asked(() => client.start(resting, {}))).toEqual({
    client: ["inbox.publish", "ledger.last"],
    host: [turn, turn],
  });
});

test("a signal to a saga in memory asks the server for nothing but two appends, and its client for nothing but to store it", async () => {
  const { mesh, client, asked } = await open();
  const { id } = await mesh.clock.until(client.start(resting, {}));
  await mesh.clock.advance(100);
  const signal = () => asked(() => client.saga(resting, id).signal("more", {}));
  expect(await signal()).toEqual({ client: ["ledger.first", "inbox.publish"], host: [turn, turn] });
  expect(await signal()).toEqual({ client: ["inbox.publish"], host: [turn, turn] });
});

test("a saga that its host has let go of is loaded by one look at its head beside its snapshot, and by what came since", async () => {
  const { mesh, client, asked, letGo } = await open();
  const { id } = await mesh.clock.until(client.start(resting, {}));
  const signal = () => asked(() => client.saga(resting, id).signal("more", {}));
  await signal();
  await letGo();
  expect((await signal()).host).toEqual(["snapshots.get", "ledger.last", "ledger.read", turn, turn]);
  for (let more = 0; more < limits.snapshotAsleepTurns; more++) await signal();
  await letGo();
  expect((await signal()).host).toEqual(["snapshots.get", "ledger.last", turn, turn]);
});

test("a start that comes again long after costs its host no reading of the whole ledger", async () => {
  const { mesh, client, asked, letGo, outside } = await open();
  const { id } = await mesh.clock.until(client.start(resting, {}));
  for (let more = 0; more < 2 * limits.snapshotAsleepTurns; more++)
    await asked(() => client.saga(resting, id).signal("more", {}));
  await letGo();
  // As a parent does that hands its start on again: without a look whether the child has begun.
  const data = Buffer.from(JSON.stringify({ name: "resting", input: {} }));
  const as = { name: "resting", inputDigest: digestOf({}) };
  const { host } = await asked(() =>
    storeStart(outside.ports, { ...{ saga: parseSagaId(id), as, data, headers: {} }, msgId: "again" }),
  );
  const loading = [turn, "ledger.last", "ledger.first", "snapshots.get", "ledger.last"];
  // It was delivered again, so its row is written again, as long as the ledger has no later turn before and after.
  expect(host).toEqual([...loading, "ledger.last", "ledger.last"]);
  expect(mesh.server.open().inbox).toBe(0);
});
