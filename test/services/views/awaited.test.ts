/**
 * Goal: what an agent waits for is named, wherever it is told that it waits, and a wait that is over is no timer.
 * Method: an agent on a mesh in memory waits in each of the ways there are; its row and its description are looked at
 * while it waits and after.
 */
import { defineAgent, defineApp } from "sagamesh";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { describeInspected } from "../../../services/cli/telling/inspect-text.ts";

const hourMs = 3_600_000;
const Note = z.object({ text: z.string() });
const waiter = defineAgent({
  name: "waiter",
  version: 1,
  description: "Waits.",
  model: "waits",
  instructions: "Wait, then finish.",
  input: z.object({ signals: z.array(z.string()).optional(), forMs: z.number().optional() }),
  output: z.string(),
  signals: { note: Note, hurry: Note },
  tools: [],
});
const waits = scriptedModel("waits", ({ step, messages }) => {
  const [first] = messages;
  const part = first?.role === "user" ? first.parts[0] : undefined;
  const input = JSON.parse(part?.type === "text" ? part.text : "{}") as {
    signals?: string[];
    forMs?: number;
  };
  return step === 1
    ? { calls: [{ tool: "wait", input }] }
    : { calls: [{ tool: "finish", input: { output: "went on" } }] };
});

let mesh: ReturnType<typeof testMesh>;
beforeEach(() => (mesh = testMesh(defineApp({ sagas: [waiter], models: { waits } }))));
afterEach(() => mesh.close());

async function waitWith(input: z.infer<typeof waiter.input>) {
  const handle = await mesh.start(waiter, input, { id: "w-1" });
  await mesh.settled();
  const [row] = await mesh.list();
  return { handle, waitsFor: row?.waitsFor, described: await mesh.describe("w-1") };
}

describe("an agent that waits", () => {
  test("for a signal is said to wait for that signal", async () => {
    const { waitsFor, described } = await waitWith({ signals: ["note"] });
    expect(waitsFor).toEqual(["signal note"]);
    expect(described.awaits).toEqual({ signals: ["note"] });
    expect(describeInspected(described)).toContain("\nawaits   signal note\n");
  });

  test("for a signal or a time is said to wait for both, and not for a timer", async () => {
    const { waitsFor, described } = await waitWith({ signals: ["note", "hurry"], forMs: hourMs });
    expect(waitsFor).toEqual([
      expect.stringMatching(/^signal note, hurry until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    ]);
    expect(described.awaits?.until).toBeGreaterThan(described.startedAt);
    expect(describeInspected(described)).toMatch(/^\S+ +wait +note, hurry +\d+ +open +until \d{4}/m);
  });

  test("for any signal is said to wait for one of those that are declared", async () => {
    expect((await waitWith({})).waitsFor).toEqual(["any signal (note, hurry)"]);
  });

  test("and was woken is shown as a wait that is over", async () => {
    const { handle } = await waitWith({ signals: ["note"], forMs: hourMs });
    await handle.signal("note", { text: "now" });
    await mesh.settled();
    const described = await mesh.describe("w-1");
    expect(described.awaits).toBeUndefined();
    expect(described.status).toBe("completed");
    const shown = describeInspected(described);
    expect(shown).toMatch(/^\S+ +wait +note +\d+ +over before its time +until /m);
    expect(shown).not.toMatch(/^\S+ +timer/m);
    expect((await mesh.list())[0]?.waitsFor).toEqual([]);
  });

  test("and whose time came is shown so", async () => {
    await waitWith({ signals: ["note"], forMs: hourMs });
    await mesh.advance(hourMs + 1_000);
    await mesh.settled();
    expect(describeInspected(await mesh.describe("w-1"))).toMatch(/^\S+ +wait +note +\d+ +time came/m);
  });
});
