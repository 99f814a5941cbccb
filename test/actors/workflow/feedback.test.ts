/**
 * Goal: what a judge wants known is told to the next planning, whoever plans, and to none after a plan was taken.
 * Method: random answers, refusals and failures in a workflow whose every output is judged, on the real kernel, each turn
 * folded twice; an account beside it of what was said and of what each planning was told.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "sagamesh";
import { defineWorkflow, type NodeConfig } from "sagamesh/workflow";
import { defineValidator } from "sagamesh/validators";
import { failed, given, signalled, started, type Story, succeeded } from "../../../services/testing/given.ts";
import type { WorkflowContext } from "../../../actors/workflow/spec.ts";
import type { Event } from "../../../protocol/event.ts";
import type { Intent } from "../../../protocol/intent.ts";

const tool = (name: string, effect: "read" | "idempotent" = "idempotent") =>
  defineTool({
    ...{ name, description: "Does.", effect, input: z.json(), output: z.json() },
    retry: { attemptsMax: 1, backoffMs: 1 },
    ...(effect === "read" || name === "drop"
      ? {}
      : { compensation: { tool: drop, input: ({ key }: { key: string }) => ({ key }) } }),
  });
const drop = defineTool({
  ...{ name: "drop", description: "Undoes.", effect: "idempotent", input: z.json(), output: z.json() },
  retry: { attemptsMax: 1, backoffMs: 1 },
});
const planner = tool("planner", "read");
const judging = defineValidator({ name: "judging", check: "elsewhere" });
const names = ["a", "b", "c"];

const flowOf = (hasPlanner: boolean) =>
  defineWorkflow({
    ...{ name: "flow", version: 1, input: z.json(), onFailure: "replan", replansMax: 6 },
    validators: { output: [judging], ...(hasPlanner ? { plan: [judging] } : {}) },
    ...(hasPlanner ? { replanner: planner } : {}),
    openForMs: 1_000_000,
    nodes: Object.fromEntries(
      names.map((name, k): [string, NodeConfig] => [
        name,
        {
          run: tool(name),
          after: k === 2 ? ["a"] : [],
          input: ({ feedback }) => ({ told: feedback.map(({ reason }) => reason) }),
        },
      ]),
    ),
  });

interface Account {
  story: Story;
  /** Said, and told to no planning after which a plan was taken. */
  pending: string[];
  said: number;
  /** What the planner that was asked last was told. */
  asked: string[];
  /** What the planner was told whose plan is being judged: another may be asked meanwhile. */
  judged: string[];
  plannings: number;
}

type Called = Extract<Intent, { kind: "tool" | "saga" }>;
const openOf = ({ state, open }: Story): Called[] =>
  state.phase.kind !== "running"
    ? []
    : open
        .map((id) => state.open[id]!.intent)
        .filter((one): one is Called => one.kind === "tool" || one.kind === "saga");

const resultOf = (intent: Called, output: unknown, fails: boolean): Event => ({
  ...{ type: "result", intent: intent.id, attempt: 1, by: "test" },
  result: fails
    ? { outcome: "failed", code: "FULL", reason: "full", retry: false }
    : { outcome: "succeeded", output: output as never },
});
const verdictOf = (more: object) => ({
  ...{ validator: "judging", by: "code", shown: { digest: "d", tokens: 1 }, judged: "j", ...more },
});

const contextOf = ({ state }: Story) => state.snapshot.context as WorkflowContext;

/** The next turn, held against the account: what it begins is told what is pending, and nothing else. */
function take(account: Account, event: Event | ReturnType<typeof signalled>, hasPlanner: boolean): void {
  const before = contextOf(account.story);
  const next = account.story.when(event);
  account.story = next;
  const [after, begun] = [contextOf(next), next.turns.at(-1)!.steps.flatMap(({ intents }) => intents)];
  const isTaken =
    before.judging?.patch !== undefined && after.judging === undefined && after.patch !== before.patch;
  if (isTaken) account.pending = account.pending.filter((one) => !account.judged.includes(one));
  let isRetried = false;
  for (const intent of begun) {
    if (intent.kind !== "tool" || intent.undoes !== undefined) continue;
    if (intent.name === "planner") {
      const input = intent.input as { feedback?: { reason: string }[] };
      account.asked = (input.feedback ?? []).map(({ reason }) => reason);
      account.plannings += 1;
      expect(account.asked).toEqual(account.pending);
    } else if (names.includes(intent.name)) {
      const { told } = intent.input as { told: string[] };
      const was = before.nodes[intent.name]!;
      // One that was to be done again before, and waited, was told of what was pending then.
      if (hasPlanner || was.tries === 0) expect(told).toEqual([]);
      else if (was.status === "waiting") expect(told).toEqual(was.told?.map(({ reason }) => reason) ?? []);
      else {
        expect(told).toEqual(account.pending);
        isRetried = true;
      }
    }
  }
  if (isRetried) account.plannings += 1;
  if (isRetried) account.pending = [];
  const known = Object.values(after.feedback ?? {}).map(({ reason }) => reason);
  if (next.state.phase.kind === "running") expect(known).toEqual(account.pending);
}

