/**
 * Goal: the same events give the same states in a saga and in a live XState actor, whatever the machine. Method: machines
 * and paths made by fast-check with a fixed seed; the saga is folded from text and put back to text at every turn, as after a
 * crash there; what both show is compared after each event.
 */
import * as fc from "fast-check";
import { beforeAll, expect, test, vi } from "vitest";
import { toJson } from "../../../protocol/json.ts";
import { createFoldDriver } from "../../support/fold-driver.ts";
import { createLiveDriver } from "../../support/machine-driver.ts";
import { randomMachine } from "../../support/random-machine.ts";
import { share } from "../../support/share.ts";

beforeAll(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));

/** As it is printed: the machine as data. */
const machine = randomMachine.map((of) => Object.assign(of, { [fc.toStringMethod]: () => of.name }));

test("a random machine comes to the same states, contexts and outputs in a saga as in a live actor", () => {
  const compared = fc.property(machine, fc.array(fc.nat(999), { maxLength: 15 }), (of, picks) => {
    const path = picks.flatMap((pick) => of.events[pick % of.events.length] ?? []);
    const live = createLiveDriver(of);
    const folded = createFoldDriver(of);
    expect(toJson(folded.state()), "after its start").toEqual(toJson(live.state()));
    path.forEach((event, index) => {
      live.send(event);
      folded.send(event);
      const so = path.slice(0, index + 1).map(({ type }) => type);
      expect(toJson(folded.state()), `after ${so.join(", ")}`).toEqual(toJson(live.state()));
    });
  });
  fc.assert(compared, { numRuns: share(60, 1_000), seed: 20261123 });
});
