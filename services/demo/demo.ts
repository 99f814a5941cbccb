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
 */
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import type { ProgressDocument } from "../../protocol/documents/stderr.ts";
import { MeshError } from "../../protocol/errors.ts";
import { mintSagaId } from "../../protocol/ids.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import { createClient } from "../client/mesh.ts";
import { openMesh } from "../runtime/mesh.ts";
import { systemChance, systemClock } from "../runtime/system.ts";
import { modelVariable, worldVariable } from "./app.ts";
import { clearLeftovers, makeTemporaryFolder, serverFolder } from "./folders.ts";
import { hireForRole } from "./hiring.ts";
import { killsMax, planKills } from "./kill-plan.ts";
import { openProcesses, type Processes } from "./processes.ts";
import { recoveryOf, type Strike, tallyByTool } from "./reckon.ts";
import { commandsFor, conclusion, reportOf } from "./report.ts";
import { createTeller, killInWords } from "./story.ts";
import { openWorld } from "./world.ts";

export interface DemoOptions {
  /** How many processes are killed, 0 to 8; 3 unless given. */
  readonly kills?: number | undefined;
  /** Where and when they are killed; 1 unless given. */
  readonly seed?: number | undefined;
  /** How long the recruiter takes to answer, in seconds; 2 unless given. */
  readonly waitSeconds?: number | undefined;
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
  /** Ends the demo. Without it SIGINT and SIGTERM do. */
  readonly signal?: AbortSignal | undefined;
  readonly out?: (text: string) => void;
  readonly err?: (text: string) => void;
}

const Checked = z.object({
  kills: z.int().min(0).max(killsMax).default(3),
  seed: z.int().min(0).default(1),
  waitSeconds: z.number().min(0).max(3_600).default(2),
});

/** A scripted run takes 20 s; one that takes this long hangs. */
const scriptedWithinMs = 120_000;
const realWithinMs = 15 * 60_000;
const role = "senior backend";

