/**
 * Goal: a tree of sagas never uses more than its pool, however it is shared, whoever dies and whatever comes late; and
 * what a child gets is fair. Method: given, when, then for single shares; a random walk over whole trees, held against
 * the account of an outside that is paid for everything that began.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { availableOf, reservedOf } from "../../../actors/kernel/budget.ts";
import type { Definition } from "../../../actors/contract/definition.ts";
import { shareOf } from "../../../actors/kernel/slices.ts";
import { usedOf } from "../../../actors/kernel/spending.ts";
import { amountNames, type Amounts, type TreePlace } from "../../../protocol/budget.ts";
import type { Event } from "../../../protocol/event.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import {
  given,
  type Happening,
  replied,
  started,
  type Story,
  succeeded,
} from "../../../services/testing/given.ts";
import { type Act, createTree } from "../../support/tree-of-sagas.ts";
import { agentOf, call, finish, hold, look } from "../../support/workbench.ts";
import type { AgentBudget } from "../../../actors/contract/budget-config.ts";

const seed = 20261121;
const begun = started({ of: "x" });
const leafOf = (budget: AgentBudget = {}, name = "leaf") => agentOf({ name, budget, tools: [look, hold] });
const rootOf = (budget: AgentBudget, ...children: ReturnType<typeof leafOf>[]) =>
  agentOf({ name: "root", budget, agents: children });
const slices = (story: Story): (Amounts | undefined)[] =>
  story.intents.flatMap((intent) => (intent.kind === "saga" ? [intent.budget] : []));
const opening = (budget: AgentBudget, child: ReturnType<typeof leafOf>, count: number): Story =>
  given(rootOf(budget, child), begun).when(
    replied({ calls: Array.from({ length: count }, () => call(child.name)) }),
  );
const placed =
  (tree: Partial<TreePlace>): Happening =>
  (story) => ({
    ...(begun as (of: Story) => Event & { type: "start" })(story),
    parent: { saga: parseSagaId("above"), intent: "1-0" as never },
    tree: { root: parseSagaId("above"), depth: 1, depthMax: limits.depthMax, ...tree },
  });

describe("a slice", () => {
  test("of each child of a batch is the same, and their parent keeps as much", () => {
    const story = opening({ steps: 102, tokens: 1_000_000 }, leafOf(), 9);
    const given = slices(story);
    expect(given).toHaveLength(9);
    // 102, less the decision that was made, less the parent's last step.
    expect(given.map((slice) => slice?.steps)).toEqual(Array(9).fill(10));
    const tokens = new Set(given.map((slice) => slice?.tokens ?? 0));
    expect(Math.max(...tokens) - Math.min(...tokens)).toBeLessThanOrEqual(1);
    expect(availableOf(story.state)?.tokens).toBeGreaterThan(Math.max(...tokens));
  });

  test("of a child that declares a budget which fits is just that", () => {
    expect(slices(opening({ steps: 50 }, leafOf({ steps: 7 }), 3))).toEqual([
      { steps: 7 },
      { steps: 7 },
      { steps: 7 },
    ]);
  });

  test("of children that declare more than is left is an even share", () => {
    expect(slices(opening({ steps: 10 }, leafOf({ steps: 7 }), 3))).toEqual([
      { steps: 2 },
      { steps: 2 },
      { steps: 2 },
    ]);
  });

  test("too small for a single step is none: the call is denied", () => {
    opening({ steps: 4 }, leafOf(), 3).then(
      { kind: "saga", budget: { steps: 1 } },
      { kind: "saga", budget: { steps: 1 } },
      { kind: "denied", code: "BUDGET_EXCEEDED" },
    );
  });

  test("bounds the child, whose own budget is cut to it", () => {
    const tree = { budget: { steps: 3, tokens: 90_000 }, deadline: 5 };
    const story = given(leafOf({ steps: 9, toolCalls: 2 }), placed(tree));
    expect(story.state.budget).toMatchObject({
      limits: { steps: 3, tokens: 90_000, toolCalls: 2 },
      deadline: 5,
    });
  });

  test("comes back with the child's end, less what it used", () => {
    const story = opening({ steps: 20 }, leafOf({ steps: 5 }), 1);
    expect(availableOf(story.state)).toEqual({ steps: 14 });
    const spent = {
      steps: 2,
      inputTokens: 5,
      outputTokens: 1,
      usd: 0,
      toolCalls: 4,
      children: 0,
      unreportedTokens: 0,
    };
    const ended = story.when((now) => ({
      ...(succeeded("leaf", { answer: "1" }) as (of: Story) => Event & { type: "result" })(now),
      spent,
    }));
    // One more for the decision that follows.
    expect(availableOf(ended.state)).toEqual({ steps: 20 - 1 - 2 - 1 });
    expect(usedOf(ended.state)).toMatchObject({ steps: 4, tokens: 6, toolCalls: 4, children: 1 });
  });

  test("of a child of which nobody says what it used is used", () => {
    const story = opening({ steps: 20, tokens: 500_000 }, leafOf({ steps: 5, tokens: 60_000 }), 1);
    const ended = story.when(succeeded("leaf", { answer: "1" }));
    expect(usedOf(ended.state)).toMatchObject({ steps: 7, tokens: 60_000 });
  });

  test("grows the pool above by what was raised below", () => {
    const story = opening({ steps: 20 }, leafOf({ steps: 5 }), 1);
    const spent = {
      steps: 9,
      inputTokens: 0,
      outputTokens: 0,
      usd: 0,
      toolCalls: 0,
      children: 0,
      unreportedTokens: 0,
    };
    const ended = story.when((now) => ({
      ...(succeeded("leaf", { answer: "1" }) as (of: Story) => Event & { type: "result" })(now),
      spent: { ...spent, raised: { steps: 6, tokens: 3 } },
    }));
    expect(ended.state.budget).toMatchObject({ limits: { steps: 26 }, raised: { steps: 6 } });
    expect(availableOf(ended.state)).toEqual({ steps: 26 - 1 - 9 - 1 });
  });
});

describe("a tree", () => {
  test("deeper than is allowed is denied", () => {
    const story = given(rootOf({}, leafOf()), placed({ depth: 8 })).when(replied({ calls: [call("leaf")] }));
    story.then({ kind: "denied", code: "DEPTH_EXCEEDED" }, { kind: "model" });
  });

  test("ends where an agent above says", () => {
    given(rootOf({}, leafOf()), placed({ depth: 2, depthMax: 2 }))
      .when(replied({ calls: [call("leaf")] }))
      .then({ kind: "denied", code: "DEPTH_EXCEEDED" }, { kind: "model" });
    given(rootOf({ depthMax: 0 }, leafOf()), begun)
      .when(replied({ calls: [call("leaf")] }))
      .then({ kind: "denied", code: "DEPTH_EXCEEDED" }, { kind: "model" });
  });

  test("broader than is allowed is denied, until a child has ended", () => {
    const story = opening({}, leafOf(), limits.childrenOpenMax + 1);
    expect(story.intents.filter(({ kind }) => kind === "saga")).toHaveLength(limits.childrenOpenMax);
    expect(story.intents.at(-1)).toMatchObject({ kind: "denied", code: "BREADTH_EXCEEDED" });
    opening({ childrenOpenMax: 1 }, leafOf(), 2)
      .then({ kind: "saga" }, { kind: "denied", code: "BREADTH_EXCEEDED" })
      .when(succeeded("leaf", { answer: "1" }))
      .when(replied({ calls: [call("leaf")] }))
      .then({ kind: "saga" });
  });

  test("counts its children, those of children too", () => {
    const story = opening({ children: 5 }, leafOf(), 2);
    expect(slices(story)).toEqual([{ children: 1 }, { children: 1 }]);
    opening({ children: 1 }, leafOf(), 2).then(
      { kind: "saga", budget: { children: 0 } },
      {
        kind: "denied",
        code: "BUDGET_EXCEEDED",
        reason:
          "another child reserves 1 of children, and 0 of 1 are left in the pool of this saga and those below it",
      },
    );
  });

  test("that does not fit names what was asked, what is left of which pool, and what its parent keeps", () => {
    const pool = "are left in the pool of this saga and those below it";
    opening({ steps: 2 }, leafOf({ steps: 7 }), 1).then(
      {
        kind: "denied",
        code: "BUDGET_EXCEEDED",
        reason: `a child reserves up to 7 of steps, and 1 of 2 ${pool}; 1 is kept for the last step of this saga`,
      },
      { kind: "model" },
    );
    const usage = { inputTokens: 39_000, outputTokens: 500 };
    const story = given(rootOf({ tokens: 40_000 }, leafOf()), begun).when(
      replied({ calls: [call("leaf"), call("leaf")], usage }),
    );
    const reasons = story.intents.flatMap((intent) =>
      intent.kind === "denied" && intent.name === "leaf" ? [intent.reason] : [],
    );
    expect(reasons).toEqual([
      expect.stringMatching(
        /^a child reserves a share of tokens, and 500 of 40000 are left in the pool .*; \d+ is kept for the last step of this saga; 2 children share what remains$/,
      ),
      expect.stringMatching(/^a child reserves a share of tokens, .* of this saga$/),
    ]);
  });
});

test("shares of a batch never add up to more than is free, whatever is declared", () => {
  const declared = fc.array(fc.option(fc.nat(500), { nil: undefined }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(fc.nat(2_000), declared, (free, all) => {
      let left = free;
      for (let k = 0; k < all.length; k++) {
        const share = Math.floor(shareOf(left, all.slice(k)));
        expect(share).toBeLessThanOrEqual(all[k] ?? free);
        left -= share;
        expect(left).toBeGreaterThanOrEqual(0);
      }
      const named = all.reduce<number>((sum, one) => sum + (one ?? 0), 0);
      if (all.every((one) => one !== undefined) && named <= free) expect(left).toBe(free - named);
    }),
    { seed },
  );
});

/** Agents that open agents, three levels deep. */
function treeOf(budgets: readonly AgentBudget[]): Definition {
  const [top = {}, middle = {}, bottom = {}] = budgets;
  const outputTokensMax = 300;
  const leaf = agentOf({ name: "leaf", budget: bottom, tools: [look, hold], outputTokensMax });
  const mid = agentOf({ name: "mid", outputTokensMax, budget: middle, agents: [leaf], tools: [look, hold] });
  return agentOf({ name: "root", outputTokensMax, budget: top, agents: [mid, leaf], tools: [look, hold] })
    .definition;
}

