/**
 * Goal: a kind of definition is one record that is registered once: nothing else knows of it.
 * Method: a kind that stands outside the sources (test/support/route-kind.ts) runs like the others, on a mesh in memory.
 */
import { crashMatrix, testMesh } from "sagamesh/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sagaKind } from "../../actors/saga/kind.ts";
import { registerKind } from "../../actors/kinds.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { defineApp } from "../../services/app/app.ts";
import { defineRoute, routeKind } from "../support/route-kind.ts";

const Load = z.object({ parcel: z.string() });
const made = new Map<string, string>();

const takeBack = defineTool({
  ...{ name: "take_back", description: "Takes a parcel back.", effect: "idempotent" },
  ...{ input: z.object({ key: z.string() }), output: z.json() },
  perform: async ({ key }) => {
    made.delete(key);
    return null;
  },
});
const stop = (name: string) =>
  defineTool({
    ...{ name, description: "A stop of a parcel.", effect: "idempotent", input: Load, output: z.string() },
    compensation: { tool: takeBack, input: ({ key }) => ({ key }) },
    perform: async ({ parcel }, { key }) => {
      made.set(key, `${parcel} at ${name}`);
      return name;
    },
  });
const route = defineRoute({ name: "parcel", input: Load, stops: [stop("depot"), stop("door")] });
const app = defineApp({ sagas: [route] });

describe("a kind from outside", () => {
  test("goes from its start over a tool's call and a signal to its end, whoever dies at which write", async () => {
    const report = await crashMatrix(app, async (mesh) => {
      made.clear();
      const saga = await mesh.start(route, { parcel: "p1" }, { id: "route-1" });
      await saga.signal("onward", { to: "door" });
      const end = await saga.result();
      return { end, made: [...made.values()] };
    });
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows.length).toBeGreaterThan(10);
  });

  test("undoes what it did when it is called off in the middle", async () => {
    await using mesh = testMesh(app);
    made.clear();
    const saga = await mesh.start(route, { parcel: "p2" }, { id: "route-2" });
    await mesh.settled();
    expect([...made.values()]).toEqual(["p2 at depot"]);
    await saga.cancel("the door stays shut");
    expect(await saga.result()).toMatchObject({ status: "cancelled", standing: [] });
    expect(made.size).toBe(0);
  });

  test("refuses at its own door what its own part of the definition does not have", async () => {
    await using mesh = testMesh(app);
    const saga = await mesh.start(route, { parcel: "p3" }, { id: "route-3" });
    await saga.signal("onward", { to: "moon" });
    await mesh.settled();
    expect(await mesh.letters()).toMatchObject([{ code: "INPUT_INVALID" }]);
  });

  test("takes no signal of another kind's", async () => {
    await using mesh = testMesh(app);
    const saga = await mesh.start(route, { parcel: "p4" }, { id: "route-4" });
    await expect(saga.signal("instruct" as never, { text: "hurry" } as never)).rejects.toMatchObject({
      code: "SIGNAL_UNKNOWN",
    });
  });
});

describe("the list of kinds", () => {
  test("has one record of each name: another one is refused, where it is registered and where it is served", () => {
    expect(() => registerKind({ ...routeKind })).toThrow(/two kinds of definitions are named "route"/);
    const { definition } = route;
    const forged = { ...route, definition: { ...definition, kind: { ...sagaKind, name: "unheard_of" } } };
    expect(defineApp({ sagas: [forged] }).faults).toEqual([
      'parcel: its kind "unheard_of" is not registered; call registerKind where the kind is made',
    ]);
  });
});
