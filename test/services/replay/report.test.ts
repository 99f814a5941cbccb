/**
 * Goal: what a replay reports can be checked by programs and read by people, whatever models and tools wrote.
 */
import { describe, expect, test } from "vitest";
import { align } from "../../../services/replay/align.ts";
import { recordedDecisions } from "../../../services/replay/decisions.ts";
import { failedOn, type Judged, parseFailOn } from "../../../services/replay/fail-on.ts";
import { replayPage } from "../../../services/replay/page.ts";
import { ReplayDocument } from "../../../protocol/documents/replay.ts";
import type { PathStep } from "../../../protocol/documents/replay.ts";
import { graphOf } from "../../../services/views/graph/graph.ts";
import { svgOf } from "../../../services/views/graph/svg.ts";
import { defineApp } from "../../../services/app/app.ts";
import { anthropicModel } from "../../../services/models/anthropic.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { given, replied, started, succeeded } from "../../../services/testing/given.ts";
import { describeReplay } from "../../../services/cli/telling/replay-text.ts";
import { freely, stepwise } from "../../support/replaying.ts";
import { agentOf, call, finish } from "../../support/workbench.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const cost = { calls: 2, inputTokens: 100, outputTokens: 50, unpriced: 0, usd: 1, latencyMs: 1_000 };
const judged = (more: Partial<Judged> = {}): Judged => ({
  different: 0,
  beyond: 0,
  failed: 0,
  outcome: { equal: true, recorded: { status: "completed" } },
  fired: { recorded: [], got: [] },
  cost: { recorded: cost, got: cost },
  agreement: { compared: 4, sameOrder: 4, sameSet: 4, sameArguments: 4, exact: 4 },
  ...more,
});
const found = (text: string, ...documents: Judged[]) => failedOn(parseFailOn([text], "free-run"), documents);

describe("--fail-on", () => {
  const dearer = judged({ cost: { recorded: cost, got: { ...cost, usd: 1.25, inputTokens: 200 } } });
  const other = judged({ different: 1, outcome: { equal: false, recorded: { status: "completed" } } });

  test("holds for what differs and for nothing else", () => {
    expect(found("different,outcome,policy,failed,stopped,cost+0%,tokens+0%,latency+0%", judged())).toEqual(
      [],
    );
    expect(found("different,outcome,failed", other)).toEqual([
      "different: 1 of 1 saga",
      "outcome: 1 of 1 saga",
    ]);
    const denied = { type: "denied", intent: "2-0" as never, name: "pay", why: "POLICY_DENIED" } as const;
    expect(found("policy", judged({ fired: { recorded: [], got: [denied] } }))).toEqual([
      "policy: 1 of 1 saga",
    ]);
    expect(
      found(
        "policy",
        judged({ fired: { recorded: [{ ...denied, intent: "9-0" as never }], got: [denied] } }),
      ),
    ).toEqual([]);
  });

  test("a share is one of sagas, and of one saga's decisions", () => {
    expect(found("outcome>50%", other, judged())).toEqual([]);
    expect(found("outcome>49%", other, judged())).toEqual(["outcome>49%: 1 of 2 sagas"]);
    expect(found("different>25%", other)).toEqual([]);
    expect(found("different>24%", other)).toEqual(["different>24%: 1 of 4 decisions"]);
  });

  test("an amount is held against the recorded sum, and one that nobody knows fails", () => {
    expect(found("cost+25%", dearer)).toEqual([]);
    expect(found("cost+24.9%", dearer)).toEqual(["cost+24.9%: 1.25 instead of 1"]);
    expect(found("tokens+50%", dearer)).toEqual(["tokens+50%: 250 instead of 150"]);
    const { usd: _usd, ...unknown } = cost;
    expect(
      found("cost+900%", judged({ cost: { recorded: cost, got: { ...unknown, unpriced: 1 } } })),
    ).toHaveLength(1);
  });

  test.each(["cheaper", "cost", "cost>20%", "different+1%", "outcome>x%"])(
    "%s is refused with the grammar",
    (text) => {
      expect(() => parseFailOn([text], "free-run")).toThrow(
        expect.objectContaining({ code: "USAGE", remedy: expect.stringContaining("cost+N%") }),
      );
    },
  );

  test("an outcome is not known step by step, and that is said at once", () => {
    expect(() => parseFailOn(["outcome"], "step-by-step")).toThrow(/only of a free run/);
  });
});

