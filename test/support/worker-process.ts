/**
 * A worker in a process of its own, to be killed. See mesh-process.ts for its environment.
 */
import { startWorker } from "../../services/worker/worker.ts";
import { prepareProcess } from "./mesh-process.ts";

const { options, app, sayServing } = await prepareProcess("worker");
await startWorker(options, app);
sayServing();
