/**
 * The demo's application file, for hosts and worker alike: the agent, its model, and the bodies of its tools.
 *
 * A body asks the outside world under the effect's key; a real one would call a vendor's SDK. Only the header with the
 * process's number is the demo's own: by it the outside world knows whom to kill.
 */
import { defineApp, implement, NotPerformed, type PerformContext, type Tool } from "sagamesh";
import { anthropicModel } from "sagamesh/models";
import { z } from "zod";
import * as tools from "./hiring.ts";
import { scriptedRecruiter } from "./model.ts";

/** The environment variable with the outside world's address. */
export const worldVariable = "SAGAMESH_DEMO_WORLD";
/** The environment variable with the provider's name of a real model. */
export const modelVariable = "SAGAMESH_DEMO_MODEL";
export const pidHeader = "x-demo-pid";

/** A candidate who has not answered by then has declined. */
const answerWithinMs = 60_000;

const { searchCandidates, enrichCandidate, requestInterview, reserveRoom, chargeDeposit } = tools;
const { findDeposit, createInvite, hireForRole, modelName } = tools;

const real = process.env[modelVariable];
const apiKey = process.env["ANTHROPIC_API_KEY"];

export default defineApp({
  sagas: [hireForRole],
  models: {
    [modelName]:
      real === undefined ? scriptedRecruiter() : anthropicModel({ name: modelName, model: real, apiKey }),
  },
  implementations: [
    ...[searchCandidates, enrichCandidate, chargeDeposit, findDeposit, createInvite].map((tool: Tool) =>
      implement(tool, { perform: (input, context) => request(tool, input, context) }),
    ),
    implement(reserveRoom, {
      perform: async (input, context) => reserveRoom.output.parse(await request(reserveRoom, input, context)),
      probe: async (key) => {
        const { output } = Probed.parse(
          await ask(`probe/${reserveRoom.name}?key=${encodeURIComponent(key)}`),
        );
        if (output === undefined) return { outcome: "did_not_happen" };
        return { outcome: "happened", output: reserveRoom.output.parse(output) };
      },
    }),
    implement(requestInterview, {
      perform: async (input, context) => {
        await request(requestInterview, input, context);
        return context.defer({ withinMs: answerWithinMs });
      },
    }),
  ],
});

const Probed = z.object({ output: z.json().optional() });

const request = (tool: Tool, input: unknown, { key, abort, callbackUrl }: PerformContext): Promise<unknown> =>
  ask(tool.name, { body: JSON.stringify({ key, input, answerTo: callbackUrl }), signal: abort });

/** Throws for anything but a success; NotPerformed where nothing can have happened. */
async function ask(path: string, init: RequestInit = {}): Promise<unknown> {
  const base = process.env[worldVariable];
  if (base === undefined) throw new NotPerformed(`${worldVariable} is not set`, { retry: false });
  const headers = { "content-type": "application/json", [pidHeader]: String(process.pid) };
  const response = await fetch(`${base}/${path}`, { method: "POST", headers, ...init });
  if (response.status === 400) throw new NotPerformed(await response.text(), { retry: false });
  if (!response.ok) throw new Error(`the outside world answered ${response.status}`);
  return response.json();
}
