/**
 * A host in a process of its own, for memory.ts and sleeping.ts: `node memory-host.ts URL TOOL_MS`. It sends its resident size
 * to its parent every 200 ms.
 */
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { hostOn } from "./bench-mesh.ts";
import { noopApp } from "./noop-saga.ts";

const [url = "", toolMs = "0"] = process.argv.slice(2);
const nc = await connectNats({ servers: url, name: "memory-host" });
const host = await hostOn(await openNatsPorts(nc), noopApp({ effect: "read", toolMs: Number(toolMs) }));
setInterval(() => {
  process.send?.({
    rss: process.memoryUsage.rss(),
    heapUsed: process.memoryUsage().heapUsed,
    resident: host.resident(),
  });
}, 200);
process.on("message", () => globalThis.gc?.()); // Where the parent started it with --expose-gc.
process.on("disconnect", () => process.exit());
