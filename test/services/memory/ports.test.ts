/**
 * The memory mesh under the contract of all ports.
 *
 * Goal: what is proved on memory holds of the ports, not of the model. Method: the shared suite. Its bodies
 * await calls as they come, so between two advances virtual time is let go on for as long as a call is open.
 */
import type { VirtualClock } from "../../../services/memory/clock.ts";
import type { ProcessGate } from "../../../services/memory/gate.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { portsContract } from "../../contract/ports.contract.ts";

for (const replicas of [1, 3] as const)
  portsContract(`memory ports, replicas ${replicas}`, async () => {
    const { clock, spawn } = createMemoryMesh({ seed: 1, replicas });
    const { ports, gate } = spawn("host");
    const closing = new AbortController();
    void drive(clock, gate, closing.signal);
    return { ports, advance: clock.advance, close: async () => closing.abort() };
  });

/** Lets time pass for open calls alone: leases and timers wait for an advance. */
async function drive(clock: VirtualClock, gate: ProcessGate, signal: AbortSignal): Promise<void> {
  while (!signal.aborted)
    if (gate.openCalls() > 0) await clock.run({ idle: () => gate.openCalls() === 0 });
    else await new Promise((resolve) => setImmediate(resolve));
}
