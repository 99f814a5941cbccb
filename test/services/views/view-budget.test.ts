/**
 * Goal: a ledger tells what its saga may use, has used and has reserved, without its definition as with it, and in
 * words a person reads. Method: the views of stories, once by what was registered and once by the fold.
 */
import { expect, test } from "vitest";
import type { SagaDefinition } from "../../../actors/contract/definition.ts";
import type { InspectDocument } from "../../../protocol/documents/inspect.ts";
import { SagaRow } from "../../../protocol/documents/saga.ts";
import type { Event } from "../../../protocol/event.ts";
import { briefUse, spendingLines } from "../../../services/cli/telling/spending.ts";
import { usedBy } from "../../../services/views/saga-row.ts";
import { type SagaView, viewOf } from "../../../services/views/view.ts";
import {
  given,
  type Given,
  type Happening,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, look } from "../../support/workbench.ts";
import type { AgentBudget } from "../../../actors/contract/budget-config.ts";

const leaf = agentOf({ name: "leaf", tools: [look], budget: { steps: 3, tokens: 90_000 } });
const rootOf = (budget: AgentBudget): SagaDefinition => agentOf({ name: "root", budget, agents: [leaf] });
const usage = { inputTokens: 900, outputTokens: 100, usd: 0.5 };
const beyond = { inputTokens: 300_000, outputTokens: 100 };
const alone = (story: Story, budget: AgentBudget): SagaView =>
  viewOf(story.turns, { budgetOf: () => budget });
const folded = ({ turns, state }: Story): SagaView => viewOf(turns, { state });
const begun = started({ of: "x" });
const opened: Given = replied({ calls: [call("leaf"), call("leaf")], usage });
const leafEnded: Happening = (story) => ({
  ...(succeeded("leaf", { answer: "1" }) as (of: Story) => Event & { type: "result" })(story),
  spent: {
    ...{
      steps: 2,
      inputTokens: 40,
      outputTokens: 2,
      usd: 0.1,
      toolCalls: 1,
      children: 0,
      unreportedTokens: 7,
    },
    raised: { steps: 4 },
  },
});

test.each<[string, AgentBudget, Given[]]>([
  ["that just began", { steps: 9, tokens: 900_000 }, []],
  ["with children", { steps: 30, tokens: 900_000 }, [opened]],
  ["one of whose children has ended, and was raised", { steps: 30, tokens: 900_000 }, [opened, leafEnded]],
  [
    "that was raised",
    { steps: 9, wallClockMs: 5_000 },
    [signalled("budget", { steps: 5, wallClockMs: 60_000 })],
  ],
  [
    "that asked and was answered",
    { steps: 1, atLimit: "ask" },
    [replied({ text: "hm", usage }), voted("budget", "answer", { answer: { steps: 3 } })],
  ],
  ["that another host took over", { tokens: 900_000 }, [{ type: "adopted", anew: true }]],
  [
    "whose superseded call has told its cost",
    { tokens: 900_000 },
    [signalled("hint"), resulted("1-0", { outcome: "cancelled", code: "C", reason: "", usage }, 1)],
  ],
  [
    "whose calls cost more than was reserved",
    { tokens: 900_000 },
    [
      signalled("hint"),
      resulted("1-0", { outcome: "cancelled", code: "C", reason: "", usage: beyond }, 1),
      replied({ calls: [call("leaf")], usage: beyond }),
    ],
  ],
])("the budget of a saga %s is told alike by its ledger and by the fold", (_, budget, happenings) => {
  const story = given(rootOf(budget), begun, ...happenings);
  const [told, known] = [alone(story, budget), folded(story)];
  expect(told.spent).toEqual(known.spent);
  expect(told.below).toEqual(known.below);
  // Who took over holds the lost call's reservation as used; the ledger alone as reserved. Left is the same.
  expect(told.budget?.left).toEqual(known.budget?.left);
  expect(told.budget?.limits).toEqual(known.budget?.limits);
  expect(told.budget?.deadline).toEqual(known.budget?.deadline);
  expect(told.budget?.raised).toEqual(known.budget?.raised);
  expect(told.budget?.exceeded).toEqual(known.budget?.exceeded);
});

test("inspect says that calls cost more than was reserved for them, and how much", () => {
  const budget = { tokens: 900_000 };
  const story = given(rootOf(budget), begun, replied({ calls: [call("leaf")], usage: beyond }));
  expect(spendingLines(folded(story) as unknown as InspectDocument).at(-1)).toMatch(
    /; \d{6} tokens beyond what was reserved$/,
  );
  expect(folded(given(rootOf(budget), begun, opened)).budget).not.toHaveProperty("exceeded");
});

test("a task about the budget is answered by the signal", () => {
  const story = given(rootOf({ steps: 1, atLimit: "ask" }), begun, replied({ text: "hm" }));
  const about = (of: Story) =>
    alone(of, {}).intents.find(({ intent }) => intent.kind === "task" && intent.about === "budget");
  expect(about(story)?.outcome).toBeUndefined();
  expect(about(story.when(signalled("budget", { steps: 1 })))?.outcome).toBe("succeeded");
});

test("without a budget nothing is told of one", () => {
  const view = folded(given(rootOf({}), begun));
  expect(view).not.toHaveProperty("budget");
  expect(briefUse(usedBy(view), undefined)).toBe("");
});

test("inspect and ls tell what is used, of how much, and where a saga lies", () => {
  const budget = { steps: 30, tokens: 900_000, usd: 5 };
  const view = folded(given(rootOf(budget), begunIn, opened, leafEnded));
  const lines = spendingLines(view as unknown as InspectDocument);
  expect(lines[0]).toBe("tree     2 below top");
  expect(lines).toContain("below    2 decisions, 40 + 2 tokens, 0.1 USD, 7 tokens unreported");
  expect(lines.at(-1)).toMatch(
    /^budget {3}3 of 34 decisions \(3 reserved\); 1049 of 900000 tokens \(\d+ reserved\)/,
  );
  expect(lines.at(-1)).toMatch(/a slice of its parent's$/);
  expect(briefUse(usedBy(view), view.budget?.limits)).toBe("1049 of 900000 tokens, 0.6 of 5 USD");
  expect(SagaRow.shape.used.parse(usedBy(view))).toMatchObject({ steps: 3, children: 2 });
});

const begunIn: Happening = (story) => ({
  ...(begun as (of: Story) => Event & { type: "start" })(story),
  prices: { scripted: { inputPerMillion: 1, outputPerMillion: 1 } },
  parent: { saga: "mid", intent: "1-0" } as never,
  tree: { root: "top" as never, depth: 2, depthMax: 8, budget: { steps: 30, tokens: 900_000, usd: 5 } },
});
