/**
 * A host or a worker of the long run in a process of its own, to be killed at any moment.
 *
 * Read from the environment: MESH_URL (server), MESH_WORLD (the account's file), LONG_ROLE (host or worker),
 * LONG_STEPS, LONG_SEED, LONG_ALONE (set: a host hears of no other host).
 */
import { appendFileSync } from "node:fs";
import { startHost } from "../../services/host/host.ts";
import { seededChance } from "../../services/memory/faults.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { newIncarnation, systemChance, systemClock } from "../../services/runtime/system.ts";
import { startWorker } from "../../services/worker/worker.ts";
import { aloneIn } from "./alone.ts";
import { longAgent } from "./long-agent.ts";
import { testLog } from "./real-mesh.ts";

const {
  MESH_URL = "",
  MESH_WORLD = "",
  LONG_ROLE = "host",
  LONG_STEPS = "0",
  LONG_SEED = "0",
  LONG_ALONE,
} = process.env;
const incarnation = newIncarnation(LONG_ROLE);
const chance = seededChance(Number(LONG_SEED), incarnation);
const { app } = longAgent({
  by: incarnation,
  steps: Number(LONG_STEPS),
  note: (line) => appendFileSync(MESH_WORLD, `${JSON.stringify(line)}\n`),
  fails: () => chance.happens(0.01),
  think: () => systemClock.sleep(20),
});
const nc = await connectNats({ servers: MESH_URL, name: LONG_ROLE });
const ports = await openNatsPorts(nc);
const options = {
  ports: LONG_ALONE === undefined ? ports : aloneIn(ports, incarnation),
  clock: systemClock,
  chance: systemChance,
  log: testLog,
  incarnation,
  callbackBase: "sagamesh:",
};
await (LONG_ROLE === "host" ? startHost(options, app) : startWorker(options, app));
console.log(`serves ${incarnation}`);
