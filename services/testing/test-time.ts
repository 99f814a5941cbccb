/**
 * Test time: what a test mesh lets happen before it answers.
 *
 * TX1 After each call the mesh is at rest: all that can happen without waiting for a person, a signal, a vote
 *     or a timer, has happened. Retries with their pauses are part of it.
 * TX2 Time in which nothing happens is skipped: while the mesh rests, its processes are frozen and only the server's
 *     timers go on. Three days cost what happens in them.
 */
import type { MemoryMesh } from "../memory/mesh.ts";
import type { TestProcesses } from "./test-processes.ts";

/** The time of a test mesh, which passes only here. */
export interface TestTime {
  /** Lets happen what can happen now (TX1), at most up to a time. Throws what a process could not start for. */
  rest(until?: number): Promise<void>;
  /** Lets time pass up to a time, or until what the test waits for is there, if that is earlier (TX2). */
  pass(until: number, isThere?: () => boolean): Promise<void>;
  /** What a client's call gives, once all that follows from it has happened. */
  readonly call: <T>(work: Promise<T>) => Promise<T>;
}

/** How long work that goes on keeps a call waiting: retries with backoff, a claim's deadline. */
const restWithinMs = 600_000;
const lookMs = 20;

/** The time of these processes on this mesh. */
export function timeOf({ clock, server }: MemoryMesh, processes: TestProcesses): TestTime {
  const { running } = processes;
  const isBusy = () => {
    const { inbox, work } = server.open();
    return inbox + work > 0 || running.size < 2;
  };
  /** TX1. Two looks: what was acked may have something on its way. */
  const rest = async (until = clock.now() + restWithinMs): Promise<void> => {
    const end = Math.min(until, clock.now() + restWithinMs);
    for (
      let quiet = 0;
      quiet < 2 && clock.now() < end && processes.failure() === undefined;
      quiet = isBusy() ? 0 : quiet + 1
    )
      await clock.run({ until: Math.min(end, clock.now() + lookMs) });
    const failure = processes.failure();
    if (failure !== undefined) throw failure as Error; // Of startHost or startWorker, which throw errors.
  };
  return {
    rest,
    pass: async (until, isThere = () => false) => {
      await rest(until);
      while (clock.now() < until && !isThere()) {
        for (const { gate } of running.values()) gate.pause();
        await clock.run({ until, idle: isBusy });
        for (const { gate } of running.values()) gate.resume();
        await rest(until);
      }
    },
    call: async (work) => {
      const value = await clock.until(work);
      await rest();
      return value;
    },
  };
}
