/**
 * Goal: a ledger folds to its state, or says which turn does not and why. Method: ledgers, whole and tampered with.
 */
import { describe, expect, test } from "vitest";
import {
  definitionOf,
  foldLedger,
  foldTurn,
  stateFromJson,
  stateToJson,
} from "../../../actors/kernel/replay.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { canonicalJson } from "../../../protocol/json.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { given, replied, started, succeeded } from "../../../services/testing/given.ts";
import { noopSaga } from "../../bench/noop-saga.ts";
import { frozenState } from "../../support/frozen.ts";
import { longLedger } from "../../support/long-ledger.ts";
import { workOf } from "../../support/many-tales.ts";
import { agentOf, call, calling, finish, hold, look } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const story = given(
  agentOf(),
  begun,
  replied({ calls: [call("look"), call("hold")] }),
  succeeded("look", 1),
  succeeded("hold", { id: "i" }),
  replied(finish),
);
const { definition, turns } = story;

const thrownBy = (body: () => unknown): { code: string; message: string; remedy: string } => {
  try {
    body();
  } catch (error) {
    if (isMeshError(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
};

describe("a ledger", () => {
  test("folds to its state and its conversation", () => {
    const { state, messages } = foldLedger(definition, turns);
    expect(canonicalJson(stateToJson(definition, state))).toBe(
      canonicalJson(stateToJson(definition, story.state)),
    );
    expect(messages).toEqual(story.messages);
  });

  test("of n steps that stand costs in proportion to fold, and leaves the state that it begins with as it was", () => {
    const saga = parseSagaId("long");
    const { definition: long } = noopSaga("host");
    const work = (steps: number): number => {
      const [first, ...others] = longLedger(long, saga, { steps, stays: true }, steps);
      const from = frozenState(foldLedger(long, [first!]).state);
      let stand = 0;
      const done = workOf(() => (stand = foldLedger(long, others, from).state.effects.length));
      expect([from.effects.length, stand]).toEqual([0, steps - 1]);
      return done;
    };
    work(3);
    expect(work(1_000) / work(100)).toBeLessThan(12);
  });

  test("of no turn is none", () => {
    expect(thrownBy(() => foldLedger(definition, [])).code).toBe("LEDGER_BROKEN");
  });

  test("with a turn missing, doubled or out of order is broken, and says where", () => {
    expect(thrownBy(() => foldLedger(definition, turns.slice(1))).message).toMatch(
      /has turn 2 where 1 belongs/,
    );
    expect(thrownBy(() => foldLedger(definition, [...turns.slice(0, 2), ...turns.slice(1)])).code).toBe(
      "LEDGER_BROKEN",
    );
  });

  test("names its definition in its first turn, or has none", () => {
    expect(definitionOf(turns[0] as Turn)).toEqual({ name: "helper", version: 1, hash: definition.hash });
    expect(thrownBy(() => definitionOf(turns[1] as Turn)).code).toBe("LEDGER_BROKEN");
  });
});

describe("a turn that today's code decides otherwise", () => {
  const forged = (change: (text: string) => string): Turn =>
    JSON.parse(change(JSON.stringify(turns[1]))) as Turn;
  const before = foldLedger(definition, turns.slice(0, 1)).state;

  test("stops the fold with turn, step, intent, expected, got and the remedy", () => {
    const error = thrownBy(() =>
      foldTurn(
        definition,
        before,
        forged((text) => text.replace('"name":"look"', '"name":"lock"')),
      ),
    );
    expect(error.code).toBe("FOLD_DIVERGED");
    expect(error.message).toMatch(
      /turn 2 of saga-1, step 1 \(result\), intent 1: expected .*lock.*, got .*look/,
    );
    expect(error.remedy).toMatch(/migrate --dry-run/);
  });

  test("because an intent more or less was recorded says which", () => {
    const less = forged((text) => text.replace(/,\{"kind":"tool","id":"2-1"[^}]*\}/, ""));
    expect(thrownBy(() => foldTurn(definition, before, less)).message).toMatch(
      /intent 2: expected nothing, got/,
    );
  });

  test("because an intent was closed as something else says which, and as what", () => {
    const [step] = turns[1]!.steps;
    const other = { ...turns[1]!, steps: [{ ...step!, closed: [{ ...step!.closed[0]!, as: "failed" }] }] };
    const error = thrownBy(() => foldTurn(definition, before, other as Turn));
    expect(error.code).toBe("FOLD_DIVERGED");
    expect(error.message).toMatch(
      /turn 2 of saga-1, step 1 \(result\), closing 1: expected .*failed.*, got .*succeeded/,
    );
  });

  test("because a closing more or less was recorded says which", () => {
    const [step] = turns[1]!.steps;
    const none = { ...turns[1]!, steps: [{ ...step!, closed: [] }] };
    expect(thrownBy(() => foldTurn(definition, before, none)).message).toMatch(
      /closing 1: expected nothing, got/,
    );
    const twice = { ...turns[1]!, steps: [{ ...step!, closed: [...step!.closed, ...step!.closed] }] };
    expect(thrownBy(() => foldTurn(definition, before, twice)).message).toMatch(
      /closing 2: expected .*, got nothing/,
    );
  });

  test("is told in a few hundred characters, however much was recorded", () => {
    const long = forged((text) => text.replace('"name":"look"', `"name":"${"x".repeat(100_000)}"`));
    expect(thrownBy(() => foldTurn(definition, before, long)).message.length).toBeLessThan(2_000);
  });

  test("is found when the definition is another", () => {
    expect(thrownBy(() => foldLedger(agentOf({ instructions: "Otherwise." }).definition, turns)).code).toBe(
      "FOLD_DIVERGED",
    );
  });
});

describe("a state at rest", () => {
  test("is plain JSON", () => {
    const stored = stateToJson(definition, story.state);
    expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
  });

  test("of a machine that threw at its start can be stored and revived", () => {
    const broken = agentOf({
      prompt: () => {
        throw new Error("no");
      },
    });
    const { state } = given(broken, begun);
    const revived = stateFromJson(broken.definition, stateToJson(broken.definition, state));
    expect(revived.phase).toEqual(state.phase);
  });

  test("does not grow with the history: what is settled leaves nothing", () => {
    const size = (rounds: number) => {
      const looks = Array.from({ length: rounds }, () => [
        replied({ calls: [call("look")] }),
        succeeded("look", "x".repeat(100)),
      ]).flat();
      return JSON.stringify(stateToJson(definition, given(agentOf(), begun, ...looks).state)).length;
    };
    expect(size(40)).toBeLessThan(size(20) + 50);
  });

  test("of another machine is not revived as this one", () => {
    const other = calling(look);
    const stored = stateToJson(other.definition, given(other, begun).state);
    expect(thrownBy(() => stateFromJson(definition, stored)).code).toBe("FOLD_DIVERGED");
    expect(calling(hold).definition.hash).not.toBe(other.definition.hash);
  });
});