/** Runs the demo. Resolves with the exit code (DD2). Throws INPUT_INVALID for bad options, UNAVAILABLE and the like. */
export async function runDemo(options: DemoOptions = {}): Promise<number> {
  const parsed = Checked.safeParse(options);
  if (!parsed.success)
    throw new MeshError("INPUT_INVALID", `the demo's options: ${z.prettifyError(parsed.error)}`);
  if (options.model !== undefined && (options.apiKey ?? "") === "")
    throw new MeshError("INPUT_INVALID", `the model ${options.model} needs an API key`, {
      remedy: "Set ANTHROPIC_API_KEY, or leave --model out: the scripted model needs no key.",
    });
  const ended = new AbortController();
  const onSignal = (name: NodeJS.Signals) =>
    ended.abort(new MeshError("CANCELLED", `the demo was ended by ${name}`));
  if (options.signal === undefined) process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  const signal = options.signal ?? ended.signal;
  const out = options.out ?? ((text) => void process.stdout.write(text));
  const err = options.err ?? ((text) => void process.stderr.write(text));
  const say = options.json === true ? sayAsProgress(err) : (line: string) => out(`${line}\n`);
  const cleanups: (() => Promise<void>)[] = [];
  try {
    return await runOnce({ options, ...parsed.data, say, out, cleanups, signal });
  } catch (error) {
    if (signal.aborted) return 130;
    throw error;
  } finally {
    for (const cleanup of cleanups.reverse())
      await cleanup().catch((error: unknown) => say(`not cleaned up: ${String(error)}`)); // DD1
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

/** Each line that says something as a document. */
const sayAsProgress =
  (write: (text: string) => void) =>
  (text: string): void => {
    for (const progress of text.split("\n").filter((line) => line !== ""))
      write(`${JSON.stringify({ progress } satisfies ProgressDocument)}\n`);
  };

interface Run extends z.infer<typeof Checked> {
  readonly options: DemoOptions;
  readonly say: (lines: string) => void;
  readonly out: (text: string) => void;
  readonly cleanups: (() => Promise<void>)[];
  readonly signal: AbortSignal;
}

async function runOnce(run: Run): Promise<number> {
  const { options, say, seed, kills, cleanups } = run;
  const startedAt = Date.now();
  const tell = (line: string) =>
    say(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}`);
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

  await clearLeftovers(tell); // DD1
  const folder = await openFolder(run);
  const dataDir = join(folder, serverFolder);
  const mesh = await openMesh({
    servers: undefined,
    dataDir,
    name: "sagamesh demo",
    report: tell,
    signal: run.signal,
  });
  cleanups.push(() => mesh.close());
  const serverAt = Date.now(); // Getting a server, once for a machine, is no part of what is measured.
  const deps = { ports: mesh.ports, clock: systemClock, chance: systemChance };
  const client = createClient({ ...deps, from: "recruiter" }, async () => undefined);
  const outside = createClient({ ...deps, from: "outside" }, async () => undefined);
  const strikes: Strike[] = [];
  const world = await openWorld({
    kills: plan,
    file: accountFile(folder),
    settle: (answerTo, slot) => outside.settle(answerTo, { succeeded: { slot } }),
    onStrike: (strike) => {
      strikes.push(strike);
      const { kill, pid } = strike;
      tell(`✗ KILLED ${processes.nameOf(pid)} (process ${pid}, SIGKILL) ${killInWords(kill)}`);
    },
  });
  cleanups.push(async () => world.close());
  const { model, apiKey = "" } = options;
  const environment = {
    NATS_URL: mesh.url,
    [worldVariable]: world.url,
    ...(model === undefined ? {} : { [modelVariable]: model, ANTHROPIC_API_KEY: apiKey }),
  };
  const processes = openProcesses({ folder, environment, tell, onStart: world.mark });
  cleanups.push(() => processes.close());
  await processes.enter();

  const id = mintSagaId("hire", startedAt, systemChance.random());
  tell(`the saga starts: ${id}; to watch: nats --server ${mesh.url} sub 'saga.${id}.>'`);
  const saga = await client.start(hireForRole, { role }, { id });
  const within = AbortSignal.timeout(model === undefined ? scriptedWithinMs : realWithinMs);
  const until = AbortSignal.any([run.signal, within, processes.failed]);
  const answer = async () => {
    tell(`the recruiter answers in ${run.waitSeconds} s; until then the saga holds no process`);
    await systemClock.sleep(run.waitSeconds * 1_000, until);
    await saga.signal("recruiter_reply", { text: "All three are fine. Go ahead." }, { id: "recruiter-1" });
  };
  const turns = await follow(run, {
    entries: saga.entries({ signal: until }),
    until,
    strikes,
    processes,
    tell,
    answer,
  });
  if (until.aborted) tell(`the saga has not ended: ${String(until.reason)}`);

  const elapsedMs = Date.now() - serverAt;
  const tallies = tallyByTool(turns, world.account);
  const report = reportOf({ id, seed, turns, strikes, processes, tallies, elapsedMs });
  say(["", ...conclusion(report, turns, tallies, plan.length - strikes.length), ""].join("\n"));
  say(commandsFor(id, mesh.url, options).join("\n"));
  if (options.json === true) run.out(`${JSON.stringify(report)}\n`);
  if (options.keep === true) await keepServer(run, mesh.url);
  const { duplicates, lost } = report.effects;
  return report.status === "completed" && duplicates === 0 && lost === 0 ? 0 : 1;
}

const accountFile = (folder: string): string => join(folder, "account.jsonl");

async function openFolder({ options, cleanups }: Run): Promise<string> {
  if (options.dataDir !== undefined) {
    const folder = resolve(options.dataDir);
    await rm(accountFile(folder), { force: true }); // Of the run before: this one has a saga of its own.
    return folder;
  }
  const folder = await makeTemporaryFolder();
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Following {
  readonly entries: AsyncIterable<Turn>;
  readonly until: AbortSignal;
  readonly strikes: readonly Strike[];
  readonly processes: Processes;
  readonly tell: (line: string) => void;
  /** The recruiter's part, once the model waits for it. */
  readonly answer: () => Promise<void>;
}

/** Tells the story, and says when a kill is recovered from. Resolves with the turns at the end. */
async function follow(
  run: Run,
  { entries, until, strikes, processes, tell, answer }: Following,
): Promise<Turn[]> {
  const turns: Turn[] = [];
  const recovered = new Set<Strike>();
  const tellTurn = createTeller(tell, processes.nameOf);
  let isAsked = false;
  try {
    for await (const turn of entries) {
      turns.push(turn);
      const news = strikes.filter(
        (one) => !recovered.has(one) && tellRecovery(one, turns, { processes, tell }),
      );
      for (const strike of news) recovered.add(strike);
      tellTurn(
        turn,
        news.some(({ kill }) => kill.role === "host"),
      );
      if (isAsked || !waitsForRecruiter(turn)) continue;
      isAsked = true;
      answer().catch(
        (error: unknown) => until.aborted || tell(`no answer from the recruiter: ${String(error)}`),
      );
    }
  } catch (error) {
    if (!until.aborted) throw error;
  }
  run.signal.throwIfAborted();
  return turns;
}

/** The model has called `wait` for the recruiter's signal. */
const waitsForRecruiter = (turn: Turn): boolean =>
  turn.steps.some(({ event }) => {
    if (event.type !== "result" || event.result.outcome !== "succeeded") return false;
    return ModelReply.safeParse(event.result.output).data?.calls.some(({ tool }) => tool === "wait") === true;
  });

/** Says that a kill is recovered from. False as long as it is not. */
function tellRecovery(
  strike: Strike,
  turns: readonly Turn[],
  { processes, tell }: Pick<Following, "processes" | "tell">,
): boolean {
  const killed = processes.incarnationOf(strike.pid);
  const recovery = recoveryOf(strike, killed, turns);
  if (recovery === undefined) return false;
  const { role, tool } = strike.kill;
  const [name, seconds] = [
    processes.nameOf(recovery.by),
    `${(recovery.ms / 1_000).toFixed(1)} s after the kill`,
  ];
  if (role === "host") tell(`✓ ${name} has taken the saga over, ${seconds}`);
  else if (recovery.ms === 0 || recovery.by === killed)
    tell(`✓ ${tool} was settled already when its worker died`);
  else tell(`✓ ${tool} is settled by ${name}, ${seconds}`);
  return true;
}

async function keepServer({ signal, say }: Run, url: string): Promise<void> {
  say(`\nnats-server runs at ${url}. Ctrl-C ends it.\n`);
  await new Promise<void>((settle) =>
    signal.aborted ? settle() : signal.addEventListener("abort", () => settle(), { once: true }),
  );
}
