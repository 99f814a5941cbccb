/**
 * The demo: one saga that hires, in processes that are killed while it runs, and the outside world's own account
 * of what that came to.
 *
 * Owns: the server, the recruiter and the report of one run. Does not own: the processes (stage.ts), who is
 * killed when (kill-plan.ts), the trigger (world.ts), what counts (reckon.ts).
 *
 * E1 Nothing that was started outlives the run, whichever way it ends; only if the demo itself is killed with
 *    SIGKILL, its server and its folder stay behind, until the next demo clears them away.
 * E2 The exit code is 0 only if the saga completed and nothing was duplicated or lost.
 */
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { DemoReport } from "../../protocol/documents/demo.ts";
import type { ProgressDocument } from "../../protocol/documents/stderr.ts";
import { MeshError } from "../../protocol/errors.ts";
import { mintSagaId } from "../../protocol/ids.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import { endIn } from "../client/follow-turns.ts";
import { createClient, type Handle } from "../client/mesh.ts";
import { type OpenMesh, openMesh } from "../runtime/mesh.ts";
import { systemChance, systemClock } from "../runtime/system.ts";
import { readAccount } from "./account.ts";
import { hireForRole } from "./hiring.ts";
import { clearLeftovers, makeTemporaryFolder, serverFolder } from "./folders.ts";
import { killsMax, planKills } from "./kill-plan.ts";
import type { Strike } from "./letters.ts";
import { recoveryOf, sumOf, tallyByTool } from "./reckon.ts";
import { accountFile, openStage, type Stage } from "./stage.ts";
import { createStory, planInWords, type Story, tableOf } from "./story.ts";

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

