/**
 * Goal: a saga that says so keeps what its machine logs on its ledger, once whatever dies, bounded and without secrets.
 */
import { defineApp, defineSaga } from "sagamesh";
import { crashMatrix, testMesh } from "sagamesh/testing";
import { expect, test } from "vitest";
import { createMachine, log } from "xstate";
import { z } from "zod";
import { limits } from "../../../protocol/limits.ts";
import { describeTurn } from "../../../services/cli/telling/describe.ts";
import { describeInspected } from "../../../services/cli/telling/inspect-text.ts";
import { loggedOf } from "../../../services/host/logged.ts";

const machine = createMachine({
  context: { n: 1 },
  entry: [log("as it is"), log(({ context }) => context, "seen"), log("password=hunter2")],
  initial: "waiting",
  states: {
    waiting: { on: { go: { target: "done", actions: log("\u001b[31mgoes on") } } },
    done: { type: "final" },
  },
});
const logging = (logs?: "host" | "ledger") =>
  defineSaga({
    ...{ name: "logs", version: 1, input: z.json(), output: z.any(), machine, signals: { go: z.object({}) } },
    ...(logs && { logs }),
  });
const onLedger = logging("ledger");
const lines = ["as it is", 'seen: {"n":1}', "password=[redacted]", "\u001b[31mgoes on"];

test("what a machine logs stands with the turn that logged it, whichever write of its host is the last", async () => {
  const report = await crashMatrix(defineApp({ sagas: [onLedger] }), async (mesh) => {
    const saga = await mesh.start(onLedger, null, { id: "l1" });
    await saga.signal("go", {});
    await saga.result();
    const { logged = [] } = await mesh.describe("l1");
    expect(logged.map(({ line }) => line)).toEqual(lines);
    expect(logged.map(({ turn }) => turn === 1)).toEqual([true, true, true, false]);
  });
  expect(report.faults, report.text).toEqual([]);
  expect(report.rows.length).toBe(4); // Two turns, before and after each.
});

test("inspect and tail show it, and nothing of it can move a terminal's cursor", async () => {
  const mesh = testMesh(defineApp({ sagas: [onLedger] }));
  const saga = await mesh.start(onLedger, null, { id: "l1" });
  await saga.signal("go", {});
  await saga.result();
  const texts = [
    describeInspected(await mesh.describe("l1")),
    (await saga.ledger()).flatMap(describeTurn).join("\n"),
  ];
  for (const text of texts) {
    expect(text).toMatch(/#1 \S+ logged "seen: {\\"n\\":1}"\n/);
    expect(text).toContain("goes on");
    expect(text).not.toContain("\u001b");
  }
});

test.each([undefined, "host"] as const)("a saga whose logs are %s keeps none", async (logs) => {
  const saga = logging(logs);
  const mesh = testMesh(defineApp({ sagas: [saga] }));
  const started = await mesh.start(saga, null, { id: "l1" });
  expect((await started.ledger()).filter(({ logged }) => logged !== undefined)).toEqual([]);
  expect(saga.definition.hash).toBe(onLedger.definition.hash);
});

test("a fork copies no line: a host that knows of none would copy other bytes", async () => {
  const mesh = testMesh(defineApp({ sagas: [onLedger] }));
  await mesh.start(onLedger, null, { id: "l1" });
  const fork = await mesh.fork(onLedger, "l1", { from: 1, id: "l2" });
  expect((await fork.ledger())[0]?.logged).toBeUndefined();
});

test("however much a machine logs, its turn keeps so many characters, and says how many lines found no room", () => {
  const shown = Array.from({ length: 500 }, (_, n) => ({
    kind: "log" as const,
    value: `${n} ${"x".repeat(n * 9)}`,
  }));
  const kept = loggedOf("ledger", { shown }) ?? [];
  const characters = kept.reduce((sum, line) => sum + line.length, 0);
  expect(characters).toBeLessThanOrEqual(limits.loggedCharactersMax + 50);
  expect(characters).toBeGreaterThan(limits.loggedCharactersMax / 2);
  expect(kept.at(-1)).toBe(`… and ${500 - (kept.length - 1)} more, in the host's log`);
  const [long = ""] = loggedOf("ledger", { shown: [{ kind: "log", value: "y".repeat(1e5) }] }) ?? [];
  expect(long).toHaveLength(limits.loggedLineCharactersMax);
});