const answers = (definition: Definition, how: number) => {
  const named = [...definition.sagas.keys()];
  const children = Array.from({ length: how % 6 }, (_, k) =>
    call(named[k % named.length] ?? "look", { of: `${how}` }),
  );
  switch (how % 11) {
    case 0:
      return finish;
    case 1:
      return { text: "hm" };
    case 2:
      return { calls: [call("look", { of: `${how}` }), call("hold", { of: `${how}` })] };
    default:
      return { calls: [...children, call("look", { of: `${how}` })] };
  }
};

const act = fc.record({
  kind: fc.constantFrom<Act>(
    ...(["reply", "reply", "reply", "reply", "reply", "tool", "tool", "late", "fail"] as const),
    ...(["takeover", "signal", "raise", "cancel"] as const),
  ),
  which: fc.nat(50),
  how: fc.nat(1_000),
});
interface Move {
  readonly kind: Act;
  readonly which: number;
  readonly how: number;
}
const amounts = fc.record(
  {
    steps: fc.integer({ min: 10, max: 200 }),
    tokens: fc.integer({ min: 60_000, max: 250_000 }),
    usd: fc.double({ min: 0.2, max: 0.9, noNaN: true }),
    toolCalls: fc.integer({ min: 4, max: 40 }),
    children: fc.integer({ min: 3, max: 40 }),
    childrenOpenMax: fc.integer({ min: 1, max: 4 }),
    childrenInLineMax: fc.integer({ min: 1, max: 20 }),
  },
  { requiredKeys: [] },
);

