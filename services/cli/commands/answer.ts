import { MeshError } from "../../../protocol/errors.ts";
import type { Json } from "../../../protocol/json.ts";
import { answerOf, findingHelp, readFinding } from "../../client/finding.ts";
import { checkOutput, readRegistry } from "../../client/registry.ts";
import { faultOfAnswer } from "../../client/vote.ts";
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
      help: `JSON, or a plain text; of a doubt ${findingHelp}`,
      json: "whole",
    },
  },
  options: voterOptions,
  examples: [
    `sagamesh answer hire-41/7-0 '{"slot":"Tuesday"}'`,
    `sagamesh answer hire-41/9-1 '{"outcome":"did_not_happen"}'`,
  ],
  run: ({ task, answer: text, by, as, nkey }, context) => {
    const said = parseJsonOrText(text, "the answer");
    return voteOn(context, task, { vote: "answer", answer: said, by, as, nkey }, async (open, ports) => {
      if (open.about === "approval" || open.about === "stuck")
        refuseVote(open, "answered", `Use sagamesh approve ${task} or sagamesh deny ${task}.`);
      if (open.about === "doubt") return { answer: await checkFinding(open.tool ?? "", said, ports) };
      const fault = faultOfAnswer(open.input, said);
      if (fault !== undefined) throw new MeshError("INPUT_INVALID", `the answer: ${fault}`);
      return undefined;
    });
  },
});

/** What a doubt's task takes, of any form of a finding; what happened must fit what the tool gives. Throws INPUT_INVALID. */
async function checkFinding(tool: string, said: Json, { registry }: Ports): Promise<Json> {
  const finding = readFinding(said);
  if (finding === undefined) throw new MeshError("INPUT_INVALID", `the answer: expected ${findingHelp}`);
  if ("succeeded" in finding) checkOutput(await readRegistry(registry), { name: tool }, finding.succeeded);
  return answerOf(finding);
}
