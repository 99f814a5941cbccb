/**
 * The chief and its fifty clerks as an application file. Read from the environment: MESH_WORLD (the bill, a line for
 * each model call).
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fiftyApp } from "../support/fifty.ts";

export default fiftyApp({
  bill: (bill) => appendFileSync(process.env["MESH_WORLD"] ?? "", `${JSON.stringify(bill)}\n`),
  think: () => delay(200),
});
