/**
 * Report: what a run came to, as a document, as a table and in words, and how to look at it with the server's own tool.
 */
import { DemoReport } from "../../protocol/documents/demo.ts";
import type { Account } from "../ledger/account.ts";
import { hireForRole } from "./hiring.ts";
import type { Processes } from "./processes.ts";
import { counts, type Recovery, type Strike, sumOf, type Tally } from "./reckon.ts";

interface Came {
  readonly ledger: Account;
  readonly seed: number;
  readonly strikes: readonly Strike[];
  readonly recoveries: ReadonlyMap<Strike, Recovery>;
  readonly processes: Processes;
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly elapsedMs: number;
}

/** The document of `--json`. */
export function reportOf({
  ledger,
  seed,
  strikes,
  recoveries,
  processes,
  tallies,
  elapsedMs,
}: Came): DemoReport {
  const kills = strikes.map((strike) => {
    const recovery = recoveries.get(strike);
    const { role: process, tool, effect, window } = strike.kill;
    return {
      ...{ process, pid: strike.pid, tool, effect, window, atMs: strike.at - ledger.startedAt },
      pickedUpBy: recovery === undefined ? null : processes.nameOf(recovery.by),
      recoveryMs: recovery?.ms ?? null,
    };
  });
  return DemoReport.parse({
    ...{ saga: ledger.saga, status: ledger.end?.intent.status ?? "unfinished", seed, kills, elapsedMs },
    effects: sumOf(tallies.values()),
    recoveryMs: kills.flatMap(({ recoveryMs }) => recoveryMs ?? []),
  });
}

/** The table of the outside world's books against the ledger. */
export function tableOf(tallies: ReadonlyMap<string, Tally>): string[] {
  const columns = Object.keys(counts) as (keyof Tally)[];
  const row = (name: string, effect: string, cells: readonly (string | number)[]): string =>
    `  ${name.padEnd(18)} ${effect.padEnd(11)}${cells.map((cell) => String(cell).padStart(11)).join("")}`;
  const rowOf = (name: string, effect: string, tally: Tally) =>
    row(
      name,
      effect,
      columns.map((column) => tally[column]),
    );
  const line = `  ${"─".repeat(96)}`;
  const { tools } = hireForRole.definition;
  return [
    row("tool", "class", Object.values(counts)),
    line,
    ...[...tallies].map(([tool, tally]) => rowOf(tool, tools.get(tool)?.effect ?? "", tally)),
    line,
    rowOf("all", "", sumOf(tallies.values())),
  ];
}

/** What the table means. `unfired`: kills that no request came for. */
export function conclusion(
  { status, kills, effects: { duplicates, lost, inDoubt }, recoveryMs, elapsedMs }: DemoReport,
  reason: string | undefined,
  unfired: number,
): string {
  const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const lines = [
    `Saga ${status}. ${kills.length} killed, ${duplicates} duplicates, ${lost} lost, in ${inSeconds(elapsedMs)}.`,
  ];
  if (recoveryMs.length > 0) lines.push(`Recovery took ${recoveryMs.map(inSeconds).join(", ")}.`);
  if (reason !== undefined) lines.push(`It ended with: ${reason}`);
  if (unfired > 0) lines.push(`Planned and not done, for want of a request to strike: ${unfired}.`);
  if (inDoubt > 0)
    lines.push(
      "In doubt: the worker that charged died without a word. The model looked the deposit up and went on; it was not charged again.",
    );
  return lines.join("\n");
}

/** The same streams, seen with the server's own tool. */
export function commandsFor(
  saga: string,
  url: string,
  options: { keep?: boolean | undefined; keepCommand?: string | undefined; dataDir?: string | undefined },
): string {
  const { keep = false, keepCommand = "sagamesh demo --keep", dataDir } = options;
  const nats = `nats --server ${url}`;
  return `${
    keep
      ? "The server stays until Ctrl-C. See the same streams for yourself, in another terminal:"
      : `The server ends now. To see such streams for yourself, run \`${keepCommand}\`: it stays until Ctrl-C, and in another terminal there are these, with the port and the saga that it then prints:`
  }

  ${nats} sub 'saga.${saga}.ledger' --stream LEDGER --all --terminate-at-end
      every turn of the saga, in order
  ${nats} stream report
      all streams; INBOX and WORK are empty: nothing is left open
  ${nats} kv ls CLAIM --verbose
      who claimed an effect that must not be done twice, and when${
        dataDir === undefined
          ? ""
          : `\n\nThe ledger stays in ${dataDir}: sagamesh inspect ${saga} --data ${dataDir}`
      }`;
}
