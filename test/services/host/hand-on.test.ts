/**
 * Goal: thousands of intents of one turn are handed on in pieces, and what is left when the saga goes is its next host's.
 *
 * Method: hands and a loop that count; the loop stands where the test says, and nothing is timed.
 */
import { describe, expect, test } from "vitest";
import type { OpenIntent } from "../../../actors/contract/state.ts";
import { intentId } from "../../../protocol/ids.ts";
import { handOnEach } from "../../../services/host/hand-on.ts";
import type { Leaving, Phase } from "../../../services/host/phase.ts";

const crowd = (n: number): OpenIntent[] =>
  Array.from({ length: n }, (_, k) => ({
    intent: { kind: "timer", id: intentId(1, k), name: `t${k}`, dueAt: 0 },
    attempt: 1,
    input: {},
  }));

const owning = { type: "owning", own: undefined as never } as const; // Nothing here looks at what is owned.
const leaving = (): Leaving => ({
  ...{ type: "leaving", own: undefined, owesIntents: false },
  left: Promise.withResolvers(),
});

/** Hands on so many; at each look at the loop `look` says how the activation stands by then. */
async function handedOn(n: number, look: (looks: number) => Phase = () => owning) {
  const given: string[] = [];
  let [looks, since, most] = [0, 0, 0];
  const self = {
    phase: owning as Phase,
    deps: {
      ports: {
        loop: {
          breathe: () => {
            looks += 1;
            since = 0;
            self.phase = look(looks);
            return looks % 2 === 0 ? Promise.resolve() : undefined;
          },
        },
      },
    },
  };
  const hands = {
    handOn: ({ intent }: OpenIntent) => {
      given.push(intent.id);
      most = Math.max(most, ++since);
    },
  };
  await handOnEach(self, { hands }, crowd(n), false);
  return { given, most, phase: self.phase };
}

describe("what a turn decided is handed on", () => {
  test.each([10, 1_000, 5_000])("whole, in order and one by one between looks at the loop: %i", async (n) => {
    const { given, most } = await handedOn(n);
    expect(given).toEqual(crowd(n).map(({ intent }) => intent.id));
    expect(most).toBe(1);
  });

  test("until the saga leaves: the rest is owed to its next host", async () => {
    const going = leaving();
    const { given } = await handedOn(100, (looks) => (looks < 40 ? owning : going));
    expect(given).toHaveLength(40);
    expect(going.owesIntents).toBe(true);
  });

  test("until it is gone", async () => {
    const { given, phase } = await handedOn(100, (looks) => (looks < 7 ? owning : { type: "gone" }));
    expect(given).toHaveLength(7);
    expect(phase.type).toBe("gone");
  });
});
