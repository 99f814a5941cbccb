/**
 * The benchmarks' door: `npm run bench [-- NAME…] [options]`.
 *
 * Prints a table for each, and writes nothing but what `--write` asks for. Absolute figures are of this machine at this moment; what may be
 * compared over time are the ratios of one interleaved run.
 */
import { parseArgs } from "node:util";
import { measureBeats } from "./beats.ts";
import type { Sync } from "./bench-mesh.ts";
import { measureStepBytes } from "./bytes.ts";
import { measureConversations } from "./conversation.ts";
import { measureCost } from "./cost.ts";
import { measureDue } from "./due.ts";
import { type Beside, measureExits } from "./exits.ts";
import { type Report, renderReport } from "./figures.ts";
import { measureFolds } from "./fold.ts";
import { measureHop } from "./hop.ts";
import { measureLag } from "./lag.ts";
import { measureLeft } from "./left.ts";
import { measureHosts } from "./hosts.ts";
import { measureIdle } from "./idle.ts";
import { measureLimit } from "./limit.ts";
import { measureLines } from "./line.ts";
import { measureLoads } from "./load.ts";
import { measureMemory } from "./memory.ts";
import type { Placement } from "./noop-saga.ts";
import { reckon } from "./model.ts";
import { measureParked } from "./parked.ts";
import { type CaseName, caseNames } from "./peers/peer.ts";
import { allPeers, measurePeers } from "./peers/peers.ts";
import { measureReaders } from "./readers.ts";
import { measureRecovery } from "./recovery.ts";
import { writeResults } from "./results.ts";
import { measureSchedules } from "./schedules.ts";
import { measureShards } from "./shards.ts";
import { measureSleeping } from "./sleeping.ts";
import { measureStarved } from "./starved.ts";
import { measureSteps } from "./steps.ts";
import { measureStreams } from "./stream.ts";
import { measureTables } from "./tables.ts";
import { measureTokens } from "./tokens.ts";
import { measureTurns } from "./turns.ts";
import { measureWaiting } from "./waiting.ts";
import { measureWake } from "./wake.ts";

interface Options {
  readonly rounds: number;
  /** Of peers, each of which takes minutes. */
  readonly roundsOfPeers: number;
  readonly syncs: readonly Sync[];
  readonly placements: readonly Placement[];
  readonly sagas: readonly number[];
  readonly sleeping: readonly number[];
  readonly timers: number;
  readonly schedules: readonly number[];
  readonly exits: number;
  readonly calls: readonly number[];
  readonly besides: readonly Beside[];
  readonly only: readonly string[] | undefined;
  readonly cases: readonly CaseName[];
  readonly isQuick: boolean;
}

interface Bench {
  readonly does: string;
  /** Runs only if it is named: it gets other products and takes long. */
  readonly isByName?: true;
  run(options: Options): Promise<Report | readonly Report[]>;
}

const idleMeshes = [
  { partitions: 8, shards: 1 },
  { partitions: 64, shards: 1 },
  { partitions: 256, shards: 1 },
  { partitions: 8, shards: 4 },
  { partitions: 8, shards: 16 },
];

