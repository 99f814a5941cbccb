/** A model to put recordings to: it says one thing, at a price. There are no sagas. */
import { defineApp } from "sagamesh";
import type { ModelPort } from "sagamesh/models";

const terse: ModelPort = {
  name: "terse",
  atOnce: true,
  decide: async ({ step }) => ({
    model: "terse",
    text: `Nothing, at step ${step}.`,
    calls: [],
    usage: { inputTokens: 1_000, outputTokens: 100 },
  }),
};

export default defineApp({
  models: { terse },
  prices: { terse: { inputPerMillion: 2, outputPerMillion: 10 } },
});
