/**
 * A fork, as far as the fold is concerned: another saga whose state begins as the fold of the first turns of one.
 */
import { describe, expect, test } from "vitest";
import type { SagaState } from "../../actors/state.ts";
import { decideTurn } from "../../actors/fold.ts";
import { parseIntentId, parseSagaId } from "../../protocol/ids.ts";
import { weekend } from "../examples/weekend.ts";

const start = {
  type: "start",
  definition: { name: "weekend", version: 1, hash: "" },
  input: { guest: "ana", cents: 1 },
} as const;

const keysOf = (state: SagaState): string[] =>
  Object.values(state.open).flatMap(({ intent }) => (intent.kind === "tool" ? [intent.key] : []));

describe("a state taken over by another saga", () => {
  const origin = decideTurn(weekend.definition, undefined, {
    saga: parseSagaId("origin"),
    at: 0,
    events: [start],
  }).state;
  const fork = { ...origin, saga: parseSagaId("fork") };
  const held = {
    type: "result",
    intent: parseIntentId("1-0"),
    attempt: 1,
    by: "w",
    result: { outcome: "succeeded", output: {} },
  } as const;
  const goOn = (state: SagaState) =>
    decideTurn(weekend.definition, state, { saga: state.saga, at: 1, events: [held] }).state;

  test("keeps the keys of the effects it inherited", () => {
    expect(keysOf(fork)).toEqual(keysOf(origin));
    expect(keysOf(fork)[0]).toMatch(/^origin\./);
  });

  test("uses its own lineage for what it decides itself, so that no effect of one counts for the other", () => {
    expect(keysOf(goOn(fork))[0]).toMatch(/^fork\./);
    expect(keysOf(goOn(origin))[0]).toMatch(/^origin\./);
  });
});
