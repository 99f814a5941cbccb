import { writeFile } from "node:fs/promises";
import { MeshError } from "../../../protocol/errors.ts";
import type { ReplayDocument } from "../../../protocol/replay-document.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { readLedger } from "../../client/view.ts";
import { type Condition, failedOn, grammar, parseFailOn } from "../../replay/fail-on.ts";
import { replayPage } from "../../replay/page.ts";
import { replayFreely } from "../../replay/replay-freely.ts";
import { replayDecisions, type ReplayOptions } from "../../replay/step-by-step.ts";
import { isVaried } from "../../replay/variation.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { replayPort } from "../../runtime/replay-port.ts";
import { systemClock } from "../../runtime/system.ts";
import { defineCommand } from "../command.ts";
import { countOf, readMisses, readVariation } from "../replay-settings.ts";
import { describeReplay } from "../replay-text.ts";
import { archiveOption, sagaPositional, withSaga } from "../saga-source.ts";

/** What another model would have decided. */
export const replay = defineCommand({
  name: "replay",
  summary: "give another model what the recorded one was given, and compare",
  details:
    "Step by step, each recorded request is rebuilt and has the digest that was recorded, byte for byte, or nothing is\n" +
    "asked. With --free the saga goes on from the other model's own decisions: its calls are answered from the record, by\n" +
    "effect key or equal arguments, and nothing outside is touched but the model. Exit code 0 however much differs, unless\n" +
    `--fail-on holds. ${grammar}`,
  positionals: { saga: { ...sagaPositional, multiple: true } },
  options: {
    app: {
      type: "string",
      hint: "FILE",
      required: true,
      help: "application file with the saga's definition, which the ledger does not hold",
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
    archive: archiveOption,
  },
  examples: [
    "sagamesh replay hire-41 --app app.ts --model claude-sonnet-5",
    "sagamesh replay hire-41 --app app.ts --model claude-sonnet-5 --free --on-miss sample --html hire-41.html",
    "sagamesh replay hire-41 --app app.ts --model recorded --with stricter.ts --free --fail-on policy",
    "sagamesh replay hire-41 --app app.ts --model buyer --free --ignore finish.output.note --fail-on outcome,cost+20%",
  ],
  run: async (args, context) => {
    const { config, output, signal } = context;
    const settings = await readSettings(args);
    const app = await loadApp(args.app);
    const { model, isFree } = settings;
    const options: ReplayOptions = {
      ...{ model, port: replayPort(app, model, config), priceOf: app.priceOf, clock: systemClock, signal },
      ...{ variation: settings.variation, ignored: args.ignore ?? [], progress: nowAndThen(output.note) },
    };
    const replayed = async (turns: readonly Turn[]): Promise<ReplayDocument> =>
      isFree
        ? (await replayFreely(app, turns, { ...options, ...settings.misses, stepsMax: settings.stepsMax }))
            .document
        : replayDecisions(app, turns, options);
    let code = 0;
    for (const saga of args.saga)
      await withSaga(context, { saga, archive: args.archive }, async (one) => {
        const turns = (await readLedger(one.source, one.saga)).map(({ turn }) => turn);
        const document = judged(await replayed(turns), settings.conditions);
        if (document.failedOn !== undefined) code = 1;
        if (args.html !== undefined) await writeFile(args.html, replayPage(document));
        output.print(document, () => describeReplay(document));
      });
    return code;
  },
});

interface Words {
  readonly saga: readonly string[];
  readonly model: string | undefined;
  readonly free: boolean;
  readonly prompt: string | undefined;
  readonly with: string | undefined;
  readonly "on-miss": string | undefined;
  readonly "stand-ins": string | undefined;
  readonly steps: string | undefined;
  readonly "fail-on": readonly string[] | undefined;
  readonly html: string | undefined;
}

async function readSettings(words: Words) {
  if (words.saga.length === 0)
    throw new MeshError("USAGE", "replay: SAGA is missing", { remedy: "See sagamesh replay --help." });
  if (words.html !== undefined && words.saga.length > 1)
    throw new MeshError("USAGE", "--html takes one saga's page, and several are named", {
      remedy: "Replay one saga at a time, or leave --html out.",
    });
  if (!words.free && (words["on-miss"] ?? words["stand-ins"] ?? words.steps) !== undefined)
    throw new MeshError("USAGE", "--on-miss, --stand-ins and --steps are of free runs", {
      remedy: "Add --free, or leave them out.",
    });
  const variation = await readVariation(words.prompt, words.with);
  return {
    variation,
    model: words.model ?? (isVaried(variation) ? "own" : "recorded"),
    isFree: words.free,
    misses: await readMisses(words["on-miss"], words["stand-ins"]),
    stepsMax: countOf("steps", words.steps),
    conditions: parseFailOn(words["fail-on"] ?? [], words.free ? "free-run" : "step-by-step"),
  };
}

function judged(document: ReplayDocument, conditions: readonly Condition[]): ReplayDocument {
  const found = failedOn(conditions, [document]);
  return found.length === 0 ? document : { ...document, failedOn: found };
}

/** A script answers at once and needs no sign of life; a provider takes seconds for each decision. */
export function nowAndThen(note: (line: string) => void): (line: string) => void {
  let last = performance.now();
  return (line) => {
    if (performance.now() - last < progressMs) return;
    last = performance.now();
    note(line);
  };
}

const progressMs = 2_000;
