/**
 * Parts: what answers behind an open console, put together on a mesh.
 */
import type { App } from "../app/app.ts";
import type { ClientDeps } from "../client/send.ts";
import type { Log } from "../process/log.ts";
import type { ArchivePlace } from "./bulk.ts";
import { createChanges } from "./changes.ts";
import type { Remembering } from "./memory.ts";
import { createMeshTeller, type Examine } from "./mesh.ts";
import { createAsking, type Tables } from "./questions.ts";
import { createReadings } from "./readings.ts";
import { createSagaTeller } from "./saga.ts";
import { createSagaFinder } from "./sagas.ts";
import type { Served } from "./routes.ts";
import type { ConsoleServing } from "./server.ts";
import { createStateTeller } from "./state.ts";

/** What only who composes the process can give. */
export interface Looks {
  /** Whose sagas are looked at; undefined: what follows from definitions is not shown. */
  readonly app: App | undefined;
  readonly examine: Examine;
  readonly tables: Tables;
  readonly archives: ArchivePlace;
  readonly remembering: Remembering;
}

/** Nothing is read before it is asked for. */
export function consoleOn(
  deps: ClientDeps,
  me: Served["me"],
  log: Log,
  { app, examine, tables, archives, remembering }: Looks,
): ConsoleServing {
  const finder = createSagaFinder(deps);
  const teller = createSagaTeller(deps, createReadings(deps.ports), remembering);
  const state = createStateTeller(teller, app, deps.ports.loop);
  const mesh = createMeshTeller(deps, examine);
  const asking = createAsking(deps, teller, tables);
  const changes = createChanges(deps, finder, log);
  return { deps, me, finder, teller, state, mesh, asking, archives, changes, log };
}
