/** The example's tools, and a model that takes its time over each answer, so that it can be killed over one. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineApp } from "sagamesh";
import type { ModelPort } from "sagamesh/models";
import { answerOf, offsite, questionOf, tools } from "../examples/planned-bookings.ts";

const slow: ModelPort = {
  name: "slow",
  decide: async (request) => {
    await sleep(250);
    const { step } = questionOf(request);
    return { model: "slow", text: JSON.stringify(answerOf(offsite, step)) };
  },
};

export default defineApp({ tools, models: { slow } });
