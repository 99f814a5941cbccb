import { checkArguments } from "../../client/vote.ts";
import { defineCommand } from "../frame/command.ts";
import { parseJson } from "../frame/json.ts";
import { digestOption, refuseVote, voteOn, voterOptions, votersHelp } from "../frame/task.ts";

/** A human's own arguments in the place of the model's. */
export const edit = defineCommand({
  name: "edit",
  summary: "change the arguments of a call that waits for an approval",
  details:
    "The changed arguments are recorded as yours and need approvals of their own, in a new task: to propose " +
    "is not to approve. The model is told what was changed.\n" +
    votersHelp,
  positionals: { task: { help: "<saga>/<intent>, as `sagamesh tasks` lists it" } },
  options: {
    input: {
      type: "string",
      hint: "JSON",
      json: "whole",
      required: true,
      help: "all of the arguments, as the tool takes them",
    },
    ...voterOptions,
    ...digestOption,
  },
  examples: [`sagamesh edit hire-41/7-0 --input '{"cents":90000}'`],
  run: ({ task, input: text, by, as, digest, nkey }, context) => {
    const input = parseJson(text, "the arguments");
    return voteOn(
      context,
      task,
      { vote: "edit", input, by, as, digest, nkey },
      async (open, { registry }) => {
        if (open.about !== "approval")
          refuseVote(open, "edited", "Only an approval has arguments: see `sagamesh tasks`.");
        await checkArguments(registry, open.tool, input);
      },
    );
  },
});
