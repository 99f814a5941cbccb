/**
 * The long agent as `sagamesh host` serves it, for tests that stop, freeze and kill hosts.
 *
 * Read from the environment: MESH_WORLD (the account's file), LONG_STEPS, LONG_THINK_MS.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { longAgent } from "../support/long-agent.ts";

const { MESH_WORLD = "", LONG_STEPS = "0", LONG_THINK_MS = "0" } = process.env;

export default longAgent({
  by: String(process.pid),
  steps: Number(LONG_STEPS),
  note: (line) => appendFileSync(MESH_WORLD, `${JSON.stringify(line)}\n`),
  fails: () => false,
  think: () => delay(Number(LONG_THINK_MS)),
}).app;
