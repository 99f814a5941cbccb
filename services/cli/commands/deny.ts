import { defineCommand } from "../frame/command.ts";
import { refuseVote, voteOn, voterOptions, votersHelp } from "../frame/task.ts";

/** A human's no. */
export const deny = defineCommand({
  name: "deny",
  summary: "deny a call, or decline to answer",
  details: votersHelp,
  positionals: { task: { help: "<saga>/<intent>, as `sagamesh tasks` lists it" } },
  options: {
    reason: { type: "string", hint: "TEXT", help: "told to the agent" },
    ...voterOptions,
  },
  examples: [`sagamesh deny hire-41/7-0 --reason "over budget"`],
  run: ({ task, reason, by, as, nkey }, context) =>
    voteOn(context, task, { vote: "deny", reason, by, as, nkey }, (open) => {
      if (open.about === "doubt")
        refuseVote(open, "denied", `Use sagamesh answer ${task} '{"outcome":"did_not_happen"}'.`);
    }),
});
