/**
 * A worker in a process of its own for the application file MESH_APP, to be killed at MESH_KILL (see kill-switch.ts).
 * MESH_URL names the server.
 */
import { resolve } from "node:path";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { loadApp } from "../../services/runtime/load-app.ts";
import { newIncarnation, systemChance, systemClock } from "../../services/runtime/system.ts";
import { startWorker } from "../../services/worker/worker.ts";
import { createKillSwitch, withKillSwitch } from "./kill-switch.ts";
import { testLog } from "./real-mesh.ts";

const { env } = process;
const nc = await connectNats({ servers: env["MESH_URL"] ?? "", name: "worker" });
const ports = withKillSwitch(await openNatsPorts(nc), createKillSwitch(env["MESH_KILL"]));
const incarnation = newIncarnation("worker");
const base = { clock: systemClock, chance: systemChance, log: testLog, callbackBase: "sagamesh:" };
await startWorker({ ...base, ports, incarnation }, await loadApp(resolve(env["MESH_APP"] ?? "")));
console.log(`serves ${incarnation}`);
