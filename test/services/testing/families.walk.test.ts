/**
 * Goal: machines whose actors are machines, whose actors are machines, come to the same states as sagas in a mesh as in XState's
 * interpreter, whatever dies between any two events. Method: three generations and paths made by fast-check with a fixed seed,
 * which start, invoke, tell, stop, replace and lose one another; what each machine shows is compared after each event, and the
 * host and the worker die before it.
 */
import * as fc from "fast-check";
import { beforeAll, expect, test, vi } from "vitest";
import { compareFamily, randomFamily } from "../../support/family-driver.ts";
import { share } from "../../support/share.ts";

beforeAll(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined); // XState, of what is sent to an actor that has ended.
  vi.spyOn(process, "emitWarning").mockImplementation(() => undefined); // Signals that no state of a machine takes.
});

/** As they are printed: the machines as data. */
const families = randomFamily.map((of) => Object.assign(of, { [fc.toStringMethod]: () => of.name }));
const picks = fc.array(fc.nat(999), { maxLength: 12 });

test("machines in machines in machines come to the same states in a mesh as in a live actor", async () => {
  let [events, deep] = [0, 0];
  const compared = fc.asyncProperty(families, picks, async (of, chosen) => {
    const alphabet = [...of.events, "tick"];
    const path = chosen.flatMap((pick) => alphabet[pick % alphabet.length] ?? []);
    const { third, ...one } = await compareFamily(of, path);
    events += one.events;
    deep += Number(third > 0);
  });
  const numRuns = share(12, 120);
  await fc.assert(compared, { numRuns, seed: 20261123 });
  expect(events, "paths were compared").toBeGreaterThan(2 * numRuns);
  expect(deep, "and third generations").toBeGreaterThan(numRuns / 12);
});
