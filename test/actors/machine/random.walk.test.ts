/**
 * Goal: the same events give the same states in a saga and in a live XState actor, whatever the machine; and what a machine is
 * given of time and chance is the same in whatever process it is folded (TC1). Method: machines and paths made by fast-check with a fixed seed; the saga is folded from text and put back to text at every turn, as after a
 * crash there; what both show is compared after each event.
 */
import * as fc from "fast-check";
import { beforeAll, expect, test, vi } from "vitest";
import { createFoldDriver } from "../../support/fold-driver.ts";
import { toJson } from "../../../protocol/json.ts";
import { compareWithLive, type CorpusCase } from "../../support/machine-driver.ts";
import { askingMachine, randomMachine } from "../../support/random-machine.ts";
import { share } from "../../support/share.ts";

beforeAll(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));

/** As they are printed: the machine as data. */
const named = <T extends CorpusCase>(machines: fc.Arbitrary<T>) =>
  machines.map((of) => Object.assign(of, { [fc.toStringMethod]: () => of.name }));
const path = fc.array(fc.nat(999), { maxLength: 15 });
const eventsOf = (of: CorpusCase, picks: readonly number[]) =>
  picks.flatMap((pick) => of.events[pick % of.events.length] ?? []);

test("a random machine comes to the same states, contexts and outputs in a saga as in a live actor", () => {
  const compared = fc.property(named(randomMachine), path, (of, picks) =>
    compareWithLive(of, createFoldDriver, eventsOf(of, picks)),
  );
  fc.assert(compared, { numRuns: share(60, 400), seed: 20261123 });
});

test("a random machine that asks for time, ids and chance anywhere is given the same with a crash at every turn", () => {
  let asked = 0;
  const agreeing = fc.property(named(askingMachine), path, (of, picks) => {
    const [crashing, kept] = [createFoldDriver(of), createFoldDriver(of, { keeps: true })];
    for (const event of [undefined, ...eventsOf(of, picks)]) {
      if (event !== undefined) for (const one of [crashing, kept]) one.send(event);
      expect(toJson(kept.state())).toEqual(toJson(crashing.state()));
    }
    const { context } = kept.state() as { context: { seen: readonly string[] } };
    expect(new Set(context.seen).size).toBe(context.seen.length);
    asked += context.seen.length;
  });
  const numRuns = share(40, 200);
  fc.assert(agreeing, { numRuns, seed: 20261124 });
  expect(asked).toBeGreaterThan(2 * numRuns);
});
