/** Runs the simulator's command in a process of its own, as tests need it: planted faults change what is loaded. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Violation } from "./oracle.ts";

export interface Report {
  readonly fault?: string;
  readonly ran: number;
  readonly ms: number;
  readonly found: readonly { readonly seed: number; readonly violations: readonly Violation[] }[];
}

const command = fileURLToPath(new URL("run.ts", import.meta.url));

/** Processes at once: as many as the machines that run the suite have cores. */
const atOnceMax = 2;
let running = 0;
const waiting: (() => void)[] = [];

/**
 * The command's report, and its words for whoever reads a failure. Takes its turn: two run at once. Throws if it
 * did not run.
 */
export async function runSimulation(options: readonly string[]): Promise<{ report: Report; text: string }> {
  if (running < atOnceMax) running += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await runNow(options);
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next(); // The turn is handed over.
  }
}

async function runNow(options: readonly string[]): Promise<{ report: Report; text: string }> {
  const child = spawn(process.execPath, ["--conditions=sagamesh-source", command, "--json", ...options], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (data: Buffer) => (output.stdout += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output.stderr += data.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const last = output.stdout.trim().split("\n").at(-1) ?? "";
  if ((code !== 0 && code !== 1) || !last.startsWith("{"))
    throw new Error(`the simulator ended with ${String(code)}:\n${output.stderr || output.stdout}`);
  const report = JSON.parse(last) as Report; // Proof: the command's own report, written by run.ts.
  const [first] = report.found;
  const text =
    first === undefined
      ? ""
      : `seed ${first.seed}: ${first.violations.map(({ promise, what }) => `${promise} ${what}`).join("; ")}\n` +
        `again: npm run test:simulation -- --seeds 1 --from ${first.seed} --trace`;
  return { report, text };
}