const benches: Readonly<Record<string, Bench>> = {
  steps: { does: "no-op steps per second against the same messages without sagamesh", run: measureSteps },
  cost: {
    does: "the processor time of a step, of the host and of each server",
    run: ({ syncs }) => measureCost({ sagas: 64, syncs }),
  },
  shards: {
    does: "64 sagas of 100 no-op steps with the ledgers over 4 streams against one",
    run: ({ rounds, syncs, placements }) =>
      measureShards({ rounds, syncs, placements, shards: [1, 4], sagas: 64, steps: 100 }),
  },
  idle: {
    does: "what a mesh costs in which nothing happens, by partitions and shards; only by name, minutes",
    isByName: true,
    run: () => measureIdle(idleMeshes),
  },
  stream: {
    does: "how many messages a second one stream takes, on one server and on three; only by name",
    isByName: true,
    run: ({ syncs }) => measureStreams(syncs),
  },
  model: {
    does: "what 1, 3 and 30 servers and 1, 10 and 100 hosts carry, reckoned from what was measured",
    run: async () => reckon(),
  },
  memory: {
    does: "resident size of a host, idle and with 1,000 running sagas",
    run: () => measureMemory({ sagas: 1_000, seconds: 8 }),
  },
  bytes: { does: "bytes of a no-op step on the ledger", run: () => measureStepBytes(200) },
  conversation: {
    does: "a conversation of 500 decisions on disk against its messages",
    run: () => measureConversations(500, ["mix", 1_000, 2_000, 3_000, 4_000, 16_000]),
  },
  wake: {
    does: "from a signal to the first new turn, by length of history",
    run: ({ rounds, syncs }) =>
      measureWake({ samples: rounds, syncs, turns: [10, 1_000, 10_000], decisions: [10, 100, 1_000] }),
  },
  hosts: {
    does: "what two and four hosts do beside one, of work that waits",
    run: ({ rounds }) => measureHosts({ rounds, sagas: 256, effectsMax: 8 }),
  },
  crowded: {
    does: "the same of 10,000 sagas and hosts as they are started",
    isByName: true,
    run: ({ rounds }) => measureHosts({ rounds, sagas: 10_000, effectsMax: 256 }),
  },
  due: {
    does: "timers that come due within one minute; only by name, many minutes",
    isByName: true,
    run: ({ timers }) => measureDue({ timers, hosts: [1, 2] }),
  },
  tables: {
    does: "questions to the tables of a million sagas; only by name, minutes",
    isByName: true,
    run: () => measureTables({ sagas: 1_000_000 }),
  },
  lag: {
    does: "how far the tables are behind ledgers that grow; only by name",
    isByName: true,
    run: () => measureLag({ rates: [500, 1_000, 2_000], seconds: 20 }),
  },
  left: {
    does: "what archiving 13,286 sagas takes, and what they leave on the server; only by name",
    isByName: true,
    run: () => measureLeft(13_286),
  },
  waiting: {
    does: "what a client spends that waits for ends",
    run: ({ rounds }) => measureWaiting({ rounds }),
  },
  hop: {
    does: "a signal to a saga that another host serves than its partition's, against one that goes nowhere",
    run: ({ rounds, syncs }) => measureHop({ rounds, syncs }),
  },
  sleeping: {
    does: "what sagas that wait cost the host, the server and those who use the mesh",
    run: ({ sleeping }) => measureSleeping({ sagas: sleeping, turns: 2 }),
  },
  schedules: {
    does: "schedules that are due in the same second, on one host and two; only by name, half an hour",
    isByName: true,
    run: ({ schedules }) => measureSchedules({ schedules }),
  },
  parked: {
    does: "what sagas cost that a host cannot take; only by name, 20 minutes",
    isByName: true,
    run: () => measureParked({ sagas: 1_000, minutes: 5 }),
  },
  tokens: { does: "from a model's word to whoever listens", run: measureTokens },
  turns: {
    does: "the decision of one turn, by how much it opens and closes",
    run: () => measureTurns([100, 1_000, 2_000, 5_000, 10_000]),
  },
  fold: {
    does: "a saga of n steps that stand, folded from its first turn",
    run: () => measureFolds([1_000, 10_000, 50_000]),
  },
  load: {
    does: "the same from a real server, and what a small saga hears of it",
    run: () => measureLoads([1_000, 10_000, 50_000]),
  },
  readers: {
    does: "what a long saga costs those who inspect, verify and replay it; only by name, many minutes",
    isByName: true,
    run: () => measureReaders({ steps: [10_000, 40_000, 100_000], decisions: [200, 800] }),
  },
  starved: {
    does: "what a host does that gets too little of its machine",
    run: () => measureStarved(),
  },
  recovery: {
    does: "how long sagas stand still when a host dies, and when all are replaced",
    run: ({ rounds }) => measureRecovery({ rounds, sagas: 60 }),
  },
  beats: {
    does: "how an event loop beats with one saga of thousands of open calls beside 200 small ones",
    run: ({ calls }) => measureBeats({ calls, kinds: ["agent", "machine"], small: 200 }),
  },
  line: {
    does: "a saga with thousands of children, 64 at once and the others in line, on two hosts",
    run: () => measureLines([500, 5_000]),
  },
  exits: {
    does: "how long commands that end early take to end, from the packed package",
    run: measureExits,
  },
  limit: {
    does: "no-op steps per second as a share of bare JetStream on the same server",
    run: ({ rounds, syncs }) => measureLimit({ rounds, syncs }),
  },
  peers: {
    does: "the same work on sagamesh and other products, which it gets; only by name, hours",
    isByName: true,
    run: ({ roundsOfPeers, ...options }) => measurePeers({ ...options, rounds: roundsOfPeers }),
  },
};

