/**
 * Replay run: many sagas by one command. What it is to do is written down beside the run before it begins, so that it can
 * be told to go on by its name alone, or by the same words.
 *
 * RR1 The name is made of the options and of what they mean now: definitions and instructions. Others are another run.
 * RR2 Each saga's document is kept under the options that it depends on, which limits are not: a run with higher limits
 *     asks no model again.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { sha256 } from "../../../protocol/digest.ts";
import { isMeshError, MeshError } from "../../../protocol/errors.ts";
import { parseSagaId, SagaId } from "../../../protocol/ids.ts";
import { canonicalJson } from "../../../protocol/json.ts";
import {
  ReplayDocument,
  type ReplayedOrFault,
  type ReplayRunDocument,
} from "../../../protocol/documents/replay.ts";
import { UnreadableSaga } from "../../../protocol/documents/unreadable.ts";
import type { App } from "../../app/app.ts";
import { keptOf, type RunHead, runDocument, sampleBySeed } from "../../replay/batch-report.ts";
import { runReplays } from "../../runtime/run-replays.ts";
import type { CommandContext } from "../frame/context.ts";
import { type Replayable, type ReplaySource, withReplaySource } from "./replay-sources.ts";

/** The words of a run that decide what it does; files as absolute paths. */
export const RunWords = z.object({
  app: z.string(),
  model: z.string().optional(),
  free: z.boolean(),
  prompt: z.string().optional(),
  with: z.string().optional(),
  ignore: z.array(z.string()).optional(),
  "on-miss": z.string().optional(),
  "stand-ins": z.string().optional(),
  steps: z.string().optional(),
  "fail-on": z.array(z.string()).optional(),
  query: z.string().optional(),
  archive: z.string().optional(),
  sample: z.string().optional(),
  seed: z.string().optional(),
  parallel: z.string().optional(),
  usd: z.string().optional(),
  tokens: z.string().optional(),
});
export type RunWords = z.infer<typeof RunWords>;

/** What is written down of a run. */
const RunFile = z.object({
  words: RunWords,
  what: z.string(),
  seed: z.string(),
  meant: z.int(),
  sagas: z.array(SagaId),
  unreadable: z.array(UnreadableSaga).optional(),
});
type RunFile = z.infer<typeof RunFile>;

const seedDefault = "1";
const parallelDefault = 4;

/** Paths of another folder mean other files. */
export const absoluteWords = (words: RunWords): RunWords => ({
  ...words,
  app: words.app === "" ? "" : resolve(words.app), // Recordings hold their own.
  ...Object.fromEntries(
    (["prompt", "with", "stand-ins", "archive"] as const).flatMap((name) => {
      const file = words[name];
      return file === undefined ? [] : [[name, resolve(file)]];
    }),
  ),
});

/** The words of a run that was begun here. Throws SAGA_UNKNOWN. */
export async function wordsOfRun({ config }: CommandContext, run: string): Promise<RunWords> {
  const file = fileOf(config.replayDir, parseSagaId(run));
  if (!existsSync(file))
    throw new MeshError("SAGA_UNKNOWN", `there is no run ${run} in ${config.replayDir}`, {
      remedy: "Name a run as `replay --query` printed it, with the same --data, or give its words again.",
    });
  return RunFile.parse(JSON.parse(await readFile(file, "utf8"))).words;
}

const fileOf = (folder: string, run: SagaId): string => join(folder, `${run}.json`);

export interface ManySettings {
  readonly words: RunWords;
  /** Everything whose definitions and words the run is about, by content. */
  readonly apps: readonly App[];
  readonly promptText: string | undefined;
  readonly again: boolean;
  readonly limits: { readonly usd?: number | undefined; readonly tokens?: number | undefined };
  readonly sample: number | undefined;
  readonly parallel: number | undefined;
  readonly head: Pick<RunHead, "mode" | "model" | "conditions">;
  readonly replay: (one: Replayable) => Promise<ReplayDocument>;
}

