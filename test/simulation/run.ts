/**
 * The simulator as a command:
 *
 *     npm run test:simulation -- [--seeds N] [--from K] [--fault NAME] [--profile JSON] [--late] [--listing] [--stop] [--trace] [--json]
 *
 * Exit 0: nothing was found; 1: something was, with the seed and the command that runs it again; 2: bad usage.
 */
import { parseArgs } from "node:util";
import { plantFault } from "./plant.ts";
import { plants } from "./plants.ts";
import type { Profile } from "./profile.ts";
import type { Outcome } from "./simulator.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    fault: { type: "string" },
    profile: { type: "string" },
    late: { type: "boolean", default: false },
    listing: { type: "boolean", default: false },
    stop: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const say = (line: string): void => {
  if (!values.json) process.stdout.write(`${line}\n`);
};
const plant = plants.find(({ name }) => name === values.fault);
if (values.fault !== undefined && plant === undefined) {
  process.stderr.write(
    `no fault is named "${values.fault}"; there are:\n${plants.map(({ name }) => `  ${name}\n`).join("")}`,
  );
  process.exit(2);
}
const seeds = Number(values.seeds);
const from = Number(values.from);
if (!Number.isInteger(seeds) || !Number.isInteger(from) || seeds < 1) {
  process.stderr.write("--seeds and --from take whole numbers\n");
  process.exit(2);
}
const profile = values.profile === undefined ? undefined : (JSON.parse(values.profile) as Partial<Profile>);
if (plant !== undefined) plantFault(plant);
// After the plant: what they load is changed.
const world = plant?.world ?? (values.late ? "late" : values.listing ? "listing" : undefined);
const simulate =
  world === "late"
    ? (await import("./late.ts")).simulateLate
    : world === "listing"
      ? (await import("./listing.ts")).simulateListing
      : (await import("./simulator.ts")).simulate;

const progressEveryMs = 5_000;
const begun = performance.now();
let toldAt = begun;
const found: Pick<Outcome, "seed" | "violations">[] = [];
const sums = { turns: 0, acts: 0, crashes: 0, virtualMs: 0 };
let ran = 0;
for (let seed = from; seed < from + seeds; seed++) {
  const outcome = await simulate(seed, {
    ...(profile === undefined ? {} : { profile }),
    ...(values.trace ? { trace: (at, name, what) => say(`${at} ${name} ${what}`) } : {}),
  });
  ran += 1;
  for (const sum of Object.keys(sums) as (keyof typeof sums)[]) sums[sum] += outcome[sum];
  if (outcome.violations.length > 0) {
    found.push(outcome);
    for (const { promise, what } of outcome.violations) say(`seed ${seed}: ${promise} ${what}`);
    if (values.stop) break;
  }
  if (performance.now() - toldAt > progressEveryMs) {
    toldAt = performance.now();
    say(`${ran} of ${seeds} seeds, ${found.length} with a violation`);
  }
}

const ms = performance.now() - begun;
const first = found[0];
const again = (seed: number) =>
  [
    "npm run test:simulation -- --seeds 1 --from",
    seed,
    ...(plant === undefined ? [] : [`--fault "${plant.name}"`]),
    ...(world === undefined ? [] : [`--${world}`]),
    ...(values.profile === undefined ? [] : [`--profile '${values.profile}'`]),
  ].join(" ");
const mean = (sum: number) => (sum / ran).toFixed(1);
say(
  `${ran} seeds in ${(ms / 1000).toFixed(1)} s (${((ran * 1000) / ms).toFixed(0)} a second); each on average ` +
    `${mean(sums.turns)} turns, ${mean(sums.acts)} effects, ${mean(sums.crashes)} crashes, ${mean(sums.virtualMs / 1000)} s of virtual time`,
);
if (first !== undefined)
  say(
    `${found.length} of ${ran} seeds broke a promise. Again, with every step:\n  ${again(first.seed)} --trace`,
  );
if (values.json)
  process.stdout.write(
    `${JSON.stringify({ fault: plant?.name, ran, ms: Math.round(ms), found: found.map(({ seed, violations }) => ({ seed, violations })) })}\n`,
  );
process.exitCode = found.length > 0 ? 1 : 0;
