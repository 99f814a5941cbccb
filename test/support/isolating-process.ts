/** A process that starts one for suspects, which never serves; it waits to be killed. */
import { fileURLToPath } from "node:url";
import { forkIsolated } from "../../services/runtime/isolate.ts";

const appFile = fileURLToPath(new URL("spinning-app.ts", import.meta.url));
const gateway = { url: undefined, secrets: [], folder: "" };
const isolate = forkIsolated({ role: "host", appFile, servers: "", logLevel: "warn", gateway });
isolate(() => undefined).catch(() => undefined);
setInterval(() => undefined, 1_000);
