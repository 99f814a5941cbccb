/**
 * One process of the demo's mesh: `host` or `worker`. Composition only; it lives as long as the demo does, or until it
 * is killed.
 */
import { MeshError } from "../../protocol/errors.ts";
import { readConfig } from "../runtime/config.ts";
import { hostPart } from "../runtime/run-host.ts";
import { workerPart } from "../runtime/run-worker.ts";
import { serve } from "../runtime/serve.ts";
import app from "./app.ts";
import type { Letter } from "./processes.ts";

const role = process.argv[2];
const config = readConfig();
if ((role !== "host" && role !== "worker") || config.servers === undefined)
  throw new MeshError("USAGE", "this process is started by the demo: process.ts host|worker, with NATS_URL");
process.once("disconnect", () => process.exit(0)); // The demo is gone, whatever became of it.
const tell = (letter: Letter): void => void process.send?.(letter);

const forever = new AbortController().signal;
await serve({ config, signal: forever, report: (line) => console.error(line) }, 0, async (service) => {
  const incarnation = service.incarnation(role);
  tell({ incarnation });
  const named = { ...service, incarnation: () => incarnation };
  const part = role === "host" ? await hostPart(named, app) : await workerPart(named, app);
  tell("ready");
  return [part];
});