/** One answer to one of what is open. */
function step(account: Account, choice: number, hasPlanner: boolean): void {
  const open = openOf(account.story);
  const kind = Math.floor(choice / 16) % 8;
  if (kind === 0 && account.story.state.phase.kind === "running")
    return take(account, signalled("invalidate", { node: names[choice % 3]!, reason: "gone" }), hasPlanner);
  const intent = open[choice % Math.max(1, open.length)];
  if (intent === undefined) return;
  if (intent.kind === "saga") {
    if (kind > 4) return take(account, resultOf(intent, verdictOf({ verdict: "accept" }), false), hasPlanner);
    if (kind === 4)
      return take(
        account,
        resultOf(intent, verdictOf({ verdict: "reject", reason: "no" }), false),
        hasPlanner,
      );
    const reason = `say ${++account.said}`;
    // A judge that was called off, for what it judged fell meanwhile, is heard no more.
    const { nodes, judging } = contextOf(account.story);
    const judgements = [judging, ...Object.values(nodes).map((node) => node.judging)];
    const isWanted = judgements.some((one) => Object.hasOwn(one?.waits ?? {}, intent.call ?? ""));
    if (isWanted) account.pending = [...account.pending, reason];
    return take(account, resultOf(intent, verdictOf({ verdict: "feedback", reason }), false), hasPlanner);
  }
  if (intent.name === "planner") {
    account.judged = account.asked;
    const patch = { nodes: kind > 5 ? [{ name: "a", run: "nothing of ours" }] : [] };
    return take(account, resultOf(intent, patch, false), hasPlanner);
  }
  take(account, resultOf(intent, {}, intent.name !== "drop" && kind === 1), hasPlanner);
}

describe("what a judge wants known", () => {
  test.each([
    ["whoever is asked what to do instead", true],
    ["the nodes that are done again, where nobody is asked", false],
  ])("is told to the next planning alone: to %s", (_, hasPlanner) => {
    let [plannings, told] = [0, 0];
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { minLength: 10, maxLength: 60 }), (choices) => {
        const story = given(flowOf(hasPlanner), started({}));
        const account: Account = { story, pending: [], said: 0, asked: [], judged: [], plannings: 0 };
        for (const choice of choices) step(account, choice, hasPlanner);
        plannings += account.plannings;
        told += account.said;
      }),
      { numRuns: 20 },
    );
    expect(plannings).toBeGreaterThan(2);
    expect(told).toBeGreaterThan(2);
  });

  test("is told to each planning as it was in a saga of a former version", () => {
    const { name, version, hash } = flowOf(true).definition;
    const begun: Event = { type: "start", definition: { name, version, hash }, input: {} };
    const yes = succeeded("judging", verdictOf({ verdict: "accept" }));
    const fails = (name: string) => failed(name, { code: "FULL", retry: false });
    const asked = given(flowOf(true), begun, yes, succeeded("a", {}))
      .when(succeeded("judging", verdictOf({ verdict: "feedback", reason: "later is cheaper" })))
      .when(fails("b"));
    const told = { feedback: [{ from: "a/judging", node: "a", reason: "later is cheaper" }] };
    asked.then({ kind: "tool", name: "planner", input: told });
    asked
      .when(succeeded("planner", { nodes: [] }))
      .when(yes)
      .when(fails("b"))
      .then({ kind: "tool", name: "planner", input: told });
  });

  test("reaches a node that is done again, the first time alone", () => {
    const yes = { verdict: "accept" };
    const judged = (more: object) => succeeded("judging", verdictOf(more));
    const fails = failed("c", { code: "FULL", retry: false });
    const story = given(flowOf(false), started({}), succeeded("a", {}))
      .when(judged({ verdict: "feedback", reason: "later is cheaper" }))
      .when(fails);
    story.then({ kind: "tool", name: "c", input: { told: ["later is cheaper"] } });
    story.when(fails).then({ kind: "tool", name: "c", input: { told: [] } });
    story.when(succeeded("c", {})).when(judged(yes)).thenNothing();
  });
});
