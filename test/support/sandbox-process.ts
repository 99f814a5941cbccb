/** Runs code in the sandbox of this process and prints what came of it: `sandbox-process.ts CODE INPUT`. */
import { runCode } from "../../services/sandbox/index.ts";

const [code = "", input = "null"] = process.argv.slice(2);
const context = { abort: new AbortController().signal } as never;
process.stdout.write(
  JSON.stringify(await runCode().body!.perform({ code, input: JSON.parse(input) }, context)),
);