const help = `npm run bench [-- NAME…] [options]

${Object.entries(benches)
  .map(([name, { does }]) => `  ${name.padEnd(14)}${does}`)
  .join("\n")}

  --rounds N       rounds of steps, samples of wake, kills of recovery (7), rounds of peers (5)
  --sync S         default, always or both (both)
  --effect E       host, worker or both: where the effect of a step is (both)
  --sagas N,N      how many sagas at once (1,64,256)
  --schedules N,N  how many schedules are due at once (100,1000,3000)
  --sleeping N,N   how many sagas sleep, ascending (10000)
  --timers N       how many timers come due at once (100000)
  --exits N        how often each command ends early (10)
  --calls N,N      how many calls the crowd of beats has open (0,10,1000,5000)
  --beside B       what they end beside: nothing, spinning threads, or both (both)
  --only P,P       the peers to run beside sagamesh: ${allPeers
    .map(({ name }) => name)
    .slice(1)
    .join(", ")} (all)
  --cases C,C      what peers do: ${caseNames.join(", ")} (all)
  --quick          peers: tenths of everything, to see whether all of it runs
  --write          also write what was found, with machine, versions and date, to test/bench/RESULTS.md
  --json           one JSON document instead of tables
  --help

Without a NAME all run but those that run only by name, in about ten minutes.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string" },
    sync: { type: "string", default: "both" },
    effect: { type: "string", default: "both" },
    sagas: { type: "string", default: "1,64,256" },
    schedules: { type: "string", default: "100,1000,3000" },
    sleeping: { type: "string", default: "10000" },
    timers: { type: "string", default: "100000" },
    exits: { type: "string", default: "10" },
    calls: { type: "string", default: "0,10,1000,5000" },
    beside: { type: "string", default: "both" },
    only: { type: "string" },
    cases: { type: "string", default: caseNames.join(",") },
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const names =
  positionals.length > 0 ? positionals : Object.keys(benches).filter((name) => !benches[name]!.isByName);
const unknown = names.filter((name) => !Object.hasOwn(benches, name));
const options: Options = {
  rounds: Number(values.rounds ?? 7),
  roundsOfPeers: Number(values.rounds ?? 5),
  syncs: values.sync === "both" ? ["default", "always"] : [values.sync as Sync],
  placements: values.effect === "both" ? ["host", "worker"] : [values.effect as Placement],
  sagas: values.sagas.split(",").map(Number),
  schedules: values.schedules.split(",").map(Number),
  sleeping: values.sleeping.split(",").map(Number),
  timers: Number(values.timers),
  exits: Number(values.exits),
  calls: values.calls.split(",").map(Number),
  besides: values.beside === "both" ? ["nothing", "spinning"] : [values.beside as Beside],
  only: values.only?.split(","),
  cases: values.cases.split(",") as CaseName[],
  isQuick: values.quick,
};
const isUsable =
  unknown.length === 0 &&
  [
    options.rounds,
    options.exits,
    options.timers,
    ...options.schedules,
    ...options.sleeping,
    ...options.sagas,
  ].every((count) => Number.isInteger(count) && count > 0) &&
  options.syncs.every((sync) => ["default", "always"].includes(sync)) &&
  options.cases.every((name) => caseNames.includes(name)) &&
  (options.only ?? []).every((name) => allPeers.some((peer) => peer.name === name)) &&
  options.besides.every((beside) => ["nothing", "spinning"].includes(beside)) &&
  options.placements.every((placement) => ["host", "worker"].includes(placement));

if (values.help || !isUsable) {
  console.log(unknown.length > 0 ? `There is no benchmark "${unknown.join(", ")}".\n\n${help}` : help);
  process.exit(values.help ? 0 : 2);
}
const reports: Report[] = [];
for (const name of names) {
  const found = [await benches[name]!.run(options)].flat();
  reports.push(...found);
  if (!values.json) for (const report of found) console.log(renderReport(report));
}
if (values.write) await writeResults(process.argv.slice(2), reports);
if (values.json) console.log(JSON.stringify(reports, undefined, 2));
