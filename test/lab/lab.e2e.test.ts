/**
 * Goal: a LEDGER that is deleted under running sagas is named by processes and by doctor, nothing is performed twice, and
 * once the loss is accepted new sagas go on. And the lab itself runs.
 * Method: one fault of the lab, as `npm run test:lab` runs it, but shorter: whether all sagas end is not awaited.
 */
import { expect, test } from "vitest";
import { faults } from "./faults.ts";
import { runFault } from "./run-fault.ts";

test("LEDGER deleted under running sagas: said by its code, nothing twice, and new sagas go on", async () => {
  const fault = faults.find(({ name }) => name === "LEDGER-deleted");
  if (fault === undefined) throw new Error("the lab has no such fault");
  const { verdict } = await runFault(fault, 1, {
    ...{ seed: 7, keeps: false, tell: () => undefined },
    pace: { warmMs: 2_500, prepareMs: 0, lookMs: 6_000, afterMs: 2_000, restMs: 6_000 },
  });
  expect(verdict).toMatchObject({
    twice: { once: 0, probe: 0, idempotent: 0 },
    doctorsWord: { word: "MESH_INCOMPLETE" },
  });
  expect(verdict.words.filter(({ by }) => by !== "doctor").map(({ word }) => word)).toContain(
    "MESH_INCOMPLETE",
  );
  expect(verdict.lost.sagas).toBeGreaterThan(0);
  expect(verdict.sagas).toBeGreaterThan(0); // Begun after the loss.
}, 200_000);
