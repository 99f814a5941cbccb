/**
 * Goal: that the demo's model ends its work and never charges twice, whatever the outside and the kills make
 * of its calls.
 * Method: a small loop in the place of the runtime answers the model's calls with outcomes drawn at random:
 * successes, failures, doubts, results that stay pending for a while, corrections, a signal at any time.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelMessage, ModelRequest, MessagePart } from "../../../protocol/model.ts";
import { hireForRole } from "../../../services/demo/hiring.ts";
import { answerRequest } from "../../../services/demo/model.ts";

type ResultPart = Extract<MessagePart, { type: "result" }>;
type Outcome = ResultPart["outcome"];
type Call = { readonly id: string; readonly tool: string; readonly input: any };

const outputs: Readonly<Record<string, (call: Call, random: number) => any>> = {
  search_candidates: () => ({
    candidates: Array.from({ length: 20 }, (_, index) => ({ candidateId: `c${index}`, summary: "" })),
  }),
  enrich_candidate: (_, random) => ({ profile: "", score: random }),
  request_interview: () => ({ slot: "2031-03-04T10:00:00.000Z" }),
  reserve_room: () => ({ room: "R12" }),
  charge_deposit: () => ({ chargeId: "ch_1" }),
  find_deposit: (_, random) => (random < 0.5 ? {} : { chargeId: "ch_1" }),
  create_invite: ({ input }) => ({ inviteId: `inv_${input.candidateId}` }),
};

const stepsMax = hireForRole.definition.budget.steps ?? 0;
const signal: MessagePart = {
  type: "signal",
  name: "recruiter_reply",
  data: { text: "Go." },
  at: 0,
  from: "recruiter",
};

interface Run {
  readonly calls: Call[];
  readonly finished: any;
  readonly steps: number;
}

/** Answers the model until it ends, or until the budget does. `outcomeOf` and `random` are the outside. */
function play(outcomeOf: (call: Call) => Outcome, random: () => number, early: boolean): Run {
  const messages: ModelMessage[] = [
    { role: "user", at: 0, parts: [{ type: "text", text: '{"role":"senior backend"}' }] },
  ];
  const calls: Call[] = [];
  const pending: Call[] = [];
  for (let step = 1; step <= stepsMax; step++) {
    const request = {
      saga: "s",
      step,
      now: 0,
      model: "m",
      instructions: "",
      messages,
      tools: [],
      signals: [],
    };
    const answer = answerRequest(request satisfies ModelRequest);
    const made = (answer.calls ?? []).map((call, index): Call => ({ id: `${step}.${index}`, ...call }));
    messages.push({ role: "assistant", model: "m", calls: made });
    const finish = made.find(({ tool }) => tool === "finish");
    if (finish !== undefined) return { calls, finished: finish.input.output, steps: step };
    expect(made.length).toBeGreaterThan(0);
    const parts: MessagePart[] = settle(pending.splice(0), "succeeded");
    for (const call of made) {
      calls.push(call);
      if (call.tool === "wait")
        parts.push({ type: "result", call: call.id, tool: "wait", outcome: "succeeded", output: {} });
      else {
        const outcome = outcomeOf(call);
        if (outcome === "pending") pending.push(call);
        parts.push(...settle([call], outcome));
        if (outcome === "in_doubt" && random() < 0.3) pending.push(call); // Corrected in the next message.
      }
    }
    if (made.some(({ tool }) => tool === "wait") || (early && random() < 0.2)) parts.push(signal);
    messages.push({ role: "user", at: 0, parts });
  }
  return { calls, finished: undefined, steps: stepsMax };

  function settle(settled: readonly Call[], outcome: Outcome): MessagePart[] {
    return settled.map((call) => ({
      type: "result",
      call: call.id,
      tool: call.tool,
      outcome,
      ...(outcome === "succeeded"
        ? { output: outputs[call.tool]?.(call, random()) }
        : { code: "", reason: "" }),
    }));
  }
}

/** Chance from a seed: fast-check shrinks the seed and the weights, not a list of outcomes. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

const anyOutcome: Outcome[] = ["succeeded", "failed", "denied", "in_doubt", "cancelled", "pending"];

describe("the demo's model", () => {
  test("charges at most once and ends within its budget, whatever the results", () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean(), (seed, luck, early) => {
        const random = createRandom(seed);
        const outcomeOf = (): Outcome =>
          random() < luck ? "succeeded" : (anyOutcome[Math.floor(random() * anyOutcome.length)] ?? "failed");
        const { calls, finished } = play(outcomeOf, random, early);
        const count = (tool: string) => calls.filter((call) => call.tool === tool).length;
        expect(count("charge_deposit")).toBeLessThanOrEqual(1);
        expect(count("reserve_room")).toBeLessThanOrEqual(1);
        expect(count("request_interview")).toBeLessThanOrEqual(3);
        expect(hireForRole.output.safeParse(finished).success).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test("invites three, pays and says with what, where everything succeeds", () => {
    const { finished } = play(() => "succeeded", createRandom(1), false);
    expect(finished.interviews).toHaveLength(3);
    expect(finished.deposit).toBe("ch_1");
  });

  test("looks a deposit in doubt up before it goes on, and leaves open what it does not find", () => {
    const outcomeOf = ({ tool }: Call): Outcome => (tool === "charge_deposit" ? "in_doubt" : "succeeded");
    const { calls, finished } = play(outcomeOf, () => 0.4, false); // No correction, and nothing is found.
    const after = calls.slice(calls.findIndex(({ tool }) => tool === "charge_deposit") + 1);
    expect(after[0]?.tool).toBe("find_deposit");
    expect(finished.deposit).toBe("open");
    expect(finished.interviews).toHaveLength(3);
  });

  test("believes a correction of a deposit that was in doubt", () => {
    const outcomeOf = ({ tool }: Call): Outcome => (tool === "charge_deposit" ? "in_doubt" : "succeeded");
    const { finished } = play(outcomeOf, () => 0.1, false); // Corrected with the lookup, which finds nothing.
    expect(finished.deposit).toBe("ch_1");
  });

  test("asks for nothing twice while it is pending", () => {
    const outcomeOf = ({ tool }: Call): Outcome => (tool === "find_deposit" ? "succeeded" : "pending");
    const { calls, finished } = play(outcomeOf, () => 0.9, false);
    const inputs = calls
      .filter(({ tool }) => tool !== "wait")
      .map(({ tool, input }) => `${tool} ${JSON.stringify(input)}`);
    expect(new Set(inputs).size).toBe(inputs.length);
    expect(finished.interviews).toHaveLength(3);
  });
});
