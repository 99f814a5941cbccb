/**
 * Test mesh: an application on a mesh in memory, with a host, a worker and a clock that the test turns.
 *
 * TX1 After each call the mesh is at rest: all that can happen without waiting for a person, a signal, a vote
 *     or a timer, has happened. Retries with their pauses are part of it.
 * TX2 Time in which nothing happens is skipped: while the mesh rests, its processes are frozen and only the server's
 *     timers go on. Three days cost what happens in them.
 * TX3 One seed decides everything that is left to chance.
 */
import type { z } from "zod";
import type { SagaDefinition, SignalSchemas } from "../../actors/contract/definition.ts";
import { MeshError } from "../../protocol/errors.ts";
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import type { MigrateDocument } from "../../protocol/documents/migrate.ts";
import type { ModelPort } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import {
  createClient,
  type SagaHandle,
  type SagaDescription,
  type SagaEnd,
  type VotedTask,
  type VoteInput,
} from "../client/mesh.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import type { ForkOptions } from "../client/fork.ts";
import type { DescribeOptions, SagaFilter } from "../client/list.ts";
import type { TaskDetail } from "../client/task-detail.ts";
import type { OpenTask } from "../client/tasks.ts";
import type { MigrateOptions } from "../client/migrate.ts";
import { readLetterHeaders } from "../wire/dead-letter.ts";
import { type HostOptions, startHost } from "../host/host.ts";
import { decodeTurn } from "../ledger/reader.ts";
import { silentLog } from "../process/log.ts";
import { createMemoryMesh, type MemoryMesh, type MemoryProcess } from "../memory/mesh.ts";
import { startWorker } from "../worker/worker.ts";
import { type Duration, msOf } from "../../protocol/duration.ts";
import { type PerformedCall, watched } from "./performed.ts";

/** How a test mesh differs from the application. */
export interface TestMeshOptions {
  /** Model ports by name, in place of the application's own or beside them. */
  readonly models?: Readonly<Record<string, ModelPort>>;
  /** 1 unless given. */
  readonly seed?: number;
}

/** A saga as a test holds it. Every method leaves the mesh at rest. */
export interface TestSaga<O = unknown, S extends SignalSchemas = SignalSchemas> {
  readonly id: SagaId;
  /** Throws INPUT_INVALID, SIGNAL_UNKNOWN. */
  signal: SagaHandle<O, S>["signal"];
  cancel(reason: string): Promise<void>;
  /** Lets time pass until the saga has ended. Throws UNAVAILABLE if that takes more than `within` ("30d"). */
  result(options?: { within?: Duration }): Promise<SagaEnd<O>>;
  /** How it has ended; undefined if it has not. Lets no time pass. */
  end(): Promise<SagaEnd<O> | undefined>;
  /** Its turns so far; none if it has not begun. */
  ledger(): Promise<Turn[]>;
}

/** A mesh in memory whose clock the test turns. Every method leaves it at rest; the words are those of `Mesh`. */
export interface TestMesh extends AsyncDisposable {
  /** The same id with the same input is the same saga. Throws INPUT_INVALID, SAGA_ID_TAKEN. */
  start<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    input: z.input<I>,
    options?: { id?: string },
  ): Promise<TestSaga<z.infer<O>, S>>;
  saga<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    id: string,
  ): TestSaga<z.infer<O>, S>;
  /** Starts a fork of a saga; see `Mesh.fork`. */
  fork<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    origin: { readonly id: string } | string,
    options: ForkOptions,
  ): Promise<TestSaga<z.infer<O>, S>>;
  /** A signal to any saga by its name; the door of the saga checks it. */
  signal(
    saga: { readonly id: string } | string,
    name: string,
    data?: unknown,
    options?: { id?: string },
  ): Promise<void>;
  /** How a saga ends; see TestSaga. */
  result(saga: { readonly id: string } | string, options?: { within?: Duration }): Promise<SagaEnd<unknown>>;
  /** Turns of a saga's ledger; none if it has not started. */
  ledger(saga: { readonly id: string } | string): Promise<Turn[]>;
  /** Ids of all sagas that have started, children included. */
  sagas(): readonly SagaId[];
  /** Lets time pass: `"3d"`, `"90s"` or milliseconds. */
  advance(duration: Duration): Promise<void>;
  /** Lets happen what can happen now (TX1). */
  settled(): Promise<void>;
  /** Calls of a tool's body so far, or of every tool's. */
  effects(tool?: { readonly name: string } | string): readonly PerformedCall[];
  /** The sagas that the filter means: see `Mesh.list`. */
  list(filter?: SagaFilter): Promise<SagaRow[]>;
  /** Everything that its ledger says of one saga: see `Mesh.describe`. */
  describe(saga: { readonly id: string } | string, options?: DescribeOptions): Promise<SagaDescription>;
  /** What waits for a human. */
  tasks(): Promise<OpenTask[]>;
  /** All that a reviewer needs of one task. */
  task(task: { readonly saga: string; readonly intent: string }): Promise<TaskDetail>;
  /** Speaks of a task, by default as `test`. */
  vote(task: VotedTask, vote: VoteInput): Promise<void>;
  /** Answers a deferred call, by its token or callback URL. */
  settle(token: string, result: { succeeded: unknown } | { failed: string }): Promise<void>;
  /** What was refused or given up, with its code and reason, oldest first. */
  letters(): Promise<readonly { readonly subject: string; readonly code: string; readonly reason: string }[]>;
  /** The host and the worker die where they stand, and others take their place. */
  crash(): Promise<void>;
  /** The same, and the others serve this application, as after a deployment. */
  serve(app: App): Promise<void>;
  /** Moves sagas to the definitions of an application: see `Mesh.migrate`. */
  migrate(app: App, options?: MigrateOptions): Promise<MigrateDocument[]>;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The first of them, and what `crashMatrix` prints. */
  readonly seed: number;
}

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

