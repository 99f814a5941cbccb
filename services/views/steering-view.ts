/**
 * Steering view: whether a saga is paused, and its flags, as its ledger tells without its definition.
 */
import type { Flag, Paused } from "../../actors/contract/state.ts";
import type { Account } from "../ledger/account.ts";

export interface Steering {
  readonly paused?: Paused;
  /** Those that no `resume` has acknowledged, oldest first. */
  readonly flags?: Flag[];
}

/** How a saga stands after the last turn of its account. */
export const steeringOf = ({ paused, flags }: Account): Steering => ({
  ...(paused === undefined ? {} : { paused }),
  ...(flags.length === 0 ? {} : { flags: [...flags] }),
});
