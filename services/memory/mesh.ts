/**
 * A mesh in memory: one clock, one server, and as many processes as are spawned.
 *
 * Owns: wiring, and that one seed decides everything. Used by the tests of users, the simulator and the
 * contract suite.
 *
 *     const mesh = createMemoryMesh({ seed: 7, faults: rough, replicas: 3 });
 *     const { ports, clock, chance, gate } = mesh.spawn("host-a");
 *     await mesh.clock.until(ports.ledger.list());
 */
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import { createVirtualClock, type VirtualClock } from "./clock.ts";
import { calm, createWeather, type FaultPlan, type SeededChance, seededChance } from "./faults.ts";
import { createGate, type ProcessGate, type Trace } from "./gate.ts";
import { memoryPorts } from "./ports.ts";
import { createMemoryServer, type MemoryServer } from "./server.ts";

export interface MemoryMeshOptions {
  readonly seed: number;
  /** What goes wrong; nothing if left out. */
  readonly faults?: Partial<FaultPlan>;
  /** Default 1. */
  readonly replicas?: 1 | 3;
  readonly partitions?: number;
  readonly startMs?: number;
  /** Long work gives way after so many of its pieces; 0, unless given: never. */
  readonly givesWayEvery?: number;
  readonly trace?: Trace;
}

/** What a process of the mesh is given to live on. */
export interface MemoryProcess {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly gate: ProcessGate;
}

export interface MemoryMesh {
  readonly clock: VirtualClock;
  readonly server: MemoryServer;
  /** The driver's own chance, apart from everybody else's. */
  readonly chance: SeededChance;
  /** A new process. The same name again is its next life: other nonces, other fortunes. */
  spawn(name: string, options?: { skewMs?: number }): MemoryProcess;
}

export function createMemoryMesh(options: MemoryMeshOptions): MemoryMesh {
  const { seed, replicas = 1, partitions, startMs, trace, givesWayEvery = 0 } = options;
  const plan: FaultPlan = { ...calm, ...options.faults };
  const clock = createVirtualClock(startMs);
  const startedAt = clock.now();
  const chance = seededChance(seed);
  const lives = new Map<string, number>();
  const weather = createWeather(clock, chance.fork("server"), plan, startedAt);
  const server = createMemoryServer({ clock, replicas, weather, partitions });
  return {
    clock,
    server,
    chance: chance.fork("driver"),
    spawn: (name, { skewMs } = {}) => {
      const life = (lives.get(name) ?? 0) + 1;
      lives.set(name, life);
      const own = chance.fork(`${name}#${life}`);
      const fortune = createWeather(clock, own.fork("gate"), plan, startedAt);
      const gate = createGate({ name: `${name}#${life}`, clock, weather: fortune, skewMs, trace });
      return { ports: memoryPorts(server, gate, givesWayEvery), clock: gate.clock, chance: own, gate };
    },
  };
}
