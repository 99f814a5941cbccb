/**
 * Goal: a validator sees what it declares and nothing else, and what its model is shown is measured, bounded and
 * refused before a token is spent.
 * Method: selections as pure functions; the three worked contexts of the data, whose sizes are known; validators on a
 * mesh in memory, with a model that tells what it was sent.
 */
import { describe, expect, test } from "vitest";
import { defineApp } from "sagamesh";
import { defineValidator, mutualAgreement, modelJudge, semanticValidity } from "sagamesh/validators";
import type { ModelRequest } from "../../../protocol/model.ts";
import type { Json } from "../../../protocol/json.ts";
import { scriptedModel, testMesh } from "../../../services/testing/index.ts";
import { picked, replacedAt } from "../../../actors/values/pick.ts";
import { selected, shownText, textTokens, unionOf } from "../../../actors/validators/context.ts";
import cases from "./cases.json" with { type: "json" };

const material = {
  item: {
    legs: [
      { from: "B", to: "G", secret: 1 },
      { from: "G", to: "W", secret: 2 },
    ],
    price: 3,
  },
  input: { budget: 5000, passengers: ["Ada"] },
  outputs: { flight: { price: 900, ref: "F1" }, hotel: { price: 400 } },
  pinned: { goals: "home by 18:00", constraints: ["TKS-HOME"], commitments: ["F1"] },
  log: [
    { node: "flight", at: 1 },
    { node: "hotel", at: 2 },
    { node: "flight", at: 3 },
  ],
  shared: { at_home: [[780, 840]], other: 1 },
  conversation: [
    { role: "assistant", text: "I will cheat." },
    { role: "user", text: "Do." },
  ],
};

describe("what a validator is shown", () => {
  test("is the item alone unless it declares more", () => {
    expect(selected(material, {})).toEqual({ item: material.item });
  });

  test("never holds the conversation unless that is declared, and then only its last messages", () => {
    const everything = {
      input: true,
      outputs: true,
      log: {},
      pinned: ["goals"],
      shared: ["at_home"],
    } as const;
    expect(shownText(selected(material, everything))).not.toContain("cheat");
    expect(selected(material, { conversation: { last: 1 } }).conversation).toEqual([
      { role: "user", text: "Do." },
    ]);
  });

  test("holds of each part what is named, in its own shape", () => {
    expect(
      selected(material, {
        item: ["/legs/*/to"],
        input: ["/budget"],
        outputs: { flight: ["/price"] },
        pinned: ["constraints", "dependencies"],
        log: { of: ["flight"], last: 1 },
        shared: ["at_home", "nobody"],
      }),
    ).toEqual({
      item: { legs: [{ to: "G" }, { to: "W" }] },
      input: { budget: 5000 },
      outputs: { flight: { price: 900 } },
      pinned: { constraints: ["TKS-HOME"] },
      log: [{ node: "flight", at: 3 }],
      shared: { at_home: [[780, 840]] },
    });
  });

  test("of several together holds what each of them is shown", () => {
    const some = [
      { item: ["/price"], log: { of: ["flight"], last: 1 }, outputs: { flight: ["/price"] } },
      { item: ["/legs/0"], log: { of: ["hotel"], last: 1 }, outputs: { flight: ["/ref"], hotel: true } },
    ] as const;
    const both = selected(material, unionOf(some));
    for (const one of some) expect(selected(both, one)).toEqual(selected(material, one));
    expect(selected(material, unionOf([...some, {}])).item).toEqual(material.item);
  });
});

test("a place is picked and replaced by its pointer, and one that is not there is neither", () => {
  expect(picked({ "a/b": [1, { "~": 2 }] }, ["/a~1b/1/~0"])).toEqual({ "a/b": [{ "~": 2 }] });
  expect(picked({ a: 1 }, ["/b"])).toEqual({});
  expect(replacedAt({ a: [1, { b: 2 }] }, "/a/1/b", 3)).toEqual({ a: [1, { b: 3 }] });
  expect(replacedAt({ a: [1] }, "/a/1", 3)).toBeUndefined();
  expect(replacedAt({ a: 1 }, "/b", 3)).toBeUndefined();
});

const guidance = "The schedule must keep every rule of its context.";
const asked: ModelRequest[] = [];
const approver = scriptedModel("judge", (request) => {
  asked.push(request);
  return { text: '{"verdict":"accept"}' };
});
const judged = async (
  validator: ReturnType<typeof defineValidator>,
  of: Parameters<typeof validator.given>[0],
) => {
  asked.length = 0;
  await using mesh = testMesh(defineApp({ sagas: [validator], models: { judge: approver } }));
  const saga = await mesh.start(validator, validator.given(of));
  const end = await saga.result();
  if (end.status !== "completed") throw new Error(`it ended ${end.status}`);
  return { verdict: end.output, ledger: await saga.ledger() };
};

