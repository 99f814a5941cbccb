/**
 * Early: a signal that no present state takes.
 *
 * EL1 It is dropped, as XState drops it, unless its saga keeps it, and that it was dropped is recorded: but where the state
 *     says that it takes it and does nothing (`on: { go: {} }`). A saga that began when all were kept keeps them.
 * EL2 The record names no state: a version that only calls its states otherwise decides the same.
 */
import type { KeptSignal } from "../contract/state.ts";
import type { MachineEvent } from "../machine/actions.ts";
import { type Folding, newId } from "./folding.ts";

/** Whether the signal goes by, and is not offered again after the machine's next transition. `event`: as it was offered. */
export function letsPass(f: Folding, { name }: KeptSignal, event: MachineEvent): boolean {
  const { whenEarly, kind, machine } = f.definition;
  const said = typeof whenEarly === "object" ? whenEarly[name] : whenEarly;
  const { follows, snapshot } = f.state;
  if ((said ?? (follows === undefined ? "keep" : "ignore")) === "keep") return false;
  if (follows !== undefined && kind.tellsIgnored && !machine.forbids(snapshot, event)) {
    const reason = `no transition of its present state takes the signal "${name}"`;
    f.intents.push({ kind: "denied", id: newId(f), name, code: "SIGNAL_NOT_TAKEN", reason });
  }
  return true;
}
