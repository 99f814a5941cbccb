/**
 * Test processes: the host and the worker of a test mesh, which die where a test wants it and are replaced.
 */
import type { App } from "../app/app.ts";
import { isMeshError } from "../../protocol/errors.ts";
import { type HostOptions, startHost } from "../host/host.ts";
import { silentObserver } from "../host/host-deps.ts";
import type { MemoryMesh, MemoryProcess } from "../memory/mesh.ts";
import { silentLog } from "../process/log.ts";
import { scheduleBodies } from "../schedules/bodies.ts";
import { withBuiltIn } from "../schedules/with-schedules.ts";
import { startWorker } from "../worker/worker.ts";

/** What of a test mesh only `crashMatrix` and our own tests use. */
export interface TestMeshHooks {
  /** Told of the mesh itself: what it stores, as it stores it. */
  readonly opened?: (mesh: MemoryMesh) => void;
  /** What the host signs with, and checks votes by. */
  readonly signing?: Pick<HostOptions, "signer" | "checkSignature">;
  /** Told of each call that a process is about to make, or has made: true crashes it there. */
  readonly crashesAt?: (
    role: "host" | "worker",
    port: string,
    method: string,
    when: "before" | "after",
  ) => boolean;
}

type Role = "host" | "worker";

/** The processes of a test mesh. */
export interface TestProcesses {
  /** Those that live; one that died is missing until its replacement starts. */
  readonly running: ReadonlyMap<Role, MemoryProcess>;
  /** Why one could not start, or what a machine did that no other host could do again (MACHINE_IMPURE). */
  failure(): unknown;
  /** All die where they stand, and others take their place. */
  restart(): void;
  /** All die, and none takes their place. */
  end(): void;
}

const restartMs = 500;

/** Starts a host and a worker, and each of their replacements, for the application that `served` gives at that time. */
export function startProcesses(mesh: MemoryMesh, served: () => App, hooks: TestMeshHooks): TestProcesses {
  const running = new Map<Role, MemoryProcess>();
  let failure: unknown;
  const launch = (role: Role) => {
    const process = mesh.spawn(role);
    const { gate, ports, clock, chance } = process;
    running.set(role, process);
    gate.onCall((port, method, when) => {
      if (gate.state() === "running" && hooks.crashesAt?.(role, port, method, when) === true) replace(role);
    });
    const parked = (_: unknown, error: unknown) => {
      if (isMeshError(error, "MACHINE_IMPURE")) failure = error;
    };
    const observe = { ...silentObserver, parked };
    const own = { ports, clock, chance, log: silentLog, incarnation: gate.name, callbackBase: "sagamesh:" };
    const starting =
      role === "host"
        ? startHost(
            { ...own, observe, foldsTwice: true, ...hooks.signing },
            withBuiltIn(served(), scheduleBodies(own)),
          )
        : startWorker(own, served());
    starting.catch((error: unknown) => {
      failure = error;
    });
  };
  const replace = (role: Role) => {
    running.get(role)?.gate.crash();
    running.delete(role);
    mesh.clock.at(mesh.clock.now() + restartMs, () => launch(role));
  };
  launch("host");
  launch("worker");
  return {
    running,
    failure: () => failure,
    restart: () => {
      failure = undefined;
      for (const role of [...running.keys()]) replace(role);
    },
    end: () => {
      for (const { gate } of running.values()) gate.crash();
    },
  };
}
