/**
 * What the processes of the kill tests have in common: their ports behind a kill switch, told by the
 * environment, and a word on standard output once they serve.
 *
 * Read here: MESH_URL (server), MESH_WORLD (the outside world's file), MESH_KILL (the point, see
 * kill-switch.ts; absent for none).
 */
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { newIncarnation, systemChance, systemClock } from "../../services/runtime/system.ts";
import { killApp } from "./kill-app.ts";
import { createKillSwitch, withKillSwitch } from "./kill-switch.ts";
import { testLog } from "./real-mesh.ts";

const { env } = process;

/** The options of a host or worker of this process, and its application. */
export async function prepareProcess(role: "host" | "worker") {
  const kill = createKillSwitch(env["MESH_KILL"]);
  const nc = await connectNats({ servers: env["MESH_URL"] ?? "", name: role });
  const ports = withKillSwitch(await openNatsPorts(nc), kill);
  const { app } = killApp(env["MESH_WORLD"] ?? "", kill);
  const incarnation = newIncarnation(role);
  const base = { clock: systemClock, chance: systemChance, log: testLog, callbackBase: "sagamesh:" };
  return {
    options: { ...base, ports, incarnation },
    app,
    sayServing: () => console.log(`serves ${incarnation}`),
  };
}