test("a tree that is walked at random never costs the outside more than its pool", () => {
  const prices = { scripted: { inputPerMillion: 3, outputPerMillion: 15 } };
  let opened = 0;
  let tookOver = 0;
  fc.assert(
    fc.property(
      fc.tuple(amounts, fc.option(amounts, { nil: {} }), fc.option(amounts, { nil: {} })),
      fc.array(act, { minLength: 30, maxLength: 60 }),
      (budgets, moves) => {
        const check: Parameters<typeof createTree>[0]["check"] = ({ state }) => {
          if (state.budget === undefined) return;
          const [used, reserved] = [usedOf(state), reservedOf(state)];
          for (const name of amountNames) {
            const limit = state.budget.limits[name] ?? Infinity;
            expect(used[name] + reserved[name], `${name} of ${state.saga}`).toBeLessThanOrEqual(limit + 1e-9);
          }
        };
        const tree = createTree({ root: treeOf(budgets), prices, answer: answers, check });
        const root = () => tree.sagas.get(parseSagaId("root"))?.state.budget?.limits ?? {};
        const move = ({ kind, which, how }: Move) => {
          const acted = tree.act(kind, which, how);
          if (acted && kind === "takeover") tookOver += 1;
          // What was raised below and has not come up yet is new to the pool as well.
          const below = [...tree.sagas.values()].filter(
            ({ state }) => state.parent !== undefined && state.phase.kind !== "ended",
          );
          for (const name of amountNames) {
            const pool = root()[name];
            const more = below.reduce((sum, { state }) => sum + (state.budget?.raised?.[name] ?? 0), 0);
            if (pool !== undefined)
              expect(tree.billed[name], `${name} after ${kind}`).toBeLessThanOrEqual(pool + more + 1e-6);
          }
          return acted;
        };
        moves.forEach(move);
        // Whatever is left of the pool is used up.
        for (let k = 0; k < 60; k++)
          if (!move({ kind: "reply", which: k, how: 12 }) && !move({ kind: "tool", which: k, how: 2 })) break;
        opened += tree.sagas.size - 1;
      },
    ),
    { seed, numRuns: 100, endOnFailure: true },
  );
  // The walk goes where it is to go.
  expect(opened).toBeGreaterThan(300);
  expect(tookOver).toBeGreaterThan(150);
}, 120_000);
