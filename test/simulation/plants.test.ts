/**
 * The planted faults stand where they say: a planted line that was moved or reworded is named here, and not only when
 * planted-faults.e2e.test.ts breaks the rules one by one.
 */
import { describe, expect, test } from "vitest";
import { plantedSource } from "./plant.ts";
import { plants } from "./plants.ts";

describe("planted faults", () => {
  test("every plant changes exactly the words it names", () => {
    const faults = plants.flatMap((plant) =>
      plant.edits.flatMap(({ file }) => {
        try {
          return plantedSource(plant, file) === "" ? [`${plant.name}: ${file} is empty`] : [];
        } catch (error) {
          return [String(error)];
        }
      }),
    );
    expect(faults).toEqual([]);
  });

  test("names and rules are told apart", () => {
    expect(new Set(plants.map(({ name }) => name)).size).toBe(plants.length);
    expect(new Set(plants.map(({ rule }) => rule)).size).toBe(plants.length);
    expect(plants.length).toBeGreaterThanOrEqual(25);
  });
});