describe("the worked contexts", () => {
  const model = { model: "judge", guidance };

  test.each(cases.contexts)(
    "$id: $tokens tokens as written, and its verdict records no more",
    async (one) => {
      const written = JSON.stringify(one.context, null, 1)
        .replaceAll(/\n\s*/g, " ")
        .replaceAll(/([[{]) | ([\]}])/g, "$1$2");
      expect(textTokens(written)).toBe(one.tokens);
      const validator = defineValidator({ name: one.id, context: { input: true }, model });
      const { verdict } = await judged(validator, {
        item: "the schedule",
        input: one.context as unknown as Json,
      });
      const { around } = validator.traits;
      expect(verdict.shown.tokens).toBeGreaterThan(around + one.tokens * 0.9);
      expect(verdict.shown.tokens).toBeLessThan(around + one.tokens + 20);
      expect(verdict.shown).toMatchObject({ tokensMax: 1_000 });
      expect(verdict.shown.tokens).toBeLessThan(1_000);
      // What was measured is what was sent: instructions and message, to the byte.
      const [request] = asked;
      const sent = [
        request?.instructions ?? "",
        ...(request?.messages ?? []).flatMap((message) =>
          message.role === "user" ? message.parts.map((part) => (part.type === "text" ? part.text : "")) : [],
        ),
      ];
      expect(
        Math.abs(sent.reduce((sum, text) => sum + textTokens(text), 0) - verdict.shown.tokens),
      ).toBeLessThanOrEqual(1);
    },
  );
});

describe("the guidance that comes with sagamesh", () => {
  test("leaves room beside it for the largest worked context, every answer allowed", () => {
    const largest = Math.max(...cases.contexts.map(({ tokens }) => tokens));
    for (const type of ["semantic", "reasoning", "factual", "mutual_agreement"] as const) {
      const model = modelJudge(type, "judge", { may: ["augment", "feedback"] });
      const { traits, definition } = defineValidator({ name: type, type, model });
      expect(definition.faults).toEqual([]);
      expect(traits.around + largest, type).toBeLessThan(800);
    }
  });

  test("is asked for what the code of a built-in validator leaves open, and for nothing else", async () => {
    const meant = semanticValidity({ rules: [], model: modelJudge("semantic", "judge") });
    expect((await judged(meant, { item: 1 })).verdict).toMatchObject({ by: "code" });
    const agree = mutualAgreement({
      claims: () => [],
      needs: ["dinner"],
      model: modelJudge("mutual_agreement", "judge", { more: "Dinner is at one time." }),
    });
    expect((await judged(agree, { item: "dinner as usual" })).verdict).toMatchObject({
      by: "model",
      verdict: "accept",
    });
    expect(asked[0]?.instructions).toContain("name both values.\nDinner is at one time.");
  });
});

describe("a context over the limit", () => {
  const long = { item: "x".repeat(4_000), input: { short: "y" } };
  const model = { model: "judge", guidance };

  test("is refused with a code before its model is asked", async () => {
    const { verdict, ledger } = await judged(defineValidator({ name: "long", model }), long);
    expect(verdict).toMatchObject({ verdict: "undecided", code: "CONTEXT_TOO_LARGE", by: "nobody" });
    expect(verdict.shown.tokens).toBeGreaterThan(1_000);
    expect(asked).toEqual([]);
    expect(
      ledger.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents)).map(({ kind }) => kind),
    ).toEqual(["end"]);
  });

  test("is not shown where a smaller selection fits: the verdict says which it was", async () => {
    const context = [{}, { item: [], input: ["/short"] }, { item: [] }];
    const { verdict } = await judged(defineValidator({ name: "less", context, model }), long);
    expect(verdict).toMatchObject({ verdict: "accept", by: "model", shown: { selection: 1 } });
    expect(JSON.stringify(asked)).not.toContain("xxxx");
  });

  test("does not keep code from judging it", async () => {
    const check = () => ({ verdict: "accept" }) as const;
    const { verdict } = await judged(defineValidator({ name: "coded", check, model }), long);
    expect(verdict).toMatchObject({ verdict: "accept", by: "code" });
  });

  test("is counted in bytes of text, so that no script is cheaper than it is", () => {
    expect(textTokens("日".repeat(7))).toBe(6);
    expect(textTokens("a".repeat(7))).toBe(2);
  });

  test("can be declared no larger than 1,000, and guidance that fills it is a fault at load", () => {
    const faults = (more: object) => defineValidator({ name: "v", model, ...more }).definition.faults;
    expect(faults({})).toEqual([]);
    expect(faults({ tokensMax: 1_001 })).toEqual([expect.stringContaining("tokensMax is 1001")]);
    expect(faults({ model: { model: "judge", guidance: "g".repeat(4_000) } })).toEqual([
      expect.stringContaining("its guidance alone"),
    ]);
    expect(faults({ context: { item: ["legs"] } })).toEqual([expect.stringContaining("no JSON pointer")]);
    expect(faults({ context: [] })).toEqual([expect.stringContaining("no selection")]);
    expect(defineValidator({ name: "v" }).definition.faults).toEqual([
      expect.stringContaining("a check or a model"),
    ]);
  });
});
