import { defineCommand } from "../frame/command.ts";
import { digestOption, refuseVote, voteOn, voterOptions, votersHelp } from "../frame/task.ts";

/** A human's yes. */
export const approve = defineCommand({
  name: "approve",
  summary: "approve a call that waits for a human",
  details: votersHelp,
  positionals: { task: { help: "<saga>/<intent>, as `sagamesh tasks` lists it" } },
  options: { ...voterOptions, ...digestOption },
  examples: ["sagamesh approve hire-41/7-0", "sagamesh approve hire-41/7-0 --by ana --as finance"],
  run: ({ task, by, as, digest, nkey }, context) =>
    voteOn(context, task, { vote: "approve", by, as, digest, nkey }, (open) => {
      if (open.about === "question" || open.about === "doubt")
        refuseVote(open, "approved", `Use sagamesh answer ${task} JSON.`);
    }),
});
