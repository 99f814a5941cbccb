/** Runs the checks of burial-rules.ts with one rule of bury.ts broken, and prints which of them found it. */
import { AssertionError } from "node:assert";
import { plantFault } from "../../simulation/plant.ts";
import { burialPlants } from "./burial-plants.ts";

const plant = burialPlants.find(({ name }) => name === process.argv[2]);
if (plant !== undefined) plantFault(plant);
const { burialRules } = await import("./burial-rules.ts");
const found: string[] = [];
const broken: string[] = [];
for (const { name, holds } of Object.values(burialRules).flat())
  await holds().catch((error: unknown) =>
    error instanceof AssertionError ? found.push(name) : broken.push(`${name}: ${String(error)}`),
  );
process.stdout.write(JSON.stringify({ found, broken }));
