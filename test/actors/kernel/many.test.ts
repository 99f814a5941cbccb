/**
 * Goal: what holds of three holds of thousands, and costs in proportion; what is too many is refused with a code.
 * Method: each tale is told with few and with many of everything, on states that are frozen, and comes to the same; the
 * work is counted. Here with hundreds; many.e2e.test.ts tells the same tales with thousands.
 */
import { describe, expect, test } from "vitest";
import { limits } from "../../../protocol/limits.ts";
import { manyInvokes, manySpawns, manyTimers, replyOf, success } from "../../support/many.ts";
import { asked, frozenSaga, tellTales, tools } from "../../support/many-tales.ts";

tellTales(30);

describe("the bound on what is open", () => {
  test("a reply with more calls than one may make is not taken, and its model is told how many it may make", () => {
    const saga = asked(limits.callsPerReplyMax + 1, {});
    expect(saga.open("tool")).toHaveLength(0);
    const [said] = saga.turn(success(saga.open("model")[0]!, replyOf(limits.callsPerReplyMax))).said;
    expect(saga.open("tool")).toHaveLength(limits.callsPerReplyMax);
    expect(said).toMatchObject({ role: "assistant" });
  });

  test("a model's calls beyond what may be open are refused each, and told; the others are made", () => {
    const saga = asked(5, { budget: { intentsOpenMax: 3 } });
    expect(saga.open("tool")).toHaveLength(3);
    const { said } = saga.turn(...tools(saga));
    const parts = said.flatMap((message) => (message.role === "user" ? message.parts : []));
    expect(parts.map((part) => (part.type === "result" ? (part.code ?? part.outcome) : part.type))).toEqual([
      ...["succeeded", "succeeded", "succeeded"],
      ...["INTENTS_TOO_MANY", "INTENTS_TOO_MANY"],
    ]);
  });

  test.for(["invokes", "spawns", "timers"] as const)(
    "a machine whose step %s more than may be open fails with a code, and begins none of them",
    (what) => {
      const bounds = { budget: { intentsOpenMax: 9 } };
      const of = {
        invokes: manyInvokes(10, "hold", bounds),
        spawns: manySpawns(10, bounds),
        timers: manyTimers(10, bounds),
      };
      const saga = frozenSaga(of[what]);
      const intents = saga.start().steps.flatMap((step) => step.intents);
      expect(intents).toMatchObject([{ kind: "end", status: "failed", code: "INTENTS_TOO_MANY" }]);
      expect(saga.state.phase.kind).toBe("ended");
    },
  );

  test("a thousand refusals of one reply are told, and are no machine that comes not to rest", () => {
    const saga = asked(3_000, { callsPerReplyMax: 3_000, budget: { intentsOpenMax: 1 } });
    expect(saga.state.phase.kind).toBe("running");
    expect(saga.open("tool")).toHaveLength(1);
  });
});
