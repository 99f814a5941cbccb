/**
 * The application file of the demo's hosts: the agent, its model, and the tools that hosts perform themselves.
 */
import { anthropicModel, defineApp, implement, type ModelPort } from "sagamesh";
import { createInvite, hireForRole, modelName, reserveRoom, searchCandidates } from "./hiring.ts";
import { scriptedRecruiter } from "./model.ts";
import { probe, request } from "./world-client.ts";

/** The environment variable with the provider's name of a real model. */
export const modelVariable = "SAGAMESH_DEMO_MODEL";

const model = (): ModelPort => {
  const real = process.env[modelVariable];
  if (real === undefined) return scriptedRecruiter();
  return anthropicModel({ name: modelName, model: real, apiKey: process.env["ANTHROPIC_API_KEY"] });
};

export default defineApp({
  sagas: [hireForRole],
  models: { [modelName]: model() },
  implementations: [
    implement(searchCandidates, { perform: (input, context) => request(searchCandidates, input, context) }),
    implement(reserveRoom, {
      perform: (input, context) => request(reserveRoom, input, context),
      probe: (key) => probe(reserveRoom, key),
    }),
    implement(createInvite, { perform: (input, context) => request(createInvite, input, context) }),
  ],
});
