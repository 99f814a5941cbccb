/**
 * The laws of any workflow on source in which a rule is broken: `node planted.ts NAME`. Its end is what they say.
 */
import { plantFault } from "../../simulation/plant.ts";
import { plants } from "./plants.ts";

const plant = plants.find(({ name }) => name === process.argv[2]);
if (plant === undefined) throw new Error(`there is no plant "${process.argv[2]}"`);
plantFault(plant);
const { laws } = await import("./random-workflow.ts");
for (let k = 0; k < 20; k++) for (const holds of Object.values(laws)) holds({ times: 1, shrinks: false });
