/**
 * Goal: what a person types stands beside a statement and never in it; of many sagas that are cancelled one that cannot be hinders no
 * other, and too many are refused before any is told.
 * Method: a host and sagas that rest on the mesh in memory; tables that note what they are asked.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { createAsking, type Tables } from "../../../services/console/questions.ts";
import { createReadings } from "../../../services/console/readings.ts";
import { createSagaTeller } from "../../../services/console/saga.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { calling, Of } from "../../support/workbench.ts";

const approval = { by: ["ana"], withinMs: 86_400_000, otherwise: "deny" } as const;
const paid = defineTool({
  ...{ name: "paid", description: "Pays.", effect: "idempotent", input: Of, output: z.object({}) },
  ...{ compensation: "point_of_no_return", placement: "host", approval, perform: async () => ({}) },
});
const asking = calling(paid);

async function open() {
  const mesh = createMemoryMesh({ seed: 7 });
  const own = { ...mesh.spawn("host"), log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  await mesh.clock.until(startHost(own, defineApp({ sagas: [asking] })));
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  for (const id of ["one", "two"]) await mesh.clock.until(client.start(asking, { of: "x" }, { id }));
  await mesh.clock.advance(3_000);
  const asked: { sql: string; values: readonly unknown[] }[] = [];
  const tables: Tables = {
    dialect: "sqlite",
    ask: async (questions) => {
      asked.push(...questions);
      return questions.map(() => ({ columns: [], rows: [], isCut: false }));
    },
  };
  const deps = { ...mesh.spawn("console"), from: "tester" };
  const questions = createAsking(deps, createSagaTeller(deps, createReadings(deps.ports)), tables);
  const done = <T>(work: Promise<T>) => mesh.clock.until(work);
  return { mesh, client, questions, asked, done };
}

test("a filter is a value beside the statement, whatever it says, and one that is none is refused", async () => {
  const { questions, asked, done } = await open();
  await done(questions.find("id=x';drop"));
  expect(asked.map(({ values }) => values)).toEqual([["x';drop"]]);
  expect(asked[0]?.sql).not.toContain("drop");
  await expect(done(questions.find("nothing=1"))).rejects.toMatchObject({ code: "USAGE" });
  await expect(done(questions.find(""))).rejects.toMatchObject({ code: "USAGE" });
});

test("of sagas that are cancelled one that cannot be is told, and the others end", async () => {
  const { mesh, client, questions, done } = await open();
  const told = await done(questions.cancel(["one", "nobody", "two"], "closed"));
  expect(told).toMatchObject({ stored: 2, refused: [{ saga: "nobody" }] });
  expect(told.refused[0]?.because).toContain("SAGA_UNKNOWN");
  await mesh.clock.advance(3_000);
  for (const saga of ["one", "two"])
    expect((await done(client.describe(saga))).end).toMatchObject({ status: "cancelled" });
});

test("more than can be cancelled at once are refused before any is told, and so is what is no id", async () => {
  const { client, questions, done } = await open();
  const many = ["one", ...Array.from({ length: 500 }, (_, k) => `s-${k}`)];
  await expect(done(questions.cancel(many, undefined))).rejects.toMatchObject({ code: "USAGE" });
  await expect(done(questions.cancel(["one", "no id!"], undefined))).rejects.toMatchObject({
    code: "BAD_ID",
  });
  expect((await done(client.describe("one"))).status).toBe("running");
});
