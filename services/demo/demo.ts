/**
 * The demo: one saga that hires, in processes that are killed while it runs, and the outside world's own account of what
 * that came to.
 *
 * Owns: the server, the outside world, the recruiter and the report of one run. Does not own: the processes
 * (processes.ts), who is killed when (kill-plan.ts), the trigger (world.ts), what counts (reckon.ts).
 *
 * DD1 Nothing that was started outlives the run, whichever way it ends; only if the demo itself is killed with SIGKILL,
 *     its server and its folder stay behind, until the next demo clears them away.
 * DD2 The exit code is 0 only if the saga completed and nothing was duplicated or lost.
 * DD3 What is cleared away was made by a demo of this user, and every process that used its server is known to be
 *     dead, by its number and the time it began. A demo that runs, and whatever else has such a name, is left alone.
 */
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import type { ProgressDocument } from "../../protocol/documents/stderr.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { mintSagaId } from "../../protocol/ids.ts";
import { createClient, type Mesh } from "../client/mesh.ts";
import { createAccountReader } from "../ledger/account-reader.ts";
import { openMesh, removeAbandoned } from "../runtime/mesh.ts";
import { aborted } from "../runtime/serve.ts";
import { systemChance, systemClock } from "../runtime/system.ts";
import { modelVariable, worldVariable } from "./app.ts";
import { hireForRole } from "./hiring.ts";
import { killsMax, type PlannedKill, planKills } from "./kill-plan.ts";
import { type Processes, startProcesses } from "./processes.ts";
import { type Strike, tallyByTool } from "./reckon.ts";
import { commandsFor, conclusion, reportOf, tableOf } from "./report.ts";
import { killInWords, openStory } from "./story.ts";
import { openWorld, type World, type WorldOptions } from "./world.ts";

const Checked = z.object({
  /** How many processes are killed. */
  kills: z.int().min(0).max(killsMax).default(3),
  /** Where and when they are killed. */
  seed: z.int().min(0).default(1),
  /** How long the recruiter takes to answer. */
  waitSeconds: z.number().min(0).max(3_600).default(2),
});

/** What a run is started with: the counts above, and what of the machine it uses. */
export interface DemoOptions extends z.input<typeof Checked> {
  /** The provider's name of a real model. Without it the model is a script and nothing needs a network. */
  readonly model?: string | undefined;
  readonly apiKey?: string | undefined;
  /** Folder for the server's store, the account and the logs, kept. A temporary one, removed, unless given. */
  readonly dataDir?: string | undefined;
  /** The server stays until Ctrl-C. */
  readonly keep?: boolean | undefined;
  /** The command line that runs this demo and keeps its server, for the person to type. */
  readonly keepCommand?: string | undefined;
  /** One JSON document on `out`; the story goes to `err`, a progress document a line. */
  readonly json?: boolean | undefined;
  /** Ends the demo. */
  readonly signal?: AbortSignal | undefined;
  readonly out?: (text: string) => void;
  readonly err?: (text: string) => void;
}

/** A scripted run takes 20 s; one that takes this long hangs. */
const scriptedWithinMs = 120_000;
const realWithinMs = 15 * 60_000;
const role = "senior backend";
const folderPrefix = "sagamesh-demo-";
/** Folder of the server, in the folder of a demo. */
const serverFolder = "server";

interface Run extends z.infer<typeof Checked> {
  readonly options: DemoOptions;
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  /** Lines for the person, and the same with the time of the run before them. */
  readonly say: (lines: string) => void;
  readonly tell: (line: string) => void;
  /** DD1. Run at the end, the last first. */
  readonly cleanups: (() => Promise<void>)[];
}

