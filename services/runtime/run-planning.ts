/**
 * Run planning: a planner on a server of its own, in a folder of its own. It hosts nothing but itself, so no mesh's sagas
 * come here and none of it goes there; what is left is the ledger of how a plan came to be.
 */
import { join } from "node:path";
import type { PlanRequest } from "../../actors/planner.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { ModelPort } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import { type App, assertServable, defineApp } from "../app.ts";
import { followTurns } from "../client/follow-turns.ts";
import { createClient } from "../client/mesh.ts";
import { startHost } from "../host/host.ts";
import { silentLog } from "../log.ts";
import { withPatientReads } from "../patient-ports.ts";
import type { definePlanner } from "../planner.ts";
import { openMesh } from "./mesh.ts";
import { newIncarnation, systemChance, systemClock } from "./system.ts";

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
  const { saga, planner, request, model, folder, signal } = options;
  const { prices } = options.app.config;
  const app = defineApp({
    sagas: [planner],
    models: { [model.name]: model.port },
    ...(prices === undefined ? {} : { prices }),
  });
  assertServable(app, "host");
  const mesh = await openMesh({
    dataDir: join(folder, "server"),
    name: `sagamesh plan ${process.pid}`,
    report: options.report,
    signal,
  });
  const ports = withPatientReads(mesh.ports, systemClock);
  const common = { ports, clock: systemClock, chance: systemChance };
  try {
    const host = await startHost(
      { ...common, log: silentLog, incarnation: newIncarnation("plan"), callbackBase: "sagamesh:" },
      app,
    );
    try {
      const client = createClient({ ...common, from: "plan" }, () => Promise.resolve());
      await client.start(planner, request, { id: saga });
      for await (const turn of followTurns(ports, saga, signal)) options.onTurn(turn);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await host.stop(graceMs);
    }
  } finally {
    await mesh.close();
  }
}
