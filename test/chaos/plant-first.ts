/** Loaded before a host or a worker whose rule CHAOS_FAULT is to be broken. */
import { plantFault } from "../simulation/plant.ts";
import { plants } from "../simulation/plants.ts";

const name = process.env["CHAOS_FAULT"];
const plant = plants.find((one) => one.name === name);
if (plant === undefined) throw new Error(`no rule's breach is named "${name ?? ""}"`);
plantFault(plant);
