/**
 * In room: an attempt of the host's own takes a place among its effects in flight, and is told of.
 */
import type { ModelMessage } from "../../protocol/model.ts";
import type { CutOff } from "../perform/cut-off.ts";
import { observed } from "../perform/observe.ts";
import type { Performed } from "../perform/outcome.ts";
import type { HostDeps } from "./host-deps.ts";
import type { Loaded } from "./load.ts";

/** What an attempt is given by the hands that perform it. */
export interface OwnWorkContext {
  readonly cutOff: CutOff;
  /** A signal brought this call about: others may follow at once, and one call should see them all. */
  readonly settleFirst: boolean;
  readonly mayBegin: () => boolean;
  /** The saga as it is now; undefined once it leaves, or is another host's. */
  readonly current: () => Pick<Loaded, "definition" | "state"> | undefined;
  readonly messages: () => readonly ModelMessage[] | Promise<readonly ModelMessage[]>;
}

/** Performs it once there is a place. What only waits, for a time or for a model's turn, takes none. */
export function inRoom(
  deps: Pick<HostDeps, "room" | "observe" | "clock">,
  { cutOff }: Pick<OwnWorkContext, "cutOff">,
  kind: "tool" | "model",
  name: string,
  act: () => Promise<Performed>,
): Promise<Performed> {
  const enter = () => observed(deps, kind, name, act, deps.room.leave);
  const wait = deps.room.enter(cutOff);
  return wait === undefined ? enter() : wait.then(enter);
}
