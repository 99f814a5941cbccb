/**
 * Driver: the clients. Starts sagas all the time, signals and cancels some of them, and notes what was acked.
 *
 * What a client wants is the simulator's workload. Beside it are sleepers: agents that wait for a signal for as long as
 * the run lasts. At its end half of them are woken, and the others are cancelled: who has only waited can be cancelled, too.
 */
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { subjects } from "../../protocol/subjects.ts";
import { seededChance } from "../../services/memory/faults.ts";
import type { SpeakingMesh } from "../simulation/speaking.ts";
import { createWorkload, startClient, type Wish } from "../simulation/workload.ts";

export interface Driver {
  /** Every saga that was asked for. */
  readonly sagas: readonly SagaId[];
  readonly sleepers: readonly SagaId[];
  /** Asks for sagas until the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** Wakes every other sleeper, and cancels the rest. */
  endSleepers(): void;
  /** Whether all that was to be said has been acked. */
  isQuiet(): boolean;
}

export interface DriverOptions {
  readonly mesh: SpeakingMesh;
  readonly seed: number;
  /** A journey and a plan are begun about this often, milliseconds. */
  readonly everyMs: number;
  readonly sleepers: number;
}

const profile = { journeys: 1, planners: 1, lengthMax: 4, cancel: 0.2 };
/** Longer than any run. */
const sleepMs = 86_400_000;

export function createDriver({ mesh, seed, everyMs, sleepers: count }: DriverOptions): Driver {
  const chance = seededChance(seed, "driver");
  const sagas: SagaId[] = [];
  const clients: ReturnType<typeof startClient>[] = [];
  const sleepers = Array.from({ length: count }, (_, n) => parseSagaId(`planner-sleeper-${n}`));
  const send = (wishes: readonly Wish[]) => clients.push(startClient(mesh, { sagas: [], wishes }));

  return {
    sagas,
    sleepers,
    run: async (signal) => {
      const { clock } = mesh.spawn("clients");
      sagas.push(...sleepers);
      send(sleepers.map((saga) => startOf(saga, { plan: sleeperPlan })));
      for (let n = 0; !signal.aborted; n++) {
        const workload = createWorkload(seed * 1_000_000 + n, profile, `${n}-`);
        sagas.push(...workload.sagas);
        send(workload.wishes);
        const pauseMs = chance.between(everyMs * 0.5, everyMs * 1.5);
        await clock.sleep(pauseMs, signal).catch(() => undefined); // Aborted: the loop ends.
      }
    },
    endSleepers: () =>
      send(
        sleepers.map((saga, n) => ({
          ...(n % 2 === 0
            ? { subject: subjects.signal(saga, "go"), body: { n: 1 }, id: "wake" }
            : {
                subject: subjects.signal(saga, "cancel"),
                body: { reason: "the run is over" },
                id: "cancel",
              }),
          ...{ atMs: 0, times: 1 },
        })),
      ),
    isQuiet: () => clients.every((client) => client.isQuiet()),
  };
}

const sleeperPlan = [{ calls: ["book", "deposit"] }, { wait: sleepMs }, { calls: ["charge"] }];

const startOf = (saga: SagaId, input: object): Wish => ({
  ...{ atMs: 0, subject: subjects.start(saga), body: { name: "planner", input }, id: "start", times: 1 },
});
