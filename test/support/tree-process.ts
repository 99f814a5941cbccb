/**
 * A host of the tree's application in a process of its own, to be killed.
 *
 * Read here: MESH_URL (server), MESH_WORLD (the outside world's file).
 */
import { startHost } from "../../services/host/host.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { newIncarnation, systemChance, systemClock } from "../../services/runtime/system.ts";
import { testLog } from "./real-mesh.ts";
import { treeApp } from "./tree-app.ts";

const { env } = process;
const ports = await openNatsPorts(await connectNats({ servers: env["MESH_URL"] ?? "", name: "host" }));
const incarnation = newIncarnation("host");
const base = { clock: systemClock, chance: systemChance, log: testLog, callbackBase: "sagamesh:" };
await startHost({ ...base, ports, incarnation }, treeApp(env["MESH_WORLD"] ?? "").app);
console.log(`serves ${incarnation}`);
