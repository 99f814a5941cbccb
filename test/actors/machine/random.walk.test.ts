/**
 * Goal: the same events give the same states in a saga and in a live XState actor, whatever the machine. Method: machines
 * and paths made by fast-check with a fixed seed; the saga is folded from text and put back to text at every turn, as after a
 * crash there; what both show is compared after each event.
 */
import * as fc from "fast-check";
import { beforeAll, test, vi } from "vitest";
import { createFoldDriver } from "../../support/fold-driver.ts";
import { compareWithLive } from "../../support/machine-driver.ts";
import { randomMachine } from "../../support/random-machine.ts";
import { share } from "../../support/share.ts";

beforeAll(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));

/** As it is printed: the machine as data. */
const machine = randomMachine.map((of) => Object.assign(of, { [fc.toStringMethod]: () => of.name }));

test("a random machine comes to the same states, contexts and outputs in a saga as in a live actor", () => {
  const compared = fc.property(machine, fc.array(fc.nat(999), { maxLength: 15 }), (of, picks) => {
    const path = picks.flatMap((pick) => of.events[pick % of.events.length] ?? []);
    compareWithLive(of, createFoldDriver, path);
  });
  fc.assert(compared, { numRuns: share(60, 1_000), seed: 20261123 });
});
