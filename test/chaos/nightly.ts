/**
 * The nightly run: `npm run test:nightly -- --seed N --minutes M`
 *
 *     chaos       real processes under blows and attacks, its evidence judged and spoiled (half of the time)
 *     simulator   as many seeds as the rest of the time takes, counted from the seed
 *     large       `verify --all` of hundreds of sagas beside busy neighbours, one of them with 2,000 calls
 *     steps       what a provider was asked against the steps that were counted, hosts killed at times of the seed
 *     nested      a workflow in a workflow, a process killed at every write of theirs
 *     schedules   search, rules and a second judge of the REALM days against each other, on days of the seed
 *     model       the protocol model, walked exhaustively, where the repository has one (`npm run test:model`)
 *
 * The parts run one after the other, each as the command that a person would give; the words at the end name the command of
 * each part that failed. Exit 0: nothing was found; 1: something was; 2: bad usage.
 */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./child.ts";

/** Seeds of the simulator that are walked before the time is looked at again. */
const batch = 200;
/** Each night's seeds of the simulator begin so far from the night's before. */
const seedsANight = 100_000;
const chaosShare = 0.5;

interface Part {
  readonly name: string;
  readonly command: string;
  readonly code: number;
}

const usage = "npm run test:nightly -- [--seed N] [--minutes M], M at least 2\n";

type Variables = Readonly<Record<string, string>>;

/** As a person would type it. */
const typed = (command: readonly string[], variables: Variables): string =>
  [...Object.entries(variables).map(([name, value]) => `${name}=${value}`), "npm run", ...command].join(" ");

async function run(command: readonly string[], variables: Variables): Promise<number> {
  process.stdout.write(`\n$ ${typed(command, variables)}\n`);
  const env = { ...process.env, ...variables };
  const child = spawn("npm", ["run", "--silent", ...command], { cwd: root, stdio: "inherit", env });
  return new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
}

async function nightly(seed: number, minutes: number): Promise<Part[]> {
  const parts: Part[] = [];
  const part = async (name: string, command: readonly string[], variables: Variables = {}) => {
    const code = await run(command, variables);
    parts.push({ name, command: typed(command, variables), code });
  };
  const tests = (file: string) => ["test:e2e", "--", `test/end-to-end/${file}.test.ts`];
  const until = performance.now() + minutes * 60_000;
  const chaosMinutes = String(Number((minutes * chaosShare).toFixed(2)));
  const spread = ["--shards", seed % 2 === 0 ? "1" : "4"];
  await part("chaos", [
    "test:chaos",
    "--",
    "--seed",
    String(seed),
    "--minutes",
    chaosMinutes,
    ...spread,
    "--prove",
  ]);
  await part("large", tests("verify-many"), { MESH_MANY: "280x2000" });
  await part("steps", tests("steps-asked"), { MESH_SEED: String(seed) });
  await part("nested", ["test:e2e", "--", "test/actors/workflow/nested"], { MESH_EVERY_WRITE: "1" });
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    scripts: Readonly<Record<string, string>>;
  };
  await part("schedules", ["test:schedules", "--", "--runs", "500", "--seed", String(seed)]);
  if (scripts["test:model"] !== undefined) await part("model", ["test:model"]);
  let from = seed * seedsANight;
  do {
    await part("simulator", ["test:simulation", "--", "--from", String(from), "--seeds", String(batch)]);
    from += batch;
  } while (performance.now() < until);
  return parts;
}

const { values } = parseArgs({ options: { seed: { type: "string" }, minutes: { type: "string" } } });
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
const minutes = Number(values.minutes ?? 60);
if (!Number.isSafeInteger(seed) || seed < 0 || !(minutes >= 2)) {
  process.stderr.write(usage);
  process.exit(2);
}
process.stdout.write(`nightly, seed ${seed}, about ${minutes} minutes\n`);
const parts = await nightly(seed, minutes);
const failed = parts.filter(({ code }) => code !== 0);
process.stdout.write(`\n${parts.length} parts, ${failed.length} with a finding (seed ${seed})\n`);
for (const { name, command } of failed) process.stdout.write(`  ${name}: ${command}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;
