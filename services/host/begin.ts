/**
 * Begin: a saga's first turn, or a fork's first turns.
 */
import { isMeshError } from "../../protocol/errors.ts";
import { publishTaken } from "./dispatch.ts";
import { beginFork, type ForkBegun, type ForkStart } from "./fork.ts";
import type { HostDeps } from "./host-deps.ts";
import { newSaga } from "./load.ts";

/** What is appended first. A child whose input its definition does not take is told to its parent. */
export async function beginSaga(deps: HostDeps, begin: ForkStart): Promise<ForkBegun> {
  const { saga, start } = begin;
  if (start.fork !== undefined) return beginFork(deps, begin);
  try {
    return { type: "begun", loaded: newSaga(deps.app, start), events: [start] };
  } catch (error) {
    if (!isMeshError(error, "INPUT_INVALID")) throw error;
    if (start.parent !== undefined) await publishTaken(deps, saga, start.parent);
    return { type: "refused", error };
  }
}