/** Runs the demo. Resolves with the exit code (DD2). Throws INPUT_INVALID for bad options, UNAVAILABLE and the like. */
export async function runDemo(options: DemoOptions = {}): Promise<number> {
  const parsed = Checked.safeParse(options);
  if (!parsed.success)
    throw new MeshError("INPUT_INVALID", `the demo's options: ${z.prettifyError(parsed.error)}`);
  if (options.model !== undefined && (options.apiKey ?? "") === "")
    throw new MeshError("INPUT_INVALID", `the model ${options.model} needs an API key`, {
      remedy: "Set ANTHROPIC_API_KEY, or leave --model out: the scripted model needs no key.",
    });
  const { signal = new AbortController().signal } = options;
  const { out = (text) => void process.stdout.write(text), err = (text) => void process.stderr.write(text) } =
    options;
  const say = options.json === true ? sayAsProgress(err) : (lines: string) => out(`${lines}\n`);
  const startedAt = Date.now();
  const tell = (line: string) =>
    say(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}`);
  const run: Run = { options, ...parsed.data, signal, out, say, tell, cleanups: [] };
  try {
    return await runOnce(run);
  } catch (error) {
    if (signal.aborted) return 130;
    throw error;
  } finally {
    for (const cleanup of run.cleanups.reverse())
      await cleanup().catch((error: unknown) => say(`not cleaned up: ${String(error)}`));
  }
}

/** Each line that says something as a document. */
const sayAsProgress =
  (write: (text: string) => void) =>
  (text: string): void => {
    for (const progress of text.split("\n").filter((line) => line !== ""))
      write(`${JSON.stringify({ progress } satisfies ProgressDocument)}\n`);
  };

async function runOnce(run: Run): Promise<number> {
  const { options, say, seed, kills, signal } = run;
  const plan = planKills(seed, kills);
  say(
    `sagamesh demo: "find the three best candidates for the ${role} role and schedule first-round interviews with each"`,
  );
  say(
    plan.length === 0
      ? "No process will be killed."
      : `Seed ${seed}. To be killed with SIGKILL, by the outside world, in the middle of an effect:`,
  );
  say(plan.map((kill) => `  the ${kill.role}, ${killInWords(kill)}\n`).join(""));
  const stage = await openStage(run, plan);
  const { ledger, recoveries } = await play(run, stage);

  const tallies = tallyByTool(ledger, stage.world.account);
  const elapsedMs = Date.now() - stage.servedAt;
  const report = reportOf({ ledger, seed, ...stage, recoveries, tallies, elapsedMs });
  say(`\nThe outside world's own account against the saga's ledger:\n\n${tableOf(tallies).join("\n")}\n`);
  say(`${conclusion(report, ledger.end?.intent.reason, plan.length - stage.strikes.length)}\n`);
  say(commandsFor(report.saga, stage.url, options));
  if (options.json === true) run.out(`${JSON.stringify(report)}\n`);
  if (options.keep === true) {
    say(`\nnats-server runs at ${stage.url}. Ctrl-C ends it.\n`);
    await aborted(signal);
  }
  const { duplicates, lost } = report.effects;
  return report.status === "completed" && duplicates === 0 && lost === 0 ? 0 : 1;
}

interface Stage {
  readonly url: string;
  readonly clientOf: (from: string) => Mesh;
  readonly world: World;
  readonly processes: Processes;
  /** Kills so far, in order. */
  readonly strikes: readonly Strike[];
  /** When the server was there: getting one, once for a machine, is no part of what is measured. */
  readonly servedAt: number;
}

/** The server, the outside world and the processes. */
async function openStage({ options, tell, signal, cleanups }: Run, kills: PlannedKill[]): Promise<Stage> {
  await clearLeftovers(tell);
  const { model, apiKey = "", dataDir } = options;
  const folder = dataDir === undefined ? await mkdtemp(join(tmpdir(), folderPrefix)) : resolve(dataDir);
  if (dataDir === undefined) cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const mesh = await openMesh({
    dataDir: join(folder, serverFolder),
    name: "sagamesh demo",
    report: tell,
    signal,
  });
  cleanups.push(mesh.close);
  const servedAt = Date.now();
  const clientOf = (from: string) =>
    createClient(
      { ports: mesh.ports, clock: systemClock, chance: systemChance, from },
      async () => undefined,
    );
  const file = join(folder, "account.jsonl");
  await rm(file, { force: true }); // Of the run before: this one has a saga of its own.
  const strikes: Strike[] = [];
  const onStrike = (strike: Strike) => {
    strikes.push(strike);
    const { kill, pid } = strike;
    tell(`✗ KILLED ${processes.nameOf(pid)} (process ${pid}, SIGKILL) ${killInWords(kill)}`);
  };
  const settle: WorldOptions["settle"] = (answerTo, slot) =>
    clientOf("outside").settle(answerTo, { succeeded: { slot } });
  const world = await openWorld({ kills, file, settle, onStrike });
  cleanups.push(async () => world.close());
  const environment = {
    NATS_URL: mesh.url,
    [worldVariable]: world.url,
    ...(model === undefined ? {} : { [modelVariable]: model, ANTHROPIC_API_KEY: apiKey }),
  };
  const processes = startProcesses({ folder, environment, tell, onStart: world.mark });
  cleanups.push(processes.close);
  await processes.serving;
  return { url: mesh.url, clientOf, world, processes, strikes, servedAt };
}

/** Starts the saga, tells its story and answers for the recruiter, until it has ended or time is up. */
async function play(
  { options, waitSeconds, tell, signal }: Run,
  { url, clientOf, processes, strikes }: Stage,
) {
  const id = mintSagaId("hire", Date.now(), systemChance.random());
  tell(`the saga starts: ${id}; to watch: nats --server ${url} sub 'saga.${id}.>'`);
  const saga = await clientOf("recruiter").start(hireForRole, { role }, { id });
  const within = AbortSignal.timeout(options.model === undefined ? scriptedWithinMs : realWithinMs);
  const until = AbortSignal.any([signal, within, processes.failed]);
  const answer = async () => {
    tell(`the recruiter answers in ${waitSeconds} s; until then the saga holds no process`);
    await systemClock.sleep(waitSeconds * 1_000, until);
    await saga.signal("recruiter_reply", { text: "All three are fine. Go ahead." }, { id: "recruiter-1" });
  };
  let answered: Promise<unknown> | undefined;
  const onWait = () =>
    void (answered ??= answer().catch(
      (error: unknown) => until.aborted || tell(`no answer from the recruiter: ${describeError(error)}`),
    ));
  let isBegun = false;
  const reader = createAccountReader();
  const story = openStory({ reader, strikes, tell, nameOf: processes.nameOf, onWait });
  try {
    for await (const turn of saga.entries({ signal: until })) {
      story.take(turn);
      isBegun = true;
    }
  } catch (error) {
    if (!until.aborted) throw error;
  }
  signal.throwIfAborted();
  if (until.aborted) tell(`the saga has not ended: ${String(until.reason)}`);
  if (!isBegun) throw new MeshError("UNAVAILABLE", "no host has begun the saga", { cause: until.reason });
  return { ledger: reader.account, recoveries: story.recoveries };
}

/** DD3. What cannot be cleared away is told, and is no reason not to go on. */
async function clearLeftovers(tell: (line: string) => void): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(folderPrefix))) {
    const folder = join(tmpdir(), name);
    try {
      const found = await lstat(folder); // In a folder that all may write to, a name proves nothing.
      const isOwn = found.isDirectory() && found.uid === process.getuid?.();
      if (isOwn && (await removeAbandoned(folder, serverFolder)))
        tell(`cleared away what a killed demo left: its server, and ${folder}`);
    } catch (error) {
      tell(`a killed demo has left ${folder}, which cannot be cleared away: ${describeError(error)}`);
    }
  }
}
