/**
 * An archiver in a process of its own, to be killed. It archives every saga that has ended, and says how it went.
 *
 * Read here: MESH_URL (server), MESH_FOLDER (where the files go), MESH_KILL (the point, see kill-switch.ts).
 */
import { archiveAll } from "../../services/archive/all.ts";
import { openFolder } from "../../services/archive/archive.ts";
import { readRegistry } from "../../services/client/registry.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import type { Ports } from "../../services/wire/ports.ts";
import { newIncarnation, systemChance, systemClock } from "../../services/runtime/system.ts";
import { createKillSwitch } from "./kill-switch.ts";

const { env } = process;
const kill = createKillSwitch(env["MESH_KILL"]);

const bracketed = <P extends object>(name: string, port: P): P =>
  new Proxy(port, {
    get: (target, method, receiver) => {
      const call: unknown = Reflect.get(target, method, receiver);
      if (typeof call !== "function") return call;
      return async (...args: unknown[]) => {
        kill.before(`${name}.${String(method)}`);
        const answer: unknown = await Reflect.apply(call, target, args);
        kill.after(`${name}.${String(method)}`);
        return answer;
      };
    },
  });

const nc = await connectNats({ servers: env["MESH_URL"] ?? "", name: "archiver" });
const opened = await openNatsPorts(nc);
const ports: Ports = {
  ...opened,
  ledger: bracketed("ledger", opened.ledger),
  blobs: bracketed("blobs", opened.blobs),
  snapshots: bracketed("snapshots", opened.snapshots),
};
const folder = env["MESH_FOLDER"] ?? "";
await openFolder(folder, systemClock.now());
console.log(`serves ${newIncarnation("archiver")}`);
const deps = {
  ports,
  clock: systemClock,
  chance: systemChance,
  by: "archiver",
  folder,
  registered: await readRegistry(ports.registry),
};
const sagas = (await ports.ledger.list()).map(({ saga }) => saga);
const options = { afterMs: 0, isForced: false, isDryRun: false, signal: new AbortController().signal };
let failed = 0;
await archiveAll(deps, sagas, options, ({ outcome }) => {
  if (outcome === "failed") failed += 1;
});
process.exit(failed === 0 ? 0 : 1);
