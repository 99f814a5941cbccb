import type { ForkedDocument } from "../../../protocol/documents/stored.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { Effects } from "../../../protocol/fork.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { ForkOptions } from "../../client/fork.ts";
import { startFork } from "../../client/start.ts";
import { forkBegun } from "../../client/fork-begun.ts";
import { newestLetter } from "../../client/refusal.ts";
import { defineCommand } from "../frame/command.ts";
import { readTextFile } from "../frame/file.ts";
import { withMesh } from "../frame/context.ts";
import { parseJson, parseJsonOrText } from "../frame/json.ts";
import { noHost, watchStarted } from "../telling/started.ts";

/** Starts a fork. */
export const fork = defineCommand({
  name: "fork",
  summary: "start a saga that shares the first turns of another",
  details:
    "What the origin did up to that turn is taken over with its keys, and what it recorded since of what was open; a\n" +
    "decision that was open is asked anew. Then the fork goes on by itself. Simulated effects (the default) touch\n" +
    "nothing outside: a call that recurs is answered as recorded, any other by a value that its schema accepts.\n" +
    "Without --from it is the last turn after which all that --tool-result and --model-output name was open.",
  positionals: { saga: { help: "the origin's id" } },
  options: {
    from: { type: "string", hint: "TURN", help: "the last turn that both share" },
    id: { type: "string", hint: "NEW", help: "the fork's id; <origin>-fork-<time> unless given" },
    model: {
      type: "string",
      hint: "M",
      help: "a model of the hosts' application, in place of the definition's",
    },
    prompt: { type: "string", hint: "FILE", help: "instructions in place of the agent's own" },
    "tool-result": {
      type: "string",
      hint: "INTENT=JSON",
      json: "pair",
      multiple: true,
      help: "what a call that was open came to, in place of what was recorded",
    },
    "model-output": {
      type: "string",
      hint: "TURN=JSON",
      json: "pair",
      multiple: true,
      help: `what the model says in place of the reply that TURN asked for or recorded: {"text","calls":[{"tool","input"}]}`,
    },
    signal: {
      type: "string",
      hint: "NAME[=JSON]",
      json: "pair",
      multiple: true,
      help: "a signal that the fork hears first",
    },
    effects: {
      type: "string",
      hint: "HOW",
      choices: Effects.options,
      help: "live, simulated (default) or forbidden",
    },
    wait: {
      type: "boolean",
      help: "show what happens and what is said, and wait for the end; exit 1 unless it completes",
    },
  },
  examples: [
    "sagamesh fork hire-41 --from 12 --model claude-opus-5 --wait",
    `sagamesh fork hire-41 --tool-result 5-0='{"candidates":[]}'`,
  ],
  run: async ({ saga, wait, ...words }, context) => {
    const origin = parseSagaId(saga);
    const options = await readOptions(words);
    return withMesh(context, async ({ deps, ports }) => {
      const since = await newestLetter(ports);
      const { id, name, turn } = await startFork(deps, origin, options);
      const { effects = "simulated" } = options;
      const fate = await forkBegun(deps, { id, turn, since }, context.signal);
      if (fate === "unserved") context.output.note(noHost);
      else if (fate === "waits")
        context.output.note(
          `no host has taken ${id} yet; \`sagamesh doctor\` tells whether one serves ${name}`,
        );
      const document: ForkedDocument = { saga: id, name, fork: { saga: origin, turn, effects } };
      if (!wait) {
        context.output.print(document, () => id);
        return 0;
      }
      context.output.note(`forked ${id} from ${origin} at turn ${turn}, effects ${effects}`);
      return watchStarted(context, ports, id, turn);
    });
  },
});

type Words = Readonly<
  Record<"from" | "id" | "model" | "prompt" | "effects", string | undefined> &
    Record<"tool-result" | "model-output" | "signal", readonly string[] | undefined>
>;

async function readOptions(words: Words): Promise<ForkOptions> {
  const { from, id, model, prompt, effects } = words;
  const how = effects === undefined ? undefined : Effects.safeParse(effects);
  if (how?.success === false)
    throw new MeshError("USAGE", `--effects: expected live, simulated or forbidden, got "${effects}"`);
  const results = pairs(words["tool-result"], "--tool-result");
  const outputs = pairs(words["model-output"], "--model-output");
  return {
    ...(from === undefined ? {} : { from: turnIn(from, "--from") }),
    ...(id === undefined ? {} : { id }),
    ...(model === undefined ? {} : { model }),
    ...(prompt === undefined ? {} : { instructions: await readTextFile(prompt, "--prompt") }),
    ...(how === undefined ? {} : { effects: how.data }),
    toolResults: Object.fromEntries(results.map(([intent, output]) => [intent, { succeeded: output }])),
    modelOutputs: Object.fromEntries(
      outputs.map(([turn, reply]) => [turnIn(turn, "--model-output"), replyIn(reply)]),
    ),
    signals: (words.signal ?? []).map(signalIn),
  };
}

/** `NAME=JSON`, several times. */
const pairs = (words: readonly string[] = [], option: string): [string, Json][] =>
  words.map((word) => {
    const at = word.indexOf("=");
    if (at < 1) throw new MeshError("USAGE", `${option}: expected NAME=JSON, got "${word}"`);
    return [word.slice(0, at), parseJson(word.slice(at + 1), option)];
  });

function signalIn(word: string): { name: string; data: Json } {
  const at = word.indexOf("=");
  if (at === -1) return { name: word, data: null };
  return { name: word.slice(0, at), data: parseJsonOrText(word.slice(at + 1), "--signal") };
}

function turnIn(text: string, option: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new MeshError("USAGE", `${option}: expected the number of a turn, got "${text}"`);
}

/** The client reads it with the schema of a reply. */
function replyIn(reply: Json): NonNullable<ForkOptions["modelOutputs"]>[number] {
  if (typeof reply === "object" && reply !== null && !Array.isArray(reply)) return reply;
  throw new MeshError("USAGE", `--model-output: expected TURN={"text":…,"calls":[…]}`);
}
