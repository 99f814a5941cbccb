/**
 * The merge of ledger and live lane: what is shown of a reply is, in the end, the reply, once.
 *
 * Method: the merge is pure, so attempts, pieces that are lost or said twice, hosts that take over and turns in any
 * place between them are generated, and what a listener would have on its screen is held against the ledger's text.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../../protocol/json.ts";
import { ledgerVersion, Turn } from "../../../protocol/turn.ts";
import { createLiveMerge, type LiveEvent, type LiveMerge } from "../../../services/client/live.ts";

const turn = (number: number, event: unknown, intents: unknown[]): Turn =>
  Turn.parse({
    v: ledgerVersion,
    saga: "s",
    turn: number,
    at: number,
    host: "h",
    prev: "",
    steps: [{ event, intents }],
  });
const asked = turn(1, { type: "start", definition: { name: "a", version: 1, hash: "x" }, input: {} }, [
  { kind: "model", id: "1-0", name: "m", request: "d" },
]);
const answered = (number: number, text: string) =>
  turn(number, { type: "result", intent: "1-0", attempt: 1, output: { text, calls: [], model: "m" } }, []);
const failed = (number: number, attempt: number) =>
  turn(
    number,
    {
      type: "result",
      intent: "1-0",
      attempt,
      result: { outcome: "failed", code: "MODEL_FAILED", reason: "x" },
    },
    [{ kind: "retry", id: "1-0", attempt: attempt + 1, notBefore: 0 }],
  );
const token = (from: number, piece: string, attempt = 1, by = "h1"): Json => ({
  ...{ intent: "1-0", attempt, by },
  ...{ kind: "text", from, piece },
});

/** What a listener has shown and not taken back. */
function screenOf(events: readonly LiveEvent[]): string {
  let screen = "";
  for (const event of events) {
    if (event.type === "token" && event.kind === "text") screen += event.piece;
    if (event.type === "retracted") screen = "";
    if (event.type === "settled") screen += event.rest;
  }
  return screen;
}

const types = (events: readonly LiveEvent[]) => events.map(({ type }) => type);
const heard = (merge: LiveMerge, ...pieces: Json[]) =>
  pieces.flatMap((piece) => merge.heard("tokens", piece));

