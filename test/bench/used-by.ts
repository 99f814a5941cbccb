/** What a command takes as a process of its own: start and garbage included. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { rounded } from "./figures.ts";

const main = fileURLToPath(new URL("../../services/cli/main.ts", import.meta.url));

/** Says on its way out what it has used. */
const telling = `data:text/javascript,process.on("exit",()=>{const u=process.resourceUsage();process.stderr.write("\\nused "+(u.userCPUTime+u.systemCPUTime)+" "+u.maxRSS+"\\n")})`;

/** Runs `sagamesh` with these words, from the sources, to its end; what it writes to stdout goes nowhere. */
export function usedBy(words: readonly string[]): Promise<Record<string, number>> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const flags = ["--max-semi-space-size=16", "--conditions=sagamesh-source", "--import", telling];
    const child = spawn(process.execPath, [...flags, main, ...words], {
      env: { ...process.env, MALLOC_ARENA_MAX: "2", LOG_LEVEL: "error" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (piece: Buffer) => (said += piece.toString()));
    child.once("error", reject);
    child.once("exit", (code) => {
      const [, cpu = "", peak = ""] = /\nused (\d+) (\d+)\n/.exec(said) ?? [];
      if (cpu === "") return reject(new Error(`${words.join(" ")} ended with ${code}: ${said}`));
      resolve({
        "cpu, s": rounded(Number(cpu) / 1e6),
        "wall, s": rounded((performance.now() - began) / 1_000),
        "peak, MB": rounded(Number(peak) / 1_024),
        exit: code ?? -1,
      });
    });
  });
}
