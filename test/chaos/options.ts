/** Options: how a run is told what to do, and its help. */
import { parseArgs } from "node:util";
import { plants } from "../simulation/plants.ts";

export interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly hosts: number;
  readonly workers: number;
  readonly partitions: number;
  /** Streams that ledgers are spread over. */
  readonly shards: number;
  readonly sagaEveryMs: number;
  readonly blowEveryMs: number;
  readonly serverBlowEveryMs: number;
  readonly settleMs: number;
  readonly sleepers: number;
  /** A rule of the product to be broken in hosts and workers, by its name in test/simulation/plants.ts. */
  readonly plant: string | undefined;
  /** Names of attacks, `all`, `short` (those that say so of themselves) or `none`. */
  readonly attacks: readonly string[];
  readonly prove: boolean;
  readonly data: string | undefined;
  readonly json: boolean;
}

const defaults = {
  minutes: "5",
  hosts: "3",
  workers: "2",
  partitions: "6",
  shards: "1",
  "saga-every": "1",
  "blow-every": "3",
  "server-every": "25",
  settle: "240",
  sleepers: "12",
  attacks: "all",
} as const;

/** What a change must survive before it is merged: as much as fits into a minute. */
const short = {
  minutes: "0.5",
  hosts: "2",
  workers: "1",
  partitions: "4",
  shards: "1",
  "saga-every": "1",
  "blow-every": "3",
  "server-every": "12",
  settle: "120",
  sleepers: "4",
  attacks: "short",
} as const;

export const help = `Real hosts, workers, three servers and an outside world with its own account: killed, stopped, thawed and cut off
by a seed, and held to P1 to P5 when all has come to rest.

  npm run test:chaos -- [--minutes M] [--seed S] [options]

  --minutes M        how long things are done to it (${defaults.minutes})
  --seed S           decides what is done to whom and when, and what the clients want; drawn and printed if left out.
                     Real time makes runs of one seed differ: who does what at that moment is not of the seed
  --short            ${short.minutes} minutes and a smaller cast: what .ci/run does
  --hosts N          (${defaults.hosts})
  --workers N        (${defaults.workers})
  --partitions N     of the mesh (${defaults.partitions})
  --shards N         streams that ledgers are spread over (${defaults.shards})
  --saga-every S     two sagas begin about every S seconds (${defaults["saga-every"]})
  --blow-every S     a process or its line is struck about every S seconds (${defaults["blow-every"]})
  --server-every S   a server is struck about every S seconds, one at a time (${defaults["server-every"]})
  --sleepers N       sagas that wait through the whole run (${defaults.sleepers})
  --attacks NAMES    attackers that take part, by name, comma between them; all, short or none (${defaults.attacks})
  --settle S         after the last blow everything must come to rest within S seconds (${defaults.settle})
  --prove            after the verdict, spoils what the run left behind in several ways; each must be found
  --plant NAME       breaks a rule of the product in hosts and workers; then exit 0 means that this was found
  --data FOLDER      keeps ledgers, logs, account and stores there; else only a failed run's are kept
  --json             the report as one line of JSON on standard output, and nothing else there

Exit 0: every promise held. 1: one was broken; what, where and how to look is said. 2: bad usage.

Rules that --plant can break:
${plants.map(({ name, rule }) => `  ${name.padEnd(30)} ${rule}`).join("\n")}
`;

export class Usage extends Error {}

/** Throws Usage with what is wrong. Undefined: help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const text = { type: "string" } as const;
  const { values } = parse(() =>
    parseArgs({
      args: [...args],
      options: {
        ...{
          minutes: text,
          seed: text,
          hosts: text,
          workers: text,
          partitions: text,
          settle: text,
          shards: text,
        },
        ...{
          "saga-every": text,
          "blow-every": text,
          "server-every": text,
          sleepers: text,
          data: text,
          attacks: text,
        },
        ...{
          plant: text,
          prove: { type: "boolean" },
          short: { type: "boolean" },
          json: { type: "boolean" },
          help: { type: "boolean" },
        },
      },
    }),
  );
  if (values.help === true) return undefined;
  const preset = { ...defaults, ...(values.short === true ? short : {}) };
  const number = (name: Exclude<keyof typeof defaults, "attacks">, least: number): number => {
    const said = values[name] ?? preset[name];
    const value = Number(said);
    if (said === "" || !Number.isFinite(value) || value < least)
      throw new Usage(`--${name}: expected a number of at least ${least}, got "${said}"`);
    return value;
  };
  if (values.plant !== undefined && !plants.some(({ name }) => name === values.plant))
    throw new Usage(`--plant: no rule is named "${values.plant}"; --help lists them`);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new Usage(`--seed: expected a whole number, got "${values.seed ?? ""}"`);
  return {
    ...{ seed, minutes: number("minutes", 0.1), data: values.data, json: values.json === true },
    ...{ hosts: Math.floor(number("hosts", 1)), workers: Math.floor(number("workers", 1)) },
    ...{ partitions: Math.floor(number("partitions", 1)), sleepers: Math.floor(number("sleepers", 0)) },
    shards: Math.floor(number("shards", 1)),
    sagaEveryMs: number("saga-every", 0.05) * 1_000,
    blowEveryMs: number("blow-every", 0.1) * 1_000,
    serverBlowEveryMs: number("server-every", 1) * 1_000,
    settleMs: number("settle", 10) * 1_000,
    attacks: (values.attacks ?? preset.attacks).split(",").map((name) => name.trim()),
    ...{ plant: values.plant, prove: values.prove === true },
  };
}

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Usage(error instanceof Error ? error.message : String(error));
  }
}
