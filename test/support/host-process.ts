/**
 * A host in a process of its own, to be killed. See mesh-process.ts for its environment.
 */
import { startHost } from "../../services/host/host.ts";
import { prepareProcess } from "./mesh-process.ts";

const { options, app, sayServing } = await prepareProcess("host");
await startHost(options, app);
sayServing();
