/**
 * Begin: the command line, on a Node that can run it. What it needs is loaded after the compile cache is on, which
 * halves the time until a command begins.
 */
import { enableCompileCache } from "node:module";
import type { ProgressDocument } from "../../protocol/documents/stderr.ts";
import { guardExit } from "../runtime/exit-guard.ts";

const isJson = process.argv.includes("--json");
guardExit((progress) => (isJson ? JSON.stringify({ progress } satisfies ProgressDocument) : progress));
enableCompileCache();
const [{ commands }, { runCommandLine }] = await Promise.all([
  import("./commands.ts"),
  import("./frame/run.ts"),
]);
await runCommandLine(commands, process.argv.slice(2));
