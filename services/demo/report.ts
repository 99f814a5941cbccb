/**
 * Report: what a run came to, as a document and in words, and how to look at it with the server's own tool.
 */
import { DemoReport } from "../../protocol/documents/demo.ts";
import type { Turn } from "../../protocol/turn.ts";
import { endIn } from "../client/follow-turns.ts";
import { hireForRole } from "./hiring.ts";
import type { Processes } from "./processes.ts";
import { recoveryOf, type Strike, sumOf, type Tally } from "./reckon.ts";
import { tableOf } from "./story.ts";

type Tallies = ReadonlyMap<string, Tally>;

interface Came {
  readonly id: string;
  readonly seed: number;
  readonly turns: readonly Turn[];
  readonly strikes: readonly Strike[];
  readonly processes: Processes;
  readonly tallies: Tallies;
  readonly elapsedMs: number;
}

/** The document of `--json`. */
export function reportOf({ id, seed, turns, strikes, processes, tallies, elapsedMs }: Came): DemoReport {
  const kills = strikes.map((strike) => {
    const recovery = recoveryOf(strike, processes.incarnationOf(strike.pid), turns);
    const { role: process, tool, effect, window } = strike.kill;
    return {
      ...{ process, pid: strike.pid, tool, effect, window, atMs: strike.at - (turns[0]?.at ?? 0) },
      pickedUpBy: recovery === undefined ? null : processes.nameOf(recovery.by),
      recoveryMs: recovery?.ms ?? null,
    };
  });
  return DemoReport.parse({
    ...{ saga: id, status: endOf(turns)?.status ?? "unfinished", seed, kills, elapsedMs },
    effects: sumOf(tallies.values()),
    recoveryMs: kills.flatMap(({ recoveryMs }) => recoveryMs ?? []),
  });
}

const endOf = (turns: readonly Turn[]) => turns.map(endIn).findLast((end) => end !== undefined);

const effectOf = new Map([...hireForRole.definition.tools.values()].map((tool) => [tool.name, tool.effect]));

/** The table and what it means. `unfired`: kills that no request came for. */
export function conclusion(
  { status, kills, effects: { duplicates, lost, inDoubt }, recoveryMs, elapsedMs }: DemoReport,
  turns: readonly Turn[],
  tallies: Tallies,
  unfired: number,
): string[] {
  const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const reason = endOf(turns)?.reason;
  return [
    "The outside world's own account against the saga's ledger:",
    "",
    ...tableOf(tallies, effectOf, sumOf(tallies.values())),
    "",
    `Saga ${status}. ${kills.length} killed, ${duplicates} duplicates, ${lost} lost, in ${inSeconds(elapsedMs)}.`,
    ...(recoveryMs.length === 0 ? [] : [`Recovery took ${recoveryMs.map(inSeconds).join(", ")}.`]),
    ...(reason === undefined ? [] : [`It ended with: ${reason}`]),
    ...(unfired === 0 ? [] : [`Planned and not done, for want of a request to strike: ${unfired}.`]),
    ...(inDoubt === 0
      ? []
      : [
          "In doubt: the worker that charged died without a word. The model looked the deposit up and went on; it was not charged again.",
        ]),
  ];
}

/** The same streams, seen with the server's own tool. */
export function commandsFor(
  saga: string,
  url: string,
  options: { keep?: boolean | undefined; keepCommand?: string | undefined; dataDir?: string | undefined },
): string[] {
  const { keep = false, keepCommand = "sagamesh demo --keep", dataDir } = options;
  const nats = `nats --server ${url}`;
  return [
    keep
      ? "The server stays until Ctrl-C. See the same streams for yourself, in another terminal:"
      : `The server ends now. To see such streams for yourself, run \`${keepCommand}\`: it stays until Ctrl-C, and in another terminal there are these, with the port and the saga that it then prints:`,
    "",
    `  ${nats} sub 'saga.${saga}.ledger' --stream LEDGER --all --terminate-at-end`,
    "      every turn of the saga, in order",
    `  ${nats} stream report`,
    "      all streams; INBOX and WORK are empty: nothing is left open",
    `  ${nats} kv ls CLAIM --verbose`,
    "      who claimed an effect that must not be done twice, and when",
    ...(dataDir === undefined
      ? []
      : ["", `The ledger stays in ${dataDir}: sagamesh inspect ${saga} --data ${dataDir}`]),
  ];
}
