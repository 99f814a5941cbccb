import { DoubtAnswer } from "../../../actors/task.ts";
import { z } from "zod";
import { MeshError } from "../../../protocol/errors.ts";
import type { Json } from "../../../protocol/json.ts";
import { faultOf } from "../../client/registry.ts";
import type { OpenTask } from "../../client/tasks.ts";
import { defineCommand } from "../command.ts";
import { parseJsonOrText } from "../json.ts";
import { refuseVote, voteOn } from "../task.ts";

/** A human's answer. */
export const answer = defineCommand({
  name: "answer",
  summary: "answer a question, or say what became of an effect in doubt",
  positionals: {
    task: { help: "<saga>/<intent>, as `sagamesh tasks` lists it" },
    answer: {
      help: `JSON, or a plain text; of a doubt {"outcome":"happened","output":…} or {"outcome":"did_not_happen"}`,
    },
  },
  options: { by: { type: "string", hint: "NAME", help: "who answers; recorded as given" } },
  examples: [
    `sagamesh answer hire-41/7-0 '{"slot":"Tuesday"}'`,
    `sagamesh answer hire-41/9-1 '{"outcome":"did_not_happen"}'`,
  ],
  run: ({ task, answer: text, by }, context) => {
    const said = parseJsonOrText(text, "the answer");
    return voteOn(context, task, { vote: "answer", answer: said, by }, (open) => {
      if (open.about === "approval" || open.about === "stuck")
        refuseVote(open, "answered", `Use sagamesh approve ${task} or sagamesh deny ${task}.`);
      checkAnswer(open, said);
    });
  },
});

/** Throws INPUT_INVALID. What only the definition knows the host checks. */
function checkAnswer({ about, input }: OpenTask, said: Json): void {
  const fault = about === "doubt" ? doubtFault(said) : askedFault(input, said);
  if (fault !== undefined) throw new MeshError("INPUT_INVALID", `the answer: ${fault}`);
}

function doubtFault(said: Json): string | undefined {
  const parsed = DoubtAnswer.safeParse(said);
  return parsed.success ? undefined : z.prettifyError(parsed.error);
}

/** A model that asks may say what it wants as a JSON Schema. */
function askedFault(input: Json | undefined, said: Json): string | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input) || input["schema"] === undefined)
    return undefined;
  return faultOf(input["schema"], said);
}
