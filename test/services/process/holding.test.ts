/**
 * Holding: what one thread tells of itself, as another reads it in the same memory.
 */
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { heldInPieces, holdMemory, readHold, tellHolds } from "../../../services/process/holding.ts";

describe("what holds the loop", () => {
  test("is told while it does, also where it throws, and as what holds it outermost", () => {
    const memory = holdMemory();
    const { during } = tellHolds(memory);
    expect(readHold(memory)).toBeUndefined();
    const seen = during("saga.a", "signal boom", () => [
      readHold(memory),
      during("saga.b", "a start", () => readHold(memory)),
    ]);
    expect(seen).toEqual(Array(2).fill({ number: 1, key: "saga.a", what: "signal boom" }));
    expect(() =>
      during("saga.a", "", () => {
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(readHold(memory)).toBeUndefined();
    expect(during("saga.ü".repeat(200), "x", () => readHold(memory)?.key.length)).toBe(256);
  });

  test("is another one with each piece of long work, and nothing between two", () => {
    const memory = holdMemory();
    const numbers: (number | undefined)[] = [];
    const work = (function* () {
      for (let piece = 0; piece < 3; piece += 1) {
        numbers.push(readHold(memory)?.number);
        yield;
      }
      return "done";
    })();
    const pieces = heldInPieces(tellHolds(memory), "saga.a", "its turns", work);
    for (let piece = pieces.next(); ; piece = pieces.next()) {
      expect(readHold(memory)).toBeUndefined();
      if (piece.done === true) break;
    }
    expect(numbers).toEqual([1, 3, 5]);
  });

  test("is read whole or not at all by another thread (YH1)", async () => {
    const memory = holdMemory();
    const teller = new Worker(new URL("../../support/holding-thread.ts", import.meta.url), {
      workerData: { memory },
      execArgv: [],
    });
    try {
      let read = 0;
      const until = performance.now() + 20_000;
      while (read < 100 && performance.now() < until) {
        const hold = readHold(memory);
        if (hold === undefined) {
          if (read === 0) await new Promise((resolve) => setImmediate(resolve));
          continue;
        }
        read += 1;
        expect(hold.what).toBe(hold.key.repeat(3));
      }
      expect(read).toBe(100);
    } finally {
      await teller.terminate();
    }
  });
});
