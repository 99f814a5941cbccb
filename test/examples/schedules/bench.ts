/**
 * Instances of REALM-Bench, problems 1 to 10, in its own JSON: which rules can be stated of each, and which cannot because
 * the instance does not say enough. Problem 11 is the job shop.
 *
 *     P1, P2  tours         rows of visits, rows of tours          P5, P8  wedding   the wedding's own actions
 *     P3, P4  rides         rows of a vehicle's legs               P6, P9  dinner    rows of dishes
 *     P7      relief        rows of deliveries                     P10     supply    rows of orders and of work
 */
import { z } from "zod";
import { dinnerInstance, weddingInstance } from "./bench-family.ts";
import { ridesInstance } from "./bench-rides.ts";
import { reliefInstance, supplyInstance } from "./bench-supply.ts";
import { tourInstance, toursInstance } from "./bench-tours.ts";
import type { Instance } from "./rows-of.ts";

/** The instance that the data is; undefined where it is none, or of a problem that has no rules here. */
export function readInstance(data: unknown): Instance | undefined {
  if (!z.object({ instance_id: z.string() }).safeParse(data).success) return undefined;
  for (const read of [
    tourInstance,
    toursInstance,
    ridesInstance,
    weddingInstance,
    dinnerInstance,
    reliefInstance,
    supplyInstance,
  ]) {
    const instance = read(data);
    if (instance !== undefined) return instance;
  }
  return undefined;
}
