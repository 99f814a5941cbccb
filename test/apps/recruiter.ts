/** The recruiter's agent as an application: asking means a POST to OUTSIDE_URL of where the answer is to go. */
import { answerWithinMs, recruiting } from "../support/recruiter.ts";

const { OUTSIDE_URL = "", WITHIN_MS = String(answerWithinMs) } = process.env;

export default recruiting(
  async ({ callbackUrl }) => {
    await fetch(OUTSIDE_URL, { method: "POST", body: callbackUrl });
  },
  { withinMs: Number(WITHIN_MS) },
).app;
