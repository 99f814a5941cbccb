/**
 * Processes that tests start find the sources compiled: a run starts hundreds, and most load the same files. Not the tests' own
 * process, which has started already; what the engine counts, it must have compiled itself (`compiledAnew`).
 */
import { fileURLToPath } from "node:url";

process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
  new URL("../../node_modules/.cache/sagamesh/compiled", import.meta.url),
);

/** For a process that counts what runs: of what was compiled before, the engine does not know where a block begins. */
export const compiledAnew: NodeJS.ProcessEnv = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" };
