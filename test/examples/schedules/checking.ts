/** `check_schedule`: a saga that says of a schedule which rules of a problem it breaks, both given as data. */
import { defineTool, NotPerformed } from "sagamesh";
import { defineWorkflow } from "sagamesh/workflow";
import { z } from "zod";
import { checkTexts, Unreadable } from "./check.ts";
import { brokenText, verdictOf } from "./checked.ts";

/** What a file holds: data, or the text of a job shop. */
const Given = z.union([z.string(), z.array(z.json()), z.record(z.string(), z.json())]);
const Question = z.strictObject({ problem: Given, schedule: Given, history: Given.optional() });
const Verdict = z.object({
  keeps: z.boolean(),
  says: z.string(),
  /** Each broken rule, with time, person and place. */
  broken: z.array(z.string()),
  unjudged: z.array(z.string()),
});

const textOf = (name: string, given: z.infer<typeof Given>) => ({
  file: `the ${name}`,
  text: typeof given === "string" ? given : JSON.stringify(given),
});

const judge = defineTool({
  name: "judge_schedule",
  description: "Judges a schedule by the rules of its problem.",
  effect: "read",
  input: Question,
  output: Verdict,
  perform: async ({ problem, schedule, history }) => {
    try {
      const past = history === undefined ? undefined : textOf("history", history);
      const checked = checkTexts(textOf("problem", problem), textOf("schedule", schedule), past);
      return {
        keeps: checked.broken.length === 0,
        says: `${checked.title}: ${verdictOf(checked)}`,
        broken: checked.broken.map((one) => brokenText(checked.unit, one)),
        unjudged: checked.unjudged.map(({ what, why }) => `${what}: ${why}`),
      };
    } catch (error) {
      if (error instanceof Unreadable) throw new NotPerformed(error.message, { retry: false });
      throw error;
    }
  },
});

/** Completes with the verdict, whichever it is; fails where something cannot be read, and says what. */
export const checking = defineWorkflow({
  name: "check_schedule",
  version: 1,
  description: "Says which rules of a problem a schedule breaks.",
  input: Question,
  output: Verdict,
  nodes: { verdict: { run: judge } },
  result: ({ output }) => output("verdict", judge),
});
