/**
 * Goal: a LEDGER that is deleted under running sagas is named by processes and by doctor, nothing is performed twice, and
 * once the loss is accepted new sagas go on. And the lab itself runs.
 * Method: one fault of the lab, as `npm run test:lab` runs it, but shorter: each part lasts until what it is for has come,
 * and whether all sagas end is not awaited.
 */
import { expect, test } from "vitest";
import { faults } from "./faults.ts";
import { runFault } from "./run-fault.ts";
import type { Word } from "./said.ts";

const named = "MESH_INCOMPLETE";

test("LEDGER deleted under running sagas: said by its code, nothing twice, and new sagas go on", async () => {
  const fault = faults.find(({ name }) => name === "LEDGER-deleted");
  if (fault === undefined) throw new Error("the lab has no such fault");
  const { verdict } = await runFault(fault, 1, {
    ...{ seed: 7, keeps: false, tell: () => undefined },
    pace: { warmMs: 1_000, prepareMs: 0, lookMs: 1_000, afterMs: 1_000, restMs: 0 },
    awaits: {
      warm: ({ sagas }) => sagas > 2,
      look: ({ words }) => namedBy(words, true) && namedBy(words, false),
      after: ({ sagas }) => sagas > 0, // Begun after the loss.
    },
  });
  expect(verdict.twice).toEqual({ once: 0, probe: 0, idempotent: 0 });
  expect(verdict.words.filter(({ word }) => word === named).map(({ by }) => by)).toContain("doctor");
  expect(namedBy(verdict.words, false)).toBe(true);
  expect(verdict.lost.sagas).toBeGreaterThan(0);
  expect(verdict.sagas).toBeGreaterThan(0);
}, 400_000);

const namedBy = (words: readonly Word[], isDoctor: boolean): boolean =>
  words.some(({ by, word }) => word === named && (by === "doctor") === isDoctor);
