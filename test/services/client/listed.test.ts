/**
 * Goal: sagas that are listed by their rows are listed as their ledgers have them, by pages too, and of what has ended no ledger is
 * read. Method: sagas that wait, ask, end well and badly, a fork and an agent with a budget on the mesh in memory, listed with the
 * rows and without.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { SagaRow } from "../../../protocol/documents/saga.ts";
import { defineApp } from "../../../services/app/app.ts";
import { listSagas } from "../../../services/client/list.ts";
import type { SagaFilter } from "../../../services/client/saga-filter.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { silentLog } from "../../../services/process/log.ts";
import { agentOf, call, calling, finish, Of, sequence, together } from "../../support/workbench.ts";

const base = { description: "Does it.", effect: "idempotent", input: Of, output: z.object({}) } as const;
const gone = { ...base, compensation: "point_of_no_return", placement: "host" } as const;
const quick = defineTool({
  ...{ ...gone, name: "quick" },
  perform: async () => ({}),
});
const approval = { by: ["ana"], withinMs: 86_400_000, otherwise: "deny" } as const;
const paid = defineTool({ ...gone, name: "paid", approval, perform: async () => ({}) });
const [asking, resting, once] = [calling(paid), sequence(quick), together(quick)];
const agent = agentOf({ tools: [quick], budget: { steps: 5 } });
const scripted = scriptedModel("scripted", ({ messages }) => {
  const goesOn = messages.length === 1 || JSON.stringify(messages).includes("for ever");
  return goesOn ? { calls: [call("quick", { of: String(messages.length) })] } : finish;
});
const app = defineApp({ sagas: [asking, resting, once, agent], models: { scripted } });

async function openMesh() {
  const mesh = createMemoryMesh({ seed: 3 });
  const own = { ...mesh.spawn("host"), log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  await mesh.clock.until(startHost(own, app));
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  const begin = <T>(work: Promise<T>) => mesh.clock.until(work);
  await begin(client.start(asking, { of: "x" }, { id: "asks" }));
  await begin(client.start(resting, null, { id: "rests" }));
  for (const id of ["good-1", "good-2", "good-3"]) {
    await begin(client.start(once, null, { id }));
    await mesh.clock.advance(500);
  }
  await begin(client.start(agent, { of: "for ever" }, { id: "bad-1" }));
  await begin(client.start(agent, { of: "x" }, { id: "agent-1" }));
  await mesh.clock.advance(1_000);
  await begin(client.fork(once, "good-1", { from: 1, id: "fork-1" }));
  await mesh.clock.advance(3_000);
  let looks = 0;
  const list = async (filter: SagaFilter, withRows = true) => {
    const { ports, gate, clock } = mesh.spawn(`look${looks++}`);
    const read: string[] = [];
    gate.onCall((port, method, when) => {
      if (port === "ledger" && when === "before") read.push(method);
    });
    const why: string[] = [];
    const { listing, ...others } = ports;
    const given = withRows ? { ...others, listing: listing! } : others;
    const rows = await mesh.clock.until(listSagas(given, filter, clock.now(), (one) => why.push(one)));
    return { rows: [...rows], ids: rows.map(({ saga }) => saga), read, why };
  };
  return { mesh, list };
}

test("by rows and by ledgers the same is listed, of every kind of saga", async () => {
  const { list } = await openMesh();
  const byRows = await list({});
  const byLedgers = await list({}, false);
  expect(byRows.why).toEqual([]);
  expect(byLedgers.why).toEqual(["every ledger is read: no listing is kept here"]);
  const sorted = (rows: readonly SagaRow[]) => rows.toSorted((a, b) => (a.saga < b.saga ? -1 : 1));
  expect(byRows.ids).toHaveLength(8);
  expect(sorted(byRows.rows)).toEqual(sorted(byLedgers.rows));
  for (const filter of [
    { running: true },
    { status: "failed" },
    { status: "completed", name: "together" },
    { name: "helper" },
    { query: "status=completed and turns>1" },
  ] as const)
    expect((await list(filter)).ids.sort(), JSON.stringify(filter)).toEqual(
      (await list(filter, false)).ids.sort(),
    );
});

test("of what has ended no ledger is read, and of what goes on its own", async () => {
  const { list } = await openMesh();
  const failed = await list({ status: "failed" });
  expect(failed.ids).toEqual(["bad-1"]);
  expect(failed.read.filter((method) => method !== "end")).toEqual([]);
  const running = await list({ running: true });
  expect(running.ids.sort()).toEqual(["asks", "rests"]);
  expect(running.read).not.toContain("list");
});

test("pages follow one another until all were shown, each saga once", async () => {
  const { list } = await openMesh();
  const shown: string[] = [];
  for (let after: string | undefined; ; after = shown.at(-1)) {
    const { ids } = await list({ limit: 3, ...(after === undefined ? {} : { after }) });
    expect(ids.length).toBeLessThanOrEqual(3);
    shown.push(...ids);
    if (ids.length < 3) break;
  }
  expect(shown.toSorted()).toEqual((await list({})).ids.toSorted());
  const [first, second] = (await list({ status: "completed", limit: 2 })).ids;
  expect((await list({ status: "completed", limit: 1, after: first! })).ids).toEqual([second]);
  await expect(list({ after: "nobody" })).rejects.toMatchObject({ code: "USAGE" });
});

test.each([
  [{ status: "over" }, "status is one of"],
  [{ limit: 0 }, "limit is a whole number"],
  [{ limit: 1.5 }, "limit is a whole number"],
])("%j is refused", async (filter, says) => {
  const mesh = createMemoryMesh({ seed: 1 });
  const { ports } = mesh.spawn("look");
  await expect(listSagas(ports, filter as never, 0)).rejects.toThrow(says);
});
