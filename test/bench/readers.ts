/**
 * Readers: what a long saga costs those who read it: `inspect`, `why`, `verify` and `replay` from the command line.
 *
 * Method: a host makes the ledgers on a real server, a saga of so many `idempotent` steps, or an agent of so many decisions; then
 * each command runs in a process of its own. `cpu` is that process's, start and garbage included, `peak` its largest
 * resident set. A reader that is linear takes ten times as long for ten times as many, less what every command takes to start.
 *
 * It does not measure: blobs, several sagas, and how long the terminal takes to show what is said.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { hostOn, openServer, startSaga, until } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import { noopName } from "./noop-saga.ts";
import app from "./readers-app.ts";

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const main = file("../../services/cli/main.ts");
const appFile = file("readers-app.ts");

/** Says on its way out what it has used. */
const telling = `data:text/javascript,process.on("exit",()=>{const u=process.resourceUsage();process.stderr.write("\\nused "+(u.userCPUTime+u.systemCPUTime)+" "+u.maxRSS+"\\n")})`;

const commands: Readonly<Record<string, readonly string[]>> = {
  inspect: ["inspect", "--json"],
  why: ["why"],
  verify: ["verify"],
  "verify --app": ["verify", "--app", appFile],
  replay: ["replay", "--app", appFile],
};

export async function measureReaders(options: {
  readonly steps: readonly number[];
  readonly decisions: readonly number[];
}): Promise<Report> {
  const bench = await openServer("default");
  try {
    const turns = new Map<string, number>();
    const ended = new Set<string>();
    const host = await hostOn(bench.ports, app, {
      turn: ({ state }) => {
        turns.set(state.saga, state.turn);
        if (state.phase.kind === "ended") ended.add(state.saga);
      },
    });
    for (const steps of options.steps)
      await startSaga(bench.ports, `steps-${steps}`, noopName("host"), { steps });
    for (const decisions of options.decisions)
      await startSaga(bench.ports, `talk-${decisions}`, "talk", { decisions });
    const sagas = [
      ...options.steps.map((steps) => ({ saga: `steps-${steps}`, what: `${steps} steps` })),
      ...options.decisions.map((n) => ({ saga: `talk-${n}`, what: `an agent's ${n} decisions` })),
    ];
    await until("the ledgers are made", () => ended.size === sagas.length, 3_600_000);
    await host.stop(1_000);
    const rows = [];
    for (const { saga, what } of sagas)
      for (const [name, words] of Object.entries(commands)) {
        const used = await usedBy([...words, saga, "--server", bench.server.url]);
        const row = { saga: what, turns: turns.get(saga) ?? 0, command: name, ...used };
        console.error(JSON.stringify(row)); // A run of 100,000 turns takes long, and is watched.
        rows.push(row);
      }
    return { title: "What a long saga costs its readers", rows, notes: ["Goal: 100,000 turns in 5 s each."] };
  } finally {
    await bench.close();
  }
}

function usedBy(words: readonly string[]): Promise<Record<string, number>> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const flags = ["--max-semi-space-size=16", "--conditions=sagamesh-source", "--import", telling];
    const child = spawn(process.execPath, [...flags, main, ...words], {
      env: { ...process.env, MALLOC_ARENA_MAX: "2", LOG_LEVEL: "error" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (piece: Buffer) => (said += piece.toString()));
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
