import { writeFile } from "node:fs/promises";
import { MeshError } from "../../../protocol/errors.ts";
import type { ReplayDocument, ReplayRunDocument } from "../../../protocol/documents/replay.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { type App, defineApp } from "../../app/app.ts";
import { withDefinitionsOf } from "../../app/with-definitions.ts";
import { pagesOfTurns, storedPages, type TurnPages } from "../../views/turn-pages.ts";
import { type Condition, failedOn, grammar, parseFailOn } from "../../replay/fail-on.ts";
import { type Drawings, replayPage } from "../../replay/page.ts";
import { replayFreely } from "../../replay/replay-freely.ts";
import type { Run } from "../../replay/run.ts";
import { replayDecisions, type ReplayOptions } from "../../replay/step-by-step.ts";
import { isVaried } from "../../replay/variation.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { replayPort } from "../../runtime/replay-port.ts";
import { systemClock } from "../../runtime/system.ts";
import { readGraph } from "../../views/graph/graph.ts";
import { legible } from "../../views/graph/collapse.ts";
import { inspectingTurns } from "../../views/inspection.ts";
import { queryHelp } from "../../views/query.ts";
import { defineCommand } from "../frame/command.ts";
import type { CommandContext } from "../frame/context.ts";
import { unreadableText } from "../frame/unreadable.ts";
import { nowAndThen } from "../telling/progress-note.ts";
import type { Replayable } from "./replay-sources.ts";
import { absoluteWords, replayMany, RunWords, wordsOfRun } from "./replay-run.ts";
import { amountOf, countOf, misses, readMisses, readVariation } from "./replay-settings.ts";
import { inspectOption, withInspector } from "../telling/inspector.ts";
import { describeReplay, describeRun } from "../telling/replay-text.ts";
import { archiveOption, sagaPositional, withSaga } from "../frame/saga-source.ts";

