/**
 * The worlds of test/model that take some seconds each: two sagas, workers, hosts that differ, two that own one saga.
 *
 * Method: as model.test.ts.
 */
import { expect, test } from "vitest";
import { walk } from "./search.ts";
import { middle } from "./worlds.ts";

/** As the README has them. */
const statesOf: Readonly<Record<string, number>> = {
  "two owners and a death": 256_528,
  worker: 125_640,
  child: 99_339,
  "definitions differ": 131_937,
};

test.for(middle)(
  "$name: no promise is broken, and from each state an end can be reached",
  { timeout: 300_000 },
  (one) => {
    const { states, broken, trace, isCut } = walk(one);
    expect(broken, trace.join("\n")).toBeUndefined();
    expect({ states, isCut }).toEqual({ states: statesOf[one.name], isCut: false });
  },
);