describe("what is said while a model is asked", () => {
  test("is shown as it comes, and the settled reply adds nothing that was shown", () => {
    const merge = createLiveMerge();
    const events = [...merge.read(asked), ...heard(merge, token(0, "Good "), token(5, "day"))];
    events.push(...merge.read(answered(2, "Good day")));
    expect(types(events)).toEqual(["turn", "token", "token", "settled", "turn"]);
    expect(events.at(-2)).toMatchObject({ type: "settled", rest: "", text: "Good day", turn: 2 });
  });

  test("is shown although its turn was not read yet", () => {
    const merge = createLiveMerge();
    const events = [...heard(merge, token(0, "Hi")), ...merge.read(asked), ...merge.read(answered(2, "Hi"))];
    expect(screenOf(events)).toBe("Hi");
  });

  test("is taken back when the attempt fails, and the next attempt begins anew", () => {
    const merge = createLiveMerge();
    const events = [...merge.read(asked), ...heard(merge, token(0, "Good ")), ...merge.read(failed(2, 1))];
    expect(events).toContainEqual({ type: "retracted", intent: "1-0", attempt: 1, because: "MODEL_FAILED" });
    events.push(...heard(merge, token(0, "Hello", 2), token(5, " late words", 1)));
    expect(screenOf(events)).toBe("Hello");
  });

  test("is taken back as soon as its host says so, before the ledger does", () => {
    const merge = createLiveMerge();
    const said = heard(merge, token(0, "Good "), {
      intent: "1-0",
      attempt: 1,
      by: "h1",
      retracted: "CANCELLED",
    });
    expect(types(said)).toEqual(["token", "retracted"]);
  });

  test("by a host that took over replaces what the dead one had said of the same attempt", () => {
    const merge = createLiveMerge();
    merge.read(asked);
    const said = heard(
      merge,
      token(0, "Go"),
      token(0, "He", 1, "h2"),
      token(2, "od", 1, "h1"),
      token(2, "y", 1, "h2"),
    );
    expect(said).toContainEqual({ type: "retracted", intent: "1-0", attempt: 1, because: "TAKEN_OVER" });
    expect(screenOf(said)).toBe("Hey");
  });

  test("and was missed is told, and the reply then comes whole", () => {
    const merge = createLiveMerge();
    merge.read(asked);
    const said = heard(merge, token(0, "Good "), token(9, "to you"));
    expect(said).toContainEqual({ type: "missed", intent: "1-0", attempt: 1, characters: 4 });
    const settled = merge.read(answered(2, "Good day to you"));
    expect(types(settled)).toEqual(["retracted", "settled", "turn"]);
    expect(settled[1]).toMatchObject({ rest: "Good day to you" });
  });

  test("and was missed counts as missed, even if it was nothing but blanks", () => {
    const merge = createLiveMerge();
    merge.read(asked);
    const said = heard(merge, token(0, "a"), token(3, "b"));
    expect(screenOf([...said, ...merge.read(answered(2, "a  b"))])).toBe("a  b");
  });

  test("after its reply was settled shows nothing", () => {
    const merge = createLiveMerge();
    merge.read(asked);
    merge.read(answered(2, "Good day"));
    expect(heard(merge, token(0, "Good "))).toEqual([]);
  });

  test("by somebody who is no host of ours, in another shape, is nothing", () => {
    const merge = createLiveMerge();
    expect(heard(merge, null, 7, { intent: "x" }, { intent: "1-0", attempt: 0, by: "h" })).toEqual([]);
    expect(merge.heard("another", token(0, "Hi"))).toEqual([]);
  });
});

test("whoever comes back after a turn is told nothing of it, nor of the ones before", () => {
  const merge = createLiveMerge(2);
  expect([...merge.read(asked), ...merge.read(answered(2, "Good day"))]).toEqual([]);
  expect(types(merge.read(turn(3, { type: "adopted" }, [])))).toEqual(["turn"]);
});

test("whatever is lost, repeated or begun again, in the end the screen holds the reply once", () => {
  const piece = fc.string({ minLength: 1, maxLength: 5 });
  /** One go at the reply: its pieces, which of them arrive, and whether it is the same host again. */
  const go = fc.record({
    pieces: fc.array(fc.tuple(piece, fc.constantFrom("lost", "once", "twice")), { maxLength: 8 }),
    ends: fc.constantFrom("taken over", "failed"),
  });
  const scenario = fc.record({
    lost: fc.array(go, { maxLength: 3 }),
    last: fc.array(fc.tuple(piece, fc.constantFrom("lost", "once", "twice")), {
      minLength: 1,
      maxLength: 10,
    }),
    readsFirst: fc.boolean(),
  });
  fc.assert(
    fc.property(scenario, ({ lost, last, readsFirst }) => {
      const merge = createLiveMerge();
      const events: LiveEvent[] = [];
      if (readsFirst) events.push(...merge.read(asked));
      let attempt = 1;
      let number = 1;
      const say = (pieces: readonly (readonly [string, string])[], by: string) => {
        let from = 0;
        for (const [text, fate] of pieces) {
          const copies = fate === "lost" ? 0 : fate === "once" ? 1 : 2;
          for (let copy = 0; copy < copies; copy++)
            events.push(...heard(merge, token(from, text, attempt, by)));
          from += text.length;
        }
      };
      for (const [at, { pieces, ends }] of lost.entries()) {
        say(pieces, `h${at}`);
        if (ends === "taken over" || !readsFirst) continue;
        events.push(...merge.read(failed(++number, attempt)));
        attempt += 1;
      }
      say(last, "last");
      if (!readsFirst) events.push(...merge.read(asked));
      const text = last.map(([said]) => said).join("");
      events.push(...merge.read(answered(++number, text)));
      expect(screenOf(events)).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});