/** What another model would have decided. */
export const replay = defineCommand({
  name: "replay",
  summary: "give another model what the recorded one was given, and compare",
  details:
    "Step by step, each recorded request is rebuilt and has the digest that was recorded, byte for byte, or nothing is\n" +
    "asked. With --free the saga goes on from the other model's own decisions: its calls are answered from the record, by\n" +
    "effect key or equal arguments, and nothing outside is touched but the model. Exit code 0 however much differs, unless\n" +
    `--fail-on holds. ${grammar}\n` +
    "With --query many sagas are replayed, by a run that a kill does not lose: the same words, or --resume, go on. With\n" +
    "--archive they are those of a folder of archives and imported recordings, and no mesh is needed.",
  positionals: { saga: { ...sagaPositional, multiple: true } },
  options: {
    app: {
      type: "string",
      hint: "FILE",
      help: "application file with the saga's definition, which a ledger does not hold (an imported recording does), and with the models to ask",
    },
    model: {
      type: "string",
      hint: "MODEL",
      help: "a model of the application, one of the provider (claude-…), own (each call's own model) or recorded; recorded unless given, own with --prompt or --with",
    },
    free: { type: "boolean", help: "go on from the other model's own decisions" },
    prompt: { type: "string", hint: "FILE", help: "instructions in place of the agent's own" },
    with: {
      type: "string",
      hint: "FILE",
      help: "application file whose definition of the same name supplies tools, context policy, policies and prompt",
    },
    ignore: {
      type: "string",
      hint: "TOOL.PATH",
      multiple: true,
      help: "members of inputs that mean nothing; finish.output.… for the output",
    },
    "on-miss": {
      type: "string",
      hint: "HOW",
      choices: misses,
      help: "with --free, a call that the record does not hold: stop (default), sample (of its output's schema) or stand-in",
    },
    "stand-ins": {
      type: "string",
      hint: "FILE",
      help: "JSON or a module: by a tool's name an output, or a function of the input",
    },
    steps: {
      type: "string",
      hint: "N",
      help: "with --free, decisions at most; three times the recorded ones and 20 unless given",
    },
    "fail-on": {
      type: "string",
      hint: "CONDITIONS",
      multiple: true,
      help: "exit code 1 where one of these holds",
    },
    html: { type: "string", hint: "FILE", help: "write a page with both runs side by side" },
    inspect: {
      ...inspectOption,
      help: "with --free, tell the Stately inspector of the run: its relay's address",
    },
    archive: archiveOption,
    query: {
      type: "string",
      hint: "QUERY",
      help: `replay every saga that is meant, of the mesh or of --archive: ${queryHelp}`,
    },
    sample: { type: "string", hint: "N", help: "with --query, so many of them" },
    seed: { type: "string", hint: "TEXT", help: "chooses the sample; 1 unless given" },
    parallel: { type: "string", hint: "N", help: "with --query, sagas under way at once; 4 unless given" },
    usd: { type: "string", hint: "N", help: "with --query, begin no more once so many dollars are spent" },
    tokens: { type: "string", hint: "N", help: "the same for tokens" },
    again: { type: "boolean", help: "with --query, anew and not where the same words left off" },
    resume: { type: "string", hint: "RUN", help: "go on with a run of --query" },
  },
  examples: [
    "sagamesh replay hire-41 --app app.ts --model claude-sonnet-5",
    "sagamesh replay hire-41 --app app.ts --model claude-sonnet-5 --free --on-miss sample --html hire-41.html",
    "sagamesh replay hire-41 --app app.ts --model recorded --with stricter.ts --free --fail-on policy",
    "sagamesh replay hire-41 --app app.ts --model buyer --free --ignore finish.output.note --fail-on outcome,cost+20%",
    "sagamesh replay --query 'agent=hire_for_role and status=completed' --sample 200 --parallel 8 --app app.ts --model claude-sonnet-5 --usd 5",
    "sagamesh replay --query 'status=completed' --archive recordings --sample 100 --app app.ts --model gpt --free",
    "sagamesh replay --resume replay-0c1d2e3f4a5b",
  ],
  run: async (args, context) => {
    const { output } = context;
    const isMany = args.query !== undefined || args.resume !== undefined;
    const words = args.resume === undefined ? asWords(args, isMany) : await wordsOfRun(context, args.resume);
    const { saga, html, archive, resume, inspect } = args;
    assertUsable({ ...words, saga, html, archive, resume, inspect });
    if (isMany) {
      const document = await replayQuery(context, words, args.again);
      const { failedOn, missing, unreadable = [] } = document;
      output.print(document, () => `${describeRun(document)}${unreadableText(unreadable)}`);
      return failedOn !== undefined || missing > 0 || unreadable.length > 0 ? 1 : 0;
    }
    const settings = await readSettings(words);
    const replayOf = replayer(await appAt(words), words, settings, context);
    let code = 0;
    for (const saga of args.saga)
      await withSaga(context, { saga, archive: args.archive }, async (one) => {
        const ledger = storedPages(one.source, one.saga);
        const turns: Turn[] = []; // Of the run, for who looks at it again.
        const took =
          html === undefined && inspect === undefined ? undefined : (turn: Turn) => void turns.push(turn);
        const { document: found, run } = await replayOf({ ledger, own: one.app }, took);
        const document = judged(found, settings.many.head.conditions);
        if (document.failedOn !== undefined) code = 1;
        if (html !== undefined)
          await writeFile(html, replayPage(document, run && (await drawn(ledger, pagesOfTurns(turns)))));
        if (inspect !== undefined && run !== undefined)
          await withInspector(inspect, context.signal, (tell) =>
            tell(inspectingTurns(run.definition, turns, `${one.saga}/replay`)),
          );
        output.print(document, () => describeReplay(document));
      });
    return code;
  },
});

/** A run over many sagas. Throws USAGE, and APP_INVALID for what cannot be loaded. */
export async function replayQuery(
  context: CommandContext,
  words: RunWords,
  again = false,
): Promise<ReplayRunDocument> {
  const settings = await readSettings(words);
  const app = await appAt(words);
  const replayOf = replayer(app, words, settings, context);
  const apps = [app, settings.variation.with?.app].filter((one) => one !== undefined);
  const replay = async (one: Replayable): Promise<ReplayDocument> => (await replayOf(one)).document;
  const many = { ...settings.many, apps, replay, words: absoluteWords(words), again };
  return replayMany(context, many, nowAndThen(context.output.note));
}

type Words = Omit<RunWords, "ignore" | "fail-on" | "app"> & {
  readonly app?: string | undefined;
  readonly ignore?: readonly string[] | undefined;
  readonly "fail-on"?: readonly string[] | undefined;
};

const appMissing = () =>
  new MeshError("USAGE", "replay: --app FILE is missing", { remedy: "See sagamesh replay --help." });

/** None where no file is named: an imported recording holds its own definition. */
const appAt = async ({ app }: RunWords): Promise<App | undefined> => (app === "" ? undefined : loadApp(app));

/** The words that decide what is done. A recording that was imported holds its application; a run over a mesh needs one. */
function asWords(
  { app = "", ignore, "fail-on": failOn, ...words }: Words & { readonly archive?: string | undefined },
  isMany: boolean,
): RunWords {
  if (app === "" && isMany && words.archive === undefined) throw appMissing();
  const lists = { ...(ignore && { ignore: [...ignore] }), ...(failOn && { "fail-on": [...failOn] }) };
  return RunWords.parse({ ...words, ...lists, app });
}

