/**
 * Goal: what the console tells by an application is what the command line tells by it: the sides of a state and a workflow's plan at
 * any turn, and what a model was sent, with the digest that proves it. Without one it says how it gets one.
 * Method: ledgers that the examples left behind, cut after every turn; the state of turns at hand beside what is told.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, defineApp } from "sagamesh";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { dimensions } from "../../../protocol/documents/state.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import type { App } from "../../../services/app/app.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { createStateTeller } from "../../../services/console/state.ts";
import { atOnce } from "../../../services/wire/loop.ts";
import outingApp, { outing } from "../../apps/outing.ts";
import { stateOf } from "../../support/state-of.ts";
import { failedOffsite, toldLedgers } from "../../support/told-ledgers.ts";

const told = await toldLedgers();

/** What tells of one ledger at hand. */
function tellerOf(turns: readonly Turn[], app: App | undefined) {
  const ledger = async (_: SagaId, turn = turns.length) => ({
    ...{ turns: turns.slice(0, turn), of: turns.length, viewing: {} },
  });
  return createStateTeller({ turns: ledger }, app, undefined);
}
const sagaOf = (turns: readonly Turn[]) => turns[0]!.saga;

describe.each(Object.entries(told))("of %s", (_, { app, turns }) => {
  test("each side is at any turn what the ledger up to it folds to", async () => {
    const teller = tellerOf(turns, app);
    for (const turn of new Set([1, Math.ceil(turns.length / 2), turns.length]))
      for (const dimension of dimensions)
        expect(await teller.side(sagaOf(turns), dimension, turn), `${dimension} at ${turn}`).toEqual({
          state: atOnce(stateOf(app, turns.slice(0, turn), dimension, turns.length)),
          leftOut: 0,
        });
  });

  test("each request to a model is made again, and its digest is the recorded one", async () => {
    const teller = tellerOf(turns, app);
    for (const { steps } of turns)
      for (const { intents } of steps)
        for (const intent of intents) {
          const asked = "id" in intent ? teller.prompt(sagaOf(turns), intent.id, false) : undefined;
          if (intent.kind === "model")
            expect(await asked).toMatchObject({
              ...{ intent: intent.id, proved: true },
              digest: { recorded: intent.request, recomputed: intent.request },
            });
          else
            await asked?.then(
              () => expect.unreachable(),
              (error: unknown) => expect(error).toMatchObject({ code: "INTENT_UNKNOWN" }),
            );
        }
  });

  test("without an application nothing of it is told but how to name one", async () => {
    const teller = tellerOf(turns, undefined);
    const saga = sagaOf(turns);
    for (const asked of [
      teller.side(saga, "application"),
      teller.plan(saga),
      teller.prompt(saga, "1-0", false),
    ])
      await expect(asked).rejects.toMatchObject({
        code: "VERSION_UNSERVED",
        remedy: expect.stringContaining("--app") as string,
      });
  });
});

test("a side that there is not is refused with those there are", async () => {
  const { app, turns } = await failedOffsite();
  await expect(tellerOf(turns, app).side(sagaOf(turns), "memory")).rejects.toMatchObject({ code: "USAGE" });
});

