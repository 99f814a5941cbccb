/** Goal and method: kills.test.ts. Each write of the journey's own ledger, with a death before it and one after it. */
import { describe, expect, test } from "vitest";
import { crashMatrix } from "sagamesh/testing";
import { placeOf } from "./agents.ts";
import { createOutside, heldAt } from "./outside.ts";
import { createTravel } from "./travel.ts";

const all = ["T1", "T2", "T3", "T4", "T5"] as const;
const nodeAt = (place: string) => all.find((node) => placeOf[node]?.place === place);

describe("with one death at each write of the journey's ledger", () => {
  test("what T5's failure undoes is given back once, in reverse, and nothing is held", async () => {
    const outside = createOutside();
    const { travel, app } = createTravel(outside);
    let turns: number | undefined;
    const report = await crashMatrix(
      app,
      async (t) => {
        outside.reset();
        outside.refuse("Cologne-SFO");
        const saga = await t.start(travel, {}, { id: "trip-1" });
        const { status, standing } = await saga.result();
        turns ??= (await saga.ledger()).length;
        const booked = outside.entries().map(({ place }) => nodeAt(place));
        return { status, standing, booked, back: outside.cancelled.map(nodeAt), held: heldAt(outside) };
      },
      { ledger: "trip-1" },
    );
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows).toHaveLength(2 * turns!);
  });
});
