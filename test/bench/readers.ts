/**
 * Readers: what a long saga costs those who read it: `inspect`, `why`, `verify` and `replay` from the command line.
 *
 * Method: a host makes the ledgers on a real server, a saga of so many `idempotent` steps, or an agent of so many decisions; then
 * each command runs in a process of its own. `cpu` is that process's, start and garbage included, `peak` its largest
 * resident set. A reader that is linear takes ten times as long for ten times as many, less what every command takes to start.
 *
 * It does not measure: blobs, several sagas, and how long the terminal takes to show what is said.
 */
import { fileURLToPath } from "node:url";
import { hostOn, openServer, startSaga, until } from "./bench-mesh.ts";
import type { Report } from "./figures.ts";
import { noopName } from "./noop-saga.ts";
import app from "./readers-app.ts";
import { usedBy } from "./used-by.ts";

const appFile = fileURLToPath(new URL("readers-app.ts", import.meta.url));

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