/** Runs the demo. Resolves with the exit code (E2). Throws INPUT_INVALID for bad options, UNAVAILABLE and the like. */
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
  const say = options.json === true ? sayAsProgress(err) : out;
  const cleanups: (() => Promise<void>)[] = [];
  try {
    const run = { options, ...parsed.data, say, out, cleanups, signal };
    return await runOnce(run);
  } catch (error) {
    if (signal.aborted) return 130;
    throw error;
  } finally {
    for (const cleanup of cleanups.reverse())
      await cleanup().catch((error: unknown) => say(`not cleaned up: ${String(error)}\n`)); // E1
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

/** Each line of a text as a document. */
const sayAsProgress =
  (write: (text: string) => void) =>
  (text: string): void => {
    for (const progress of text.split("\n").filter((line) => line !== ""))
      write(`${JSON.stringify({ progress } satisfies ProgressDocument)}\n`);
  };

interface Run extends z.infer<typeof Checked> {
  readonly options: DemoOptions;
  readonly say: (text: string) => void;
  readonly out: (text: string) => void;
  readonly cleanups: (() => Promise<void>)[];
  readonly signal: AbortSignal;
}

async function runOnce(run: Run): Promise<number> {
  const { options, say, seed, kills } = run;
  const startedAt = Date.now();
  const story = createStory(say, startedAt);
  const plan = planKills(seed, kills);
  say(
    `sagamesh demo: "find the three best candidates for the ${role} role and schedule first-round interviews with each"\n`,
  );
  say(
    plan.length === 0
      ? "Nobody will be killed.\n\n"
      : `Seed ${seed}. To be killed with SIGKILL, by the outside world, in the middle of an effect:\n`,
  );
  for (const line of planInWords(plan)) say(`${line}\n`);
  say("\n");

  await clearLeftovers((line) => story.tell(line)); // E1
  const folder = await openFolder(run);
  const mesh = await openMesh({
    servers: undefined,
    dataDir: join(folder, serverFolder),
    name: "sagamesh demo",
    report: (line) => story.tell(line),
    signal: run.signal,
  });
  run.cleanups.push(() => mesh.close());
  const serverAt = Date.now(); // Getting a server, once for a machine, is no part of what is measured.
  const stage = openStage({
    folder,
    url: mesh.url,
    plan,
    story,
    model: options.model,
    apiKey: options.apiKey,
  });
  run.cleanups.push(() => stage.close());
  await stage.enter();
  const client = createClient(
    { ports: mesh.ports, clock: systemClock, chance: systemChance, from: "recruiter" },
    async () => undefined,
  );
  const id = mintSagaId("hire", startedAt, systemChance.random());
  story.tell(`the saga starts: ${id}; to watch: nats --server ${mesh.url} sub 'saga.${id}.>'`);
  const saga = await client.start(hireForRole, { role }, { id });

  const within = AbortSignal.timeout(options.model === undefined ? scriptedWithinMs : realWithinMs);
  const turns = await follow(run, {
    saga,
    stage,
    story,
    signal: AbortSignal.any([run.signal, within, stage.failed]),
  });
  const elapsedMs = Date.now() - serverAt;
  const isOver = within.aborted || stage.failed.aborted;
  if (isOver)
    story.tell(`the saga has not ended: ${String((stage.failed.aborted ? stage.failed : within).reason)}`);

  const tallies = tallyByTool(turns, readAccount(accountFile(folder)));
  const report = reportOf({ run, id, turns, stage, effects: sumOf(tallies.values()), elapsedMs });
  say(
    `\n${conclusion({ run, report, tallies, folder, mesh, unfired: plan.length - stage.strikes.length, reason: endOf(turns)?.reason }).join("\n")}\n`,
  );
  if (options.json === true) run.out(`${JSON.stringify(report)}\n`);
  if (options.keep === true) await keepServer(run, mesh);
  return report.status === "completed" && report.effects.duplicates === 0 && report.effects.lost === 0
    ? 0
    : 1;
}

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

/** Tells the story, plays the recruiter, says when a kill is recovered from. Resolves with the turns at the end. */
async function follow(
  run: Run,
  {
    saga,
    stage,
    story,
    signal,
  }: { saga: Handle<unknown, typeof hireForRole.signals>; stage: Stage; story: Story; signal: AbortSignal },
): Promise<Turn[]> {
  const turns: Turn[] = [];
  const recovered = new Set<Strike>();
  let asked = false;
  try {
    for await (const turn of saga.entries({ signal })) {
      turns.push(turn);
      const news = stage.strikes.filter((strike) => !recovered.has(strike));
      const takeovers = news.filter((strike) => tellRecovery(strike, turns, { stage, story }));
      for (const strike of takeovers) recovered.add(strike);
      story.tellTurn(turn, {
        nameOf: stage.nameOf,
        isTakeover: takeovers.some(({ kill }) => kill.role === "host"),
      });
      if (asked || !waitsForRecruiter(turn)) continue;
      asked = true;
      story.tell(`the recruiter answers in ${run.waitSeconds} s; until then the saga holds no process`);
      answer(saga, run.waitSeconds, signal).catch(
        (error: unknown) => signal.aborted || story.tell(`no answer from the recruiter: ${String(error)}`),
      );
    }
  } catch (error) {
    if (!signal.aborted || run.signal.aborted) throw error;
  }
  run.signal.throwIfAborted();
  return turns;
}

async function answer(
  saga: Handle<unknown, typeof hireForRole.signals>,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  await systemClock.sleep(seconds * 1_000, signal);
  await saga.signal("recruiter_reply", { text: "All three are fine. Go ahead." }, { id: "recruiter-1" });
}

/** The model has called `wait` for the recruiter's signal. */
const waitsForRecruiter = (turn: Turn): boolean =>
  turn.steps.some(({ event }) => {
    if (event.type !== "result" || event.result.outcome !== "succeeded") return false;
    const reply = ModelReply.safeParse(event.result.output);
    return reply.success && reply.data.calls.some((call) => call.tool === "wait");
  });

/** Says that a kill is recovered from. False as long as it is not. */
function tellRecovery(
  strike: Strike,
  turns: readonly Turn[],
  { stage, story }: { stage: Stage; story: Story },
): boolean {
  const recovery = recoveryOf(strike, stage.incarnationOf(strike), turns);
  if (recovery === undefined) return false;
  const { role, tool } = strike.kill;
  const seconds = `${(recovery.ms / 1_000).toFixed(1)} s after the kill`;
  const name = stage.nameOf(recovery.by);
  if (role === "host") story.tell(`✓ ${name} has taken the saga over, ${seconds}`);
  else if (recovery.ms === 0 || recovery.by === stage.incarnationOf(strike))
    story.tell(`✓ ${tool} was settled already when its worker died`);
  else story.tell(`✓ ${tool} is settled by ${name}, ${seconds}`);
  return true;
}

function reportOf(of: {
  run: Run;
  id: string;
  turns: readonly Turn[];
  stage: Stage;
  effects: DemoReport["effects"];
  elapsedMs: number;
}): DemoReport {
  const { run, id, turns, stage, elapsedMs } = of;
  const { intended, performed, duplicates, lost, inDoubt } = of.effects;
  const startedAt = turns[0]?.at ?? 0;
  const kills = stage.strikes.map((strike) => {
    const recovery = recoveryOf(strike, stage.incarnationOf(strike), turns);
    const { role, tool, effect, window } = strike.kill;
    const pickedUpBy = recovery === undefined ? null : stage.nameOf(recovery.by);
    return {
      process: role,
      pid: strike.pid,
      tool,
      effect,
      window,
      atMs: strike.at - startedAt,
      pickedUpBy,
      recoveryMs: recovery?.ms ?? null,
    };
  });
  return DemoReport.parse({
    saga: id,
    status: endOf(turns)?.status ?? "unfinished",
    seed: run.seed,
    kills,
    effects: { intended, performed, duplicates, lost, inDoubt },
    recoveryMs: kills.flatMap(({ recoveryMs }) => recoveryMs ?? []),
    elapsedMs,
  });
}

const endOf = (turns: readonly Turn[]) => turns.map(endIn).findLast((end) => end !== undefined);

const effectOf = new Map([...hireForRole.definition.tools.values()].map((tool) => [tool.name, tool.effect]));

function conclusion(of: {
  run: Run;
  report: DemoReport;
  tallies: ReturnType<typeof tallyByTool>;
  folder: string;
  mesh: OpenMesh;
  unfired: number;
  reason: string | undefined;
}): string[] {
  const { run, report, tallies, mesh } = of;
  const { duplicates, lost, inDoubt } = report.effects;
  const times = report.recoveryMs.map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(", ");
  const lines = [
    "The outside world's own account against the saga's ledger:",
    "",
    ...tableOf(tallies, effectOf, sumOf(tallies.values())),
    "",
    `Saga ${report.status}. ${report.kills.length} killed, ${duplicates} duplicates, ${lost} lost, in ${(report.elapsedMs / 1_000).toFixed(1)} s.`,
    ...(times === "" ? [] : [`Recovery took ${times}.`]),
  ];
  if (of.reason !== undefined) lines.push(`It ended with: ${of.reason}`);
  if (of.unfired > 0) lines.push(`Planned and not done, for want of a request to strike: ${of.unfired}.`);
  if (inDoubt > 0)
    lines.push(
      "In doubt: whoever charged died without a word. The model looked the deposit up and went on; nobody charged again.",
    );
  return [...lines, "", ...commandsFor(report.saga, mesh, run.options)];
}

/** The same streams, seen with the server's own tool. */
function commandsFor(
  saga: string,
  { url }: OpenMesh,
  { keep = false, keepCommand = "sagamesh demo --keep", dataDir }: DemoOptions,
): string[] {
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

async function keepServer({ signal, say }: Run, { url }: OpenMesh): Promise<void> {
  say(`\nnats-server runs at ${url}. Ctrl-C ends it.\n`);
  await new Promise<void>((settle) =>
    signal.aborted ? settle() : signal.addEventListener("abort", () => settle(), { once: true }),
  );
}
