/** Hosts that die, are cut off or stand still, and the one that looks at them: who is found dead, and what becomes of it. */
import { describe, expect, test } from "vitest";
import { plantedSource } from "../../simulation/plant.ts";
import { burialPlants } from "./burial-plants.ts";
import { burialRules } from "./burial-rules.ts";

for (const [what, rules] of Object.entries(burialRules))
  describe(what, () => {
    test.each(rules)("$name", ({ holds }) => holds());
  });

test("the faults that planted-burials.e2e.test.ts plants stand where they say", () => {
  for (const plant of burialPlants)
    for (const { file } of plant.edits) expect(plantedSource(plant, file)).not.toBe("");
});
