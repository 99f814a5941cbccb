/**
 * One process of the demo's mesh: `host` or `worker`, embedded as any program would embed it. It lives as long as the
 * demo does, or until it is killed.
 */
import { startHost, startWorker } from "sagamesh";
import { guardExit } from "../runtime/exit-guard.ts";
import app from "./app.ts";

guardExit();
process.once("disconnect", () => process.exit(0)); // The demo is gone, whatever became of it.
const start = process.argv[2] === "host" ? startHost : startWorker;
const running = await start({ app, logLevel: "info" });
process.send?.("ready");
throw await running.lost;
