/**
 * Built-in: what machines of our own have in common, whatever their kind: they hear signals and cancels as events of
 * ours, and end with what they say themselves.
 */
import { type Json, toJson } from "../../protocol/json.ts";
import type { MachineEvent } from "../machine/actions.ts";
import type { MachineStatus } from "../machine/machine.ts";
import type { Definition } from "./definition.ts";
import type { Ending, KeptSignal } from "./state.ts";

/** The part of a kind's record that goes with such a machine. */
export const builtInMachine = {
  signalEvent: (
    _: Definition,
    { name, data, at, from }: KeptSignal,
    offered: { readonly now: number; readonly free: boolean },
  ): MachineEvent => ({ type: "sagamesh.signal", name, data, at, from, ...offered }),
  cancelEvent: (cancel: {
    readonly reason: string;
    readonly from: string;
    readonly at: number;
  }): MachineEvent => ({
    type: "sagamesh.cancel",
    ...cancel,
  }),
  ending: (_: Definition, { tags, output }: MachineStatus): Ending => {
    const status = statusIn(tags);
    const said = membersOf(toJson(output));
    if (status === "completed") return { status, output: said["output"] ?? null };
    return { status, reason: textIn(said, "reason") ?? "", code: textIn(said, "code") ?? "" };
  },
};

/** How a final state ends its saga, by its tags. */
export const statusIn = (tags: readonly string[]): Ending["status"] =>
  tags.includes("cancelled") ? "cancelled" : tags.includes("failed") ? "failed" : "completed";

/** The members of an output; none of what is no object. */
export const membersOf = (said: Json): Readonly<Record<string, Json>> =>
  typeof said === "object" && said !== null && !Array.isArray(said) ? said : {};

/** A member that is a text. */
export const textIn = (members: Readonly<Record<string, Json>>, name: string): string | undefined => {
  const value = members[name];
  return typeof value === "string" ? value : undefined;
};
