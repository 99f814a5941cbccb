/**
 * Start: a host or a worker in a program of one's own. What they are made of is loaded when one is started: an
 * application's file imports these and most programs that load it never call them.
 */
import type { StartHostOptions } from "./run-host.ts";
import type { StartWorkerOptions } from "./run-worker.ts";
import type { Running } from "./running.ts";

/**
 * Starts a host in this process: it owns sagas, decides, appends, dispatches and asks models, beside any number of other
 * hosts. Resolves when it serves; partitions come to it within seconds, which `health()` tells.
 *
 * A process that dies in the middle loses nothing: its sagas go on with the next host, from their ledgers, and what of
 * their effects has an unknown outcome is handled by the effect's class. Throws USAGE with every bad option, APP_INVALID
 * with every fault of the application, DEFINITION_CHANGED for a definition that was changed without a new version while
 * sagas of the old one live, unless `beside` is true, and what connecting throws (UNAVAILABLE, SERVER_TOO_OLD,
 * SERVER_MISSING, SERVER_MISCONFIGURED); then nothing is left running.
 *
 * @example
 * await using host = await startHost({ app });
 * process.once("SIGTERM", () => void host.stop());
 */
export async function startHost(options: StartHostOptions): Promise<Running> {
  return (await import("./run-host.ts")).runHost(options);
}

/**
 * Starts a worker in this process: it performs tools, beside any number of other workers. Resolves when it serves.
 *
 * A process that dies in the middle of a call leaves it to the next worker, by the effect's class: a `read` runs again,
 * an `idempotent` one under the same key, a `probe` asks the outside first, a `once` is in doubt. Throws USAGE with every
 * bad option, APP_INVALID with every fault of the application, TOOL_UNSERVED for a tool without a body, and what
 * connecting throws (UNAVAILABLE, SERVER_TOO_OLD, SERVER_MISSING, SERVER_MISCONFIGURED); then nothing is left running.
 *
 * @example
 * await using worker = await startWorker({ app, tools: ["charge_card"] });
 */
export async function startWorker(options: StartWorkerOptions): Promise<Running> {
  return (await import("./run-worker.ts")).runWorker(options);
}