describe("the plan of a workflow", () => {
  test("shows at any turn how each node stands, what ran for it, and its edges", async () => {
    const { app, turns } = await failedOffsite();
    const teller = tellerOf(turns, app);
    const seen = new Set<string>();
    for (let turn = 1; turn <= turns.length; turn++) {
      const plan = await teller.plan(sagaOf(turns), turn);
      const { state } = await teller.side(sagaOf(turns), "dependency", turn);
      if (state.dimension !== "dependency") throw new Error("it is the side that was asked for");
      expect(plan.nodes.map(({ node, status }) => [node, status])).toEqual(
        state.nodes.map(({ node, status }) => [node, status]),
      );
      for (const { status } of plan.nodes) seen.add(status);
      expect(plan.edges.map(({ from, to }) => `${from} ${to}`)).toEqual(["flight hall", "rooms hall"]);
      expect(overlapping(plan.nodes)).toEqual([]);
    }
    expect([...seen]).toEqual(expect.arrayContaining(["waiting", "running", "committed", "undone"]));
    const last = await teller.plan(sagaOf(turns));
    expect(
      last.nodes.map(({ node, runs }) => [
        node,
        runs.map(({ outcome, recovery }) => `${outcome} ${recovery}`),
      ]),
    ).toEqual([
      ["flight", ["succeeded undone"]],
      ["rooms", ["succeeded undone"]],
      ["hall", ["failed none"]],
    ]);
  });

  test("tells who judged what and why, and keeps what was said of a run that fell", async () => {
    await using t = testMesh(outingApp);
    for (const [id, cents] of [
      ["dear-1", 9_000],
      ["fair-1", 900],
    ] as const)
      await (await t.start(outing, { cents, forMs: 0 }, { id })).result();
    const planOf = async (id: string) => {
      const turns = await t.anySaga(id).ledger();
      return tellerOf(turns, outingApp).plan(sagaOf(turns));
    };
    const [dear, fair] = [await planOf("dear-1"), await planOf("fair-1")];
    expect(dear.verdicts).toMatchObject([
      { validator: "price", verdict: "reject", reason: expect.stringContaining("too dear") as string },
    ]);
    expect(dear.nodes.find(({ node }) => node === "meal")).toMatchObject({
      verdicts: [{ validator: "price", stage: "output", verdict: "reject", by: "code" }],
      lines: expect.arrayContaining(["price: reject"]) as string[],
    });
    expect(fair.verdicts).toMatchObject([{ validator: "price", verdict: "accept" }]);
    expect(fair.nodes.map(({ status }) => status)).toEqual(["committed", "committed", "committed"]);
  });

  test("of a saga that is none has no nodes", async () => {
    const { app, turns } = told["denied purchase"]!;
    expect((await tellerOf(turns, app).plan(sagaOf(turns))).nodes).toEqual([]);
  });
});

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
const overlapping = (boxes: readonly (Box & { readonly node: string })[]): string[] =>
  boxes.flatMap((one, k) =>
    boxes
      .slice(k + 1)
      .filter(
        (other) =>
          Math.abs(one.x - other.x) * 2 < one.width + other.width &&
          Math.abs(one.y - other.y) * 2 < one.height + other.height,
      )
      .map((other) => `${one.node} on ${other.node}`),
  );

test("a long request is folded where it is shown, and whole where all of it is asked for", async () => {
  const instructions = "Read this. ".repeat(4_000);
  const agent = defineAgent({
    ...{
      name: "reader",
      version: 1,
      description: "Reads.",
      model: "m",
      instructions,
      signals: {},
      tools: [],
    },
    ...{ input: z.string(), output: z.json() },
  });
  const model = scriptedModel("m", () => ({ calls: [{ tool: "finish", input: { output: "done" } }] }));
  const app = defineApp({ sagas: [agent], models: { m: model } });
  await using t = testMesh(app);
  await (await t.start(agent, "x", { id: "reader-1" })).result();
  const turns = await t.anySaga("reader-1").ledger();
  const asked = turns
    .flatMap(({ steps }) => steps.flatMap(({ intents }) => intents))
    .find(({ kind }) => kind === "model");
  const id = asked?.kind === "model" ? asked.id : "";
  const teller = tellerOf(turns, app);
  const whole = (await teller.prompt(sagaOf(turns), id, true)).request as unknown as ModelRequest;
  const shown = (await teller.prompt(sagaOf(turns), id, false)).request as unknown as ModelRequest;
  expect(whole.instructions).toContain(instructions);
  expect(shown.instructions.length).toBeLessThan(whole.instructions.length);
  expect(shown.instructions).toContain("more characters");
});
