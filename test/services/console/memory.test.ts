/**
 * Goal: a memory that a host kept is told only where the ledger has that very turn, with the turn after which it was so.
 * Method: ledgers of any length beside what is kept of any turn, of this ledger or of another one.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Turn } from "../../../protocol/turn.ts";
import { memoryOf } from "../../../services/console/memory.ts";

const hashOf = (turn: number) => `hash-${turn}`;
const ledger = (turns: number) => ({
  turns: Array.from({ length: turns }, (_, k) => ({ turn: k + 1, prev: k === 0 ? "" : hashOf(k) }) as Turn),
  head: { turn: turns, seq: turns, hash: hashOf(turns) },
});

test("what was kept of a turn is told if the ledger has it, and of none that it has not", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 25 }),
      fc.boolean(),
      (turns, turn, isOwn) => {
        const memory = { notes: ["x"] };
        const told = memoryOf(ledger(turns), { turn, hash: isOwn ? hashOf(turn) : "another", memory });
        if (isOwn && turn <= turns) expect(told).toEqual({ of: turns, turn, memory });
        else expect(told).toEqual({ of: turns, why: expect.any(String) as string });
      },
    ),
  );
});

test("where there is none it is said why", () => {
  expect(memoryOf(ledger(3), undefined)).toMatchObject({ why: expect.stringContaining("no host") as string });
  expect(memoryOf(ledger(3), { turn: 3, hash: hashOf(3), memory: undefined })).toMatchObject({
    why: expect.stringContaining("no memory") as string,
  });
});
