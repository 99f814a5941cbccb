/**
 * The past: what was laid by outside the state is asked for when it is needed, and only then. That a fold decides
 * the same either way, for any ledger, is in properties.test.ts.
 */
import { describe, expect, test } from "vitest";
import { accept } from "../../../actors/kernel/accept.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { layBy, partOf, PastNeeded, pastWith, recall } from "../../../actors/kernel/past.ts";
import type { SagaState } from "../../../actors/contract/state.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { failed, given, replied, signalled, started, succeeded } from "../../../services/testing/given.ts";
import { agentOf, call } from "../../support/workbench.ts";

const agent = agentOf();
const { definition } = agent;

/** One booking stands, a letter has failed for good, and the agent was asked again. */
const { state } = given(agent, started({ of: "x" }), replied({ calls: [call("hold"), call("send")] }), [
  succeeded("hold", { id: "1" }),
  failed("send", { code: "X", reason: "full", retry: false }),
]);
const [stood, hasFailed] = ["2-0", "2-1"] as [IntentId, IntentId];
const part = partOf(state, 1)!;
const past = pastWith(undefined, part, "digest");
const laid = layBy(state, part, past)!;

const late = (intent: IntentId): Event => ({
  type: "result",
  intent,
  attempt: 1,
  by: "w",
  result: { outcome: "succeeded", output: { id: "2" } },
});
const decide = (of: SagaState, ...events: Event[]) =>
  decideTurn(definition, of, { saga: of.saga, at: 1_000, events });

describe("what is laid by", () => {
  test("is what stands and what has failed, and recalled it is the same state", () => {
    expect(part.effects.map(({ intent }) => intent)).toEqual([stood]);
    expect(Object.keys(part.doubts)).toEqual([hasFailed]);
    expect(laid).toMatchObject({ effects: [], doubts: {}, past: { parts: 1, digest: "digest" } });
    expect(recall(laid, [part])).toEqual(state);
  });

  test("is nothing while there is too little for a part, or while the saga is being undone", () => {
    expect(partOf(state)).toBeUndefined();
    expect(limits.pastPartMin).toBeGreaterThan(2);
    const { state: undoing } = given(
      agent,
      started({ of: "x" }),
      replied({ calls: [call("hold")] }),
      succeeded("hold", { id: "1" }),
      signalled("cancel", null),
    );
    expect(undoing.effects).toHaveLength(1);
    expect(partOf(undoing, 1)).toBeUndefined();
  });

  test("stays where it is if it changed since", () => {
    const [effect] = state.effects;
    expect(layBy({ ...state, effects: [{ ...effect!, stuck: true }] }, part, past)).toBeUndefined();
    expect(layBy({ ...state, doubts: {} }, part, past)).toBeUndefined();
    expect(layBy(laid, part, past)).toBeUndefined();
  });

  test("is not needed by a turn that adds to it", () => {
    const { state: next } = decide(laid, {
      ...late(Object.keys(laid.open)[0] as IntentId),
      result: { outcome: "succeeded", output: { model: "m", calls: [{ tool: "look", input: { of: "x" } }] } },
    } as Event);
    expect(next.past).toEqual(laid.past);
  });

  test("is needed by a late result of what has failed, which then counts", () => {
    expect(() => accept(definition, laid, late(hasFailed), 1_000)).toThrow(PastNeeded);
    expect(() => decide(laid, late(hasFailed))).toThrow(PastNeeded);
    const whole = recall(laid, [part]);
    expect(accept(definition, whole, late(hasFailed), 1_000).type).toBe("new");
    expect(decide(whole, late(hasFailed)).state.effects.map(({ intent }) => intent)).toEqual([
      stood,
      hasFailed,
    ]);
  });

  test("is not asked for by a result of a turn that is still to come, or where nothing failed", () => {
    expect(accept(definition, laid, late("99-0" as IntentId), 1_000).type).toBe("stale");
    const sound = { ...laid, past: { ...laid.past!, holdsDoubts: false } };
    expect(accept(definition, sound, late(stood), 1_000).type).toBe("known");
  });

  test("is needed by a cancel", () => {
    const cancel = { type: "signal", name: "cancel", data: null, id: "c", from: "f", sentAt: 1_000 } as const;
    expect(() => decide(laid, cancel)).toThrow(PastNeeded);
    const { steps } = decide(recall(laid, [part]), cancel);
    expect(steps.flatMap(({ intents }) => intents)).toMatchObject([{ kind: "tool", undoes: stood }]);
  });
});
