import { DoubtAnswer } from "../../../actors/kernel/task.ts";
import { z } from "zod";
import { MeshError } from "../../../protocol/errors.ts";
import { type Json, toJson } from "../../../protocol/json.ts";
import { checkOutput, faultOf, readRegistry } from "../../client/registry.ts";
import type { OpenTask } from "../../client/tasks.ts";
import type { Ports } from "../../wire/ports.ts";
import { defineCommand } from "../frame/command.ts";
import { parseJsonOrText } from "../frame/json.ts";
import { refuseVote, voteOn, voterOptions, votersHelp } from "../frame/task.ts";

/** A human's answer. */
export const answer = defineCommand({
  name: "answer",
  summary: "answer a question, or say what became of an effect in doubt",
  details: votersHelp,
  positionals: {
    task: { help: "<saga>/<intent>, as `sagamesh tasks` lists it" },
    answer: {
      help: `JSON, or a plain text; of a doubt {"outcome":"happened","output":…} or {"outcome":"did_not_happen"}`,
    },
  },
  options: voterOptions,
  examples: [
    `sagamesh answer hire-41/7-0 '{"slot":"Tuesday"}'`,
    `sagamesh answer hire-41/9-1 '{"outcome":"did_not_happen"}'`,
  ],
  run: ({ task, answer: text, by, as, nkey }, context) => {
    const said = parseJsonOrText(text, "the answer");
    return voteOn(context, task, { vote: "answer", answer: said, by, as, nkey }, (open, ports) => {
      if (open.about === "approval" || open.about === "stuck")
        refuseVote(open, "answered", `Use sagamesh approve ${task} or sagamesh deny ${task}.`);
      return checkAnswer(open, said, ports);
    });
  },
});

/** Throws INPUT_INVALID. What only the definition knows the host checks. */
async function checkAnswer({ about, input, tool = "" }: OpenTask, said: Json, ports: Ports): Promise<void> {
  if (about === "doubt") return checkFinding(tool, said, ports);
  const fault = askedFault(input, said);
  if (fault !== undefined) throw new MeshError("INPUT_INVALID", `the answer: ${fault}`);
}

/** What happened must fit what the tool gives, or it says nothing to the saga. */
async function checkFinding(tool: string, said: Json, { registry }: Ports): Promise<void> {
  const { success, data, error } = DoubtAnswer.safeParse(said);
  if (!success) throw new MeshError("INPUT_INVALID", `the answer: ${z.prettifyError(error)}`);
  if (data.outcome === "happened") checkOutput(await readRegistry(registry), tool, toJson(data.output));
}

/** A model that asks may say what it wants as a JSON Schema. */
function askedFault(input: Json | undefined, said: Json): string | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input) || input["schema"] === undefined)
    return undefined;
  return faultOf(input["schema"], said);
}
