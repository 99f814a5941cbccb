/**
 * Run planning: a planner on a server of its own, in a folder of its own. It hosts nothing but itself, so no mesh's sagas
 * come here and none of it goes there; what is left is the ledger of how a plan came to be.
 */
import type { PlanRequest } from "../../actors/plan/planner.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { ModelPort } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import { type App, assertServable, defineApp } from "../app/app.ts";
import { followTurns } from "../client/follow-turns.ts";
import type { definePlanner } from "../workflow/planner.ts";
import { withOwnHost } from "./own-host.ts";

export interface PlanningOptions {
  readonly saga: SagaId;
  readonly planner: ReturnType<typeof definePlanner>;
  readonly request: PlanRequest;
  readonly model: { readonly name: string; readonly port: ModelPort };
  /** For its prices. */
  readonly app: App;
  /** Its own; the server is in it. */
  readonly folder: string;
  readonly onTurn: (turn: Turn) => void;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

/** A question that is under way when the command is called off is given up. */
const graceMs = 500;

/**
 * Starts the planning, or goes on with it, until it ends or the signal comes. A process that dies in its middle loses the
 * question that was under way and nothing else. Throws what opening a server throws.
 */
export async function runPlanning(options: PlanningOptions): Promise<void> {
  const { saga, planner, request, model, signal } = options;
  const { prices } = options.app.config;
  const app = defineApp({
    sagas: [planner],
    models: { [model.name]: model.port },
    ...(prices === undefined ? {} : { prices }),
  });
  assertServable(app, "host");
  await withOwnHost(
    { ...options, name: "plan", app, graceMs },
    async ({ ports, client }) => {
      await client.start(planner, request, { id: saga });
      for await (const turn of followTurns(ports, saga, signal)) options.onTurn(turn);
    },
    () => Promise.resolve(),
  );
}