/** Words that do not go together are refused before anything is read. */
function assertUsable(
  words: RunWords & {
    readonly saga: readonly string[];
    readonly html: string | undefined;
    readonly inspect: string | undefined;
    readonly archive: string | undefined;
    readonly resume: string | undefined;
  },
): void {
  const isMany = words.query !== undefined || words.resume !== undefined;
  const refuse = (what: string, remedy: string) => {
    throw new MeshError("USAGE", what, { remedy });
  };
  if (words.saga.length === 0 && !isMany)
    refuse("replay: SAGA is missing", "Name a saga, or many by --query.");
  if (words.saga.length > 0 && isMany) refuse("--query and --resume name the sagas", "Leave SAGA out.");
  if (words.html !== undefined && (isMany || words.saga.length > 1))
    refuse("--html takes one saga's page", "Replay one saga at a time, or leave --html out.");
  if (words.resume !== undefined && words.archive !== undefined && words.query === undefined)
    refuse("--resume reads where its run began to", "Leave --archive out.");
  if (!isMany && (words.sample ?? words.parallel ?? words.usd ?? words.tokens ?? words.seed) !== undefined)
    refuse(
      "--sample, --seed, --parallel, --usd and --tokens are of --query",
      "Add --query, or leave them out.",
    );
  if (words.inspect !== undefined && (isMany || !words.free))
    refuse(
      "--inspect tells of a free run of a saga",
      "Add --free; `sagamesh tail --inspect` tells of what was recorded.",
    );
  if (!words.free && (words["on-miss"] ?? words["stand-ins"] ?? words.steps) !== undefined)
    refuse("--on-miss, --stand-ins and --steps are of free runs", "Add --free, or leave them out.");
}

async function readSettings(words: RunWords) {
  const variation = await readVariation(words.prompt, words.with);
  const mode = words.free ? ("free-run" as const) : ("step-by-step" as const);
  return {
    variation,
    misses: await readMisses(words["on-miss"], words["stand-ins"]),
    stepsMax: countOf("steps", words.steps),
    many: {
      sample: countOf("sample", words.sample),
      parallel: countOf("parallel", words.parallel),
      limits: { usd: amountOf("usd", words.usd), tokens: countOf("tokens", words.tokens) },
      promptText: variation.prompt?.text,
      head: {
        mode,
        model: words.model ?? (isVaried(variation) ? "own" : "recorded"),
        conditions: parseFailOn(words["fail-on"] ?? [], mode),
      },
    },
  };
}

/**
 * How a ledger is replayed: by the definition that the application has or its own file holds, with the application's models
 * and prices. Throws MODEL_UNKNOWN; for a ledger whose definition neither has, USAGE and VERSION_UNSERVED.
 */
function replayer(
  app: App | undefined,
  words: RunWords,
  { variation, misses, stepsMax, many }: Awaited<ReturnType<typeof readSettings>>,
  { config, output, signal }: CommandContext,
) {
  const { model, mode } = many.head;
  const base = app ?? defineApp({});
  const options: ReplayOptions = {
    ...{ model, port: replayPort(base, model, config), priceOf: base.priceOf, clock: systemClock, signal },
    ...{ variation, ignored: words.ignore ?? [], progress: nowAndThen(output.note) },
  };
  return async (
    { ledger, own }: Replayable,
    took?: (turn: Turn) => void,
  ): Promise<{ document: ReplayDocument; run?: Run }> => {
    if (app === undefined && own === undefined) throw appMissing();
    const served = own === undefined ? base : withDefinitionsOf(base, own);
    if (mode === "step-by-step") return { document: await replayDecisions(served, ledger, options) };
    const taken = took === undefined ? {} : { took };
    return replayFreely(served, ledger, { ...options, ...misses, stepsMax, ...taken });
  };
}

/** Both runs as graphs. With the drawing comes the library that lays graphs out. */
async function drawn(recorded: TurnPages, got: TurnPages): Promise<Drawings> {
  const { svgOf } = await import("../../views/graph/svg.ts");
  const drawing = async (ledger: TurnPages) => svgOf(legible(await readGraph(ledger)));
  return { recorded: await drawing(recorded), got: await drawing(got) };
}

function judged(document: ReplayDocument, conditions: readonly Condition[]): ReplayDocument {
  const found = failedOn(conditions, [document]);
  return found.length === 0 ? document : { ...document, failedOn: found };
}