const restartMs = 500;
/** How long work that goes on keeps a call waiting: retries with backoff, a claim's deadline. */
const restWithinMs = 600_000;
const lookMs = 20;

/**
 * A mesh with one host and one worker for the application, which each die and start again if told to. Throws
 * APP_INVALID with every fault at the first call.
 */
export const testMesh = (app: App, options: TestMeshOptions = {}): TestMesh => openTestMesh(app, options, {});

export function openTestMesh(
  app: App,
  { models, seed = 1 }: TestMeshOptions,
  hooks: TestMeshHooks,
): TestMesh {
  const mesh = createMemoryMesh({ seed });
  hooks.opened?.(mesh);
  const { clock } = mesh;
  const calls: PerformedCall[] = [];
  let served = watched(app, clock, calls, models);
  const running = new Map<"host" | "worker", MemoryProcess>();
  let failure: unknown;

  const launch = (role: "host" | "worker") => {
    const process = mesh.spawn(role);
    const { gate, ports, chance } = process;
    running.set(role, process);
    gate.onCall((port, method, when) => {
      if (gate.state() === "running" && hooks.crashesAt?.(role, port, method, when) === true) restart(role);
    });
    const common = {
      ports,
      clock: process.clock,
      chance,
      log: silentLog,
      incarnation: gate.name,
      callbackBase: "sagamesh:",
    };
    const starting =
      role === "host" ? startHost({ ...common, ...hooks.signing }, served) : startWorker(common, served);
    starting.catch((error: unknown) => {
      failure = error;
    });
  };
  const restart = (role: "host" | "worker") => {
    running.get(role)?.gate.crash();
    running.delete(role);
    clock.at(clock.now() + restartMs, () => launch(role));
  };
  launch("host");
  launch("worker");

  const { ports, clock: clientClock, chance } = mesh.spawn("test");
  const client = createClient({ ports, clock: clientClock, chance, from: "test" }, () => Promise.resolve());

  const isBusy = () => {
    const { inbox, work } = mesh.server.open();
    return inbox + work > 0 || running.size < 2;
  };
  /** TX1. Two looks: what was acked may have something on its way. */
  const rest = async (until = clock.now() + restWithinMs): Promise<void> => {
    const end = Math.min(until, clock.now() + restWithinMs);
    for (let quiet = 0; quiet < 2 && clock.now() < end; quiet = isBusy() ? 0 : quiet + 1)
      await clock.run({ until: Math.min(end, clock.now() + lookMs) });
    if (failure !== undefined) throw failure as Error; // Of startHost or startWorker, which throw errors.
  };
  /** TX2 */
  const pass = async (until: number, isOver: () => boolean = () => false): Promise<void> => {
    await rest(until);
    while (clock.now() < until && !isOver()) {
      for (const { gate } of running.values()) gate.pause();
      await clock.run({ until, idle: isBusy });
      for (const { gate } of running.values()) gate.resume();
      await rest(until);
    }
  };
  /** A call of the client's, and all that follows from it. */
  const call = async <T>(work: Promise<T>): Promise<T> => {
    const value = await clock.until(work);
    await rest();
    return value;
  };

  const ledgerOf = async (id: SagaId): Promise<Turn[]> => {
    const messages = mesh.server.ledger.after(id, 0);
    return clock.until(Promise.all(messages.map((message) => decodeTurn(ports.blobs, message))));
  };
  const hasEnded = (id: SagaId) =>
    mesh.server.ledger.after(id, 0).some(({ data }) => Buffer.from(data).includes('"kind":"end"'));
  const resultOf = async <O>(
    handle: SagaHandle<O, SignalSchemas>,
    within: Duration = "30d",
  ): Promise<SagaEnd<O>> => {
    await pass(clock.now() + msOf(within), () => hasEnded(handle.id));
    if (!hasEnded(handle.id))
      throw new MeshError(
        "UNAVAILABLE",
        `${handle.id} has not ended within ${within}${await waitingFor(handle.id)}`,
        {
          remedy: "See what it waits for with t.ledger and t.tasks.",
        },
      );
    return clock.until(handle.result());
  };
  const waitingFor = async (id: SagaId): Promise<string> => {
    const own = (await clock.until(client.tasks())).filter(({ saga }) => saga === id);
    return own.map(({ question }) => `; it waits for a human: ${question}`).join("");
  };
  const testSaga = <O, S extends SignalSchemas>(handle: SagaHandle<O, S>): TestSaga<O, S> => ({
    id: handle.id,
    signal: (name: string, data: unknown, options?: { id?: string }) =>
      call(handle.signal(name as never, data as never, options)),
    cancel: (reason) => call(handle.cancel(reason)),
    result: ({ within } = {}) => resultOf(handle as unknown as SagaHandle<O, SignalSchemas>, within),
    end: async () => (hasEnded(handle.id) ? clock.until(handle.result()) : undefined),
    ledger: () => ledgerOf(handle.id),
  });
  const idOf = (saga: { readonly id: string } | string): SagaId =>
    parseSagaId(typeof saga === "string" ? saga : saga.id);
  /** By its id alone: what is checked of a signal is checked at the saga's own door. */
  const anySaga = (saga: { readonly id: string } | string): SagaHandle<unknown, SignalSchemas> =>
    client.saga(anyDefinition, idOf(saga));
  const anyDefinition = { signals: {} } as unknown as SagaDefinition; // Proof: a handle reads the signals' schemas only.

  return {
    seed,
    start: async (saga, input, options) => testSaga(await call(client.start(saga, input, options))),
    saga: (saga, id) => testSaga(client.saga(saga, id)),
    fork: async (saga, origin, options) => {
      await import("../app/sample.ts"); // Virtual time does not wait for a module.
      return testSaga(await call(client.fork(saga, idOf(origin), options)));
    },
    signal: async (saga, name, data = null, options = {}) => {
      const id = idOf(saga);
      const own = options.id ?? `test-${chance.nonce()}`;
      const message = {
        subject: `saga.${id}.signal.${name}`,
        data: Buffer.from(JSON.stringify(data)),
        headers: { "Saga-Event": own },
        msgId: `${id}:signal:${own}`,
      };
      await call(ports.inbox.publish(message));
    },
    result: async (saga, { within } = {}) => resultOf(anySaga(saga), within),
    ledger: async (saga) => ledgerOf(idOf(saga)),
    sagas: () => mesh.server.ledger.list().map(({ saga }) => saga),
    advance: (duration) => pass(clock.now() + msOf(duration)),
    settled: () => rest(),
    effects: (tool) => {
      const name = typeof tool === "object" ? tool.name : tool;
      return calls.filter((one) => name === undefined || one.tool === name);
    },
    list: (filter) => clock.until(client.list(filter)),
    describe: async (saga, options) => clock.until(client.describe(idOf(saga), options)),
    tasks: () => clock.until(client.tasks()),
    task: (task) => clock.until(client.task(task)),
    vote: (task, vote) => call(client.vote(task, vote)),
    settle: (token, result) => call(client.settle(token, result)),
    letters: async () => {
      const letters = await clock.until(ports.dead.list());
      return letters.map((letter) => {
        const { code, reason, origin } = readLetterHeaders(letter.headers);
        return { subject: origin, code, reason };
      });
    },
    crash: async () => {
      for (const role of [...running.keys()]) restart(role);
      await rest();
    },
    serve: async (next) => {
      served = watched(next, clock, calls, models);
      for (const role of [...running.keys()]) restart(role);
      await rest();
    },
    migrate: (next, options) => call(client.migrate(next, options)),
    now: () => clock.now(),
    [Symbol.asyncDispose]: async () => {
      for (const { gate } of running.values()) gate.crash();
      await client.close();
    },
  };
}