describe("a report", () => {
  const hostile = `</pre><script>alert("x")</script><img src=x onerror='y'>`;
  const agent = agentOf();
  const story = given(
    agent,
    started({ of: hostile }),
    replied({ calls: [call("look", { of: hostile })], usage: { inputTokens: 1_000, outputTokens: 10 } }),
    succeeded("look", { said: hostile }),
    replied(finish),
  );
  const other = scriptedModel("other", ({ step }) =>
    step === 1
      ? { calls: [call("hold", { of: hostile })], usage: { inputTokens: 10, outputTokens: 1, usd: 0.5 } }
      : finish,
  );
  const app = defineApp({ sagas: [agent], models: { other } });

  test("is a document of its schema, in both modes, and a page that holds no markup of anybody else", async () => {
    const { document, run } = await freely(app, story.turns, "other", { onMiss: "sample" });
    expect(ReplayDocument.parse(JSON.parse(JSON.stringify(document)))).toEqual(
      JSON.parse(JSON.stringify(document)),
    );
    const drawing = svgOf(atOnce(graphOf(story.turns)));
    const page = replayPage(document, { recorded: drawing, got: svgOf(atOnce(graphOf(run.turns))) });
    expect(page).toContain(drawing);
    const addresses = page.replaceAll('xmlns="http://www.w3.org/2000/svg"', "");
    expect(addresses).not.toMatch(/<script|<img|https?:|onerror='/);
    expect(page).toContain("&#60;script&#62;");
    expect(page).toContain("default-src 'none'");
    const stepped = await stepwise(app, story.turns, "other");
    expect(ReplayDocument.parse(JSON.parse(JSON.stringify(stepped)))).toEqual(
      JSON.parse(JSON.stringify(stepped)),
    );
    expect(replayPage(stepped)).not.toMatch(/<script|<img/);
  });

  test("sums what both sides cost, and says where a price is missing", async () => {
    const { document } = await freely(app, story.turns, "other", { onMiss: "sample" });
    expect(document.cost).toEqual({
      recorded: { calls: 2, inputTokens: 1_000, outputTokens: 10, unpriced: 2, latencyMs: 2_000 },
      got: { calls: 2, inputTokens: 10, outputTokens: 1, unpriced: 1, usd: 0.5 },
    });
    const text = describeReplay(document);
    expect(text).toMatch(/first divergence at 1-0/);
    expect(text).toContain("0.5000 (1 calls unpriced)");
    expect(text).toContain("recorded times are from turn to turn");
  });

  test("keeps what both runs did on one row, and the rest alone", () => {
    const step = (title: string): PathStep => ({ turn: 1, at: 0, kind: "tool", title, detail: "" });
    const rows = align(["a", "b", "c"].map(step), ["a", "x", "c", "d"].map(step));
    expect(rows.map(({ recorded, got }) => [recorded?.title, got?.title])).toEqual([
      ["a", "a"],
      ["b", undefined],
      [undefined, "x"],
      ["c", "c"],
      [undefined, "d"],
    ]);
  });

  test("counts blocks that only another provider can read, and says why they were not sent", async () => {
    const thought = { kind: "verbatim", block: { type: "thinking", thinking: "hm", signature: "s" } };
    const thoughtful = given(
      agent,
      started({ of: "x" }),
      replied({
        calls: [call("look")],
        blocks: [
          { kind: "origin", provider: "anthropic", model: "m", prefix: "p" },
          thought,
          { kind: "call", call: 0, id: "toolu_1" },
        ],
      }),
      succeeded("look", {}),
      replied(finish),
    );
    const document = await stepwise(app, thoughtful.turns, "other");
    expect(document.leftOut).toEqual([{ blocks: 1, because: "another provider" }]);
    expect(document.decisions.map(({ leftOut }) => leftOut?.[0]?.blocks)).toEqual([undefined, 1]);
    const asked = atOnce(recordedDecisions(agent.definition, thoughtful.turns))[1]?.request;
    const leftBy = (model: string) => asked && anthropicModel({ model }).leavesOut?.(asked);
    expect(leftBy("another")).toMatchObject([{ blocks: 1, because: "another model" }]);
    expect(leftBy("m")).toMatchObject([{ blocks: 1, because: "another prefix" }]); // "p" is the digest of nothing.
  });
});
