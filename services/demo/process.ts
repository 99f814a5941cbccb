/**
 * One process of the demo's mesh: `host` or `worker`. Composition only; it lives as long as the demo does, or
 * until it is killed.
 */
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { MeshError } from "../../protocol/errors.ts";
import { readConfig } from "../runtime/config.ts";
import { loadApp } from "../runtime/load-app.ts";
import { hostPart } from "../runtime/run-host.ts";
import { workerPart } from "../runtime/run-worker.ts";
import { serve } from "../runtime/serve.ts";
import { endWithDemo, tellDemo } from "./letters.ts";

const role = process.argv[2];
const config = readConfig();
if ((role !== "host" && role !== "worker") || config.servers === undefined)
  throw new MeshError("USAGE", "this process is started by the demo: process.ts host|worker, with NATS_URL");
endWithDemo();

// The application file has the form of this file: .ts in the sources, .js in the package.
const app = await loadApp(
  fileURLToPath(new URL(`./${role}-app${extname(import.meta.url)}`, import.meta.url)),
);
const forever = new AbortController().signal;
await serve({ config, signal: forever, report: (line) => console.error(line) }, 0, async (service) => {
  const incarnation = service.incarnation(role);
  tellDemo({ type: "born", incarnation });
  const named = { ...service, incarnation: () => incarnation };
  const part = role === "host" ? await hostPart(named, app) : await workerPart(named, app);
  tellDemo({ type: "ready" });
  return [part];
});
