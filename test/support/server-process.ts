/** A process that starts a test's server, says its process id, and waits to be killed. */
import { startTestServer } from "./nats-server.ts";

console.log(`server ${(await startTestServer()).pid}`);
setInterval(() => undefined, 1_000);
