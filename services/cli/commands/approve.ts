import { defineCommand } from "../command.ts";
import { refuseVote, voteOn, votersHelp } from "../task.ts";

/** A human's yes. */
export const approve = defineCommand({
  name: "approve",
  summary: "approve a call that waits for a human",
  details: votersHelp,
  positionals: { task: { help: "<saga>/<intent>, as `sagamesh tasks` lists it" } },
  options: { by: { type: "string", hint: "NAME", help: "who approves; recorded as given" } },
  examples: ["sagamesh approve hire-41/7-0"],
  run: ({ task, by }, context) =>
    voteOn(context, task, { vote: "approve", by }, (open) => {
      if (open.about === "question" || open.about === "doubt")
        refuseVote(open, "approved", `Use sagamesh answer ${task} JSON.`);
    }),
});