/** Begins a run, or goes on with it; what it came to. */
export async function replayMany(
  context: CommandContext,
  settings: ManySettings,
  note: (line: string) => void,
): Promise<ReplayRunDocument> {
  const { config, output, signal } = context;
  const folder = config.replayDir;
  return withReplaySource(context, settings.words.archive, async (source) => {
    const { words, parallel = parallelDefault, limits } = settings;
    const what = nameOf(settings);
    const run = SagaId.parse(`replay-${sha256(canonicalJson([what, limits, parallel])).slice(0, 12)}`);
    const file = fileOf(folder, run);
    const isKnown = existsSync(file);
    const plan = isKnown
      ? RunFile.parse(JSON.parse(await readFile(file, "utf8")))
      : await planOf(source, settings, what);
    if (!isKnown) await keep(file, plan);
    output.note(
      `${run}: ${plan.sagas.length} of ${plan.meant} sagas, seed ${plan.seed}${isKnown ? "; going on" : ""}`,
    );
    const documents = join(folder, what);
    await mkdir(documents, { recursive: true });
    const turns = await runReplays({
      ...{ run, folder, signal, report: output.note },
      input: { sagas: plan.sagas, parallel, limits: boundsOf(limits) },
      replay: (saga) => replayKept(source, join(documents, `${saga}.json`), saga, settings.replay),
      onDone: (done) => note(`${done} of ${plan.sagas.length} sagas`),
    });
    const { query } = words;
    return runDocument(turns, {
      ...settings.head,
      ...{ run, seed: plan.seed, meant: plan.meant, sampled: plan.sagas.length, folder: documents },
      ...(query === undefined ? {} : { query }),
      ...(plan.unreadable === undefined ? {} : { unreadable: plan.unreadable }),
    });
  });
}

const boundsOf = ({ usd, tokens }: ManySettings["limits"]) => ({
  ...(usd === undefined ? {} : { usd }),
  ...(tokens === undefined ? {} : { tokens }),
});

/** RR1, RR2: limits, and what is only said of the outcome, make no other work. */
function nameOf({ words, apps, promptText, again }: ManySettings): string {
  const { usd: _usd, tokens: _tokens, parallel: _parallel, "fail-on": _failOn, ...asked } = words;
  const hashes = apps.map(({ definitions }) => definitions.map(({ hash }) => hash));
  const anew = again ? [Date.now()] : [];
  return sha256(canonicalJson([asked, hashes, promptText, ...anew])).slice(0, 16);
}

/** Throws QUERY_EMPTY where no saga is meant: a run of nothing would be taken for a good one. */
async function planOf(source: ReplaySource, { words, sample }: ManySettings, what: string): Promise<RunFile> {
  const rows = await source.meant(words.query ?? "");
  const meant = rows.map(({ saga }) => saga);
  if (meant.length === 0)
    throw new MeshError("QUERY_EMPTY", `the query means none of ${await source.count()} sagas`, {
      remedy: "See `sagamesh ls --query` with it; archived sagas are replayed with --archive DIR.",
    });
  const seed = words.seed ?? seedDefault;
  const sagas = sampleBySeed(meant, sample ?? meant.length, seed);
  const unread = rows.unreadable.length === 0 ? {} : { unreadable: [...rows.unreadable] };
  return { words, what, seed, meant: meant.length, sagas, ...unread };
}

/** Whole or not at all: a process may die while it writes. */
async function keep(file: string, value: unknown): Promise<void> {
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(`${file}.${process.pid}`, JSON.stringify(value));
  await rename(`${file}.${process.pid}`, file);
}

/** A fault is the saga's own; what may be better next time is thrown, and tried again. */
async function replayKept(
  source: ReplaySource,
  file: string,
  saga: SagaId,
  replay: (one: Replayable) => Promise<ReplayDocument>,
): Promise<ReplayedOrFault> {
  try {
    if (existsSync(file)) return keptOf(ReplayDocument.parse(JSON.parse(await readFile(file, "utf8"))));
    const document = await replay(await source.read(saga));
    await keep(file, document);
    return keptOf(document);
  } catch (error) {
    if (!isMeshError(error) || error.retriable) throw error;
    return { saga, fault: { code: error.code, message: error.message } };
  }
}
