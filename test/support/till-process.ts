/** A worker of test/apps/till.ts in a process of its own, to be killed. Read here: MESH_URL, and what the application reads. */
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { newIncarnation, systemChance, systemClock } from "../../services/runtime/system.ts";
import { startWorker } from "../../services/worker/worker.ts";
import till from "../apps/till.ts";
import { testLog } from "./real-mesh.ts";

const nc = await connectNats({ servers: process.env["MESH_URL"] ?? "", name: "till" });
const incarnation = newIncarnation("worker");
const base = { clock: systemClock, chance: systemChance, log: testLog, callbackBase: "sagamesh:" };
await startWorker({ ...base, incarnation, ports: await openNatsPorts(nc) }, till);
console.log(`serves ${incarnation}`);
