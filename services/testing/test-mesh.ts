/**
 * Test mesh: an application on a mesh in memory, with a host, a worker and a clock that the test turns.
 *
 * TQ1 One seed decides everything that is left to chance.
 */
import type { z } from "zod";
import type { SagaDefinition, SignalSchemas } from "../../actors/contract/definition.ts";
import { type Duration, msOf } from "../../protocol/duration.ts";
import type { ModelPort } from "../../protocol/model.ts";
import type { App } from "../app/app.ts";
import type { ForkOptions } from "../client/fork.ts";
import { createClient, type HandleOptions, type Mesh, type SagaHandle } from "../client/mesh.ts";
import type { VirtualClock } from "../memory/clock.ts";
import { createMemoryMesh } from "../memory/mesh.ts";
import { readLetterHeaders } from "../wire/dead-letter.ts";
import { type PerformedCall, watched } from "./performed.ts";
import { startProcesses, type TestMeshHooks } from "./test-processes.ts";
import { type TestSaga, testSagaOf } from "./test-saga.ts";
import { type TestTime, timeOf } from "./test-time.ts";

/** How a test mesh differs from the application. */
export interface TestMeshOptions {
  /** Model ports by name, in place of the application's own or beside them. */
  readonly models?: Readonly<Record<string, ModelPort>>;
  /** 1 unless given. */
  readonly seed?: number;
  /**
   * How long virtual time waits for a tool's body, in real milliseconds; 10,000 unless given. What a body takes of it is
   * no virtual time. One that waits for nothing of the process, neither timer nor file nor connection, hangs, and is
   * left after a quarter of a second: it meets its timeout.
   */
  readonly realMs?: number;
}

/**
 * A mesh in memory whose clock the test turns: a `Mesh`, so what an application does with one it does with this one, and
 * what only a test can do. Every method leaves it at rest.
 */
export interface TestMesh extends Mesh {
  /** As `Mesh.start`. */
  start<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    input: z.input<I>,
    options?: { id?: string; version?: number; traceparent?: string },
  ): Promise<TestSaga<z.infer<O>, S>>;
  /** As `Mesh.saga`. */
  saga<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    id: string,
    options?: HandleOptions,
  ): TestSaga<z.infer<O>, S>;
  /** As `Mesh.anySaga`. */
  anySaga(id: string, options?: HandleOptions): TestSaga;
  /** As `Mesh.fork`. */
  fork<I extends z.ZodType, O extends z.ZodType, S extends SignalSchemas>(
    saga: SagaDefinition<I, O, S>,
    origin: string,
    options: ForkOptions,
  ): Promise<TestSaga<z.infer<O>, S>>;
  /** Lets time pass: `"3d"`, `"90s"` or milliseconds. */
  advance(duration: Duration): Promise<void>;
  /** Lets happen what can happen now (TX1 in test-time.ts). */
  settled(): Promise<void>;
  /** Calls of a tool's body so far, or of every tool's. A name is every version of it. */
  effects(tool?: { readonly name: string; readonly version?: number } | string): readonly PerformedCall[];
  /** What was refused or given up, with its code and reason, oldest first. */
  letters(): Promise<readonly { readonly subject: string; readonly code: string; readonly reason: string }[]>;
  /** The host and the worker die where they stand, and others take their place. */
  crash(): Promise<void>;
  /** The same, and the others serve this application, as after a deployment. */
  serve(app: App): Promise<void>;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The first of them, and what `crashMatrix` prints. */
  readonly seed: number;
}

/**
 * A mesh with one host and one worker for the application, which each die and start again if told to. Throws
 * APP_INVALID with every fault at the first call. What is likely a slip in the application is a warning of the process,
 * `SagameshNote`, once.
 */
export function testMesh(app: App, options: TestMeshOptions = {}): TestMesh {
  tellNotes(app);
  return openTestMesh(app, options, {});
}

const told = new WeakSet<App>();

/** What is likely a slip in the application, once of each, where Node prints its warnings. */
function tellNotes(app: App): void {
  if (!told.has(app)) for (const note of app.notes) process.emitWarning(note, "SagameshNote");
  told.add(app);
}

/** The same for `crashMatrix` and our own tests, which look behind it. */
export function openTestMesh(
  app: App,
  { seed = 1, ...bodies }: TestMeshOptions,
  hooks: TestMeshHooks,
): TestMesh {
  const mesh = createMemoryMesh({ seed });
  hooks.opened?.(mesh);
  const { clock } = mesh;
  const calls: PerformedCall[] = [];
  let served = watched(app, clock, calls, bodies);
  const processes = startProcesses(mesh, () => served, hooks);
  const time = timeOf(mesh, processes);
  const { ports, clock: clientClock, chance } = mesh.spawn("test");
  const client = createClient({ ports, clock: clientClock, chance, from: "test" }, () => Promise.resolve());
  const held = <O, S extends SignalSchemas>(handle: SagaHandle<O, S>) =>
    testSagaOf(handle, mesh, time, client);
  const restart = () => {
    processes.restart();
    return time.rest();
  };
  const close = () => {
    processes.end();
    return client.close();
  };
  return {
    ...asMesh(client, held, time, clock),
    seed,
    advance: (duration) => time.pass(clock.now() + msOf(duration)),
    settled: () => time.rest(),
    effects: (tool) => {
      const { name, version } = typeof tool === "string" ? { name: tool } : (tool ?? {});
      return calls.filter(
        (one) =>
          (name === undefined || one.tool === name) && (version === undefined || one.version === version),
      );
    },
    letters: async () =>
      (await clock.until(ports.dead.list())).map((letter) => {
        const { code, reason, origin } = readLetterHeaders(letter.headers);
        return { subject: origin, code, reason };
      }),
    crash: restart,
    serve: (next) => {
      served = watched(next, clock, calls, bodies);
      return restart();
    },
    now: () => clock.now(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Held = <O, S extends SignalSchemas>(handle: SagaHandle<O, S>) => TestSaga<O, S>;

/** The calls that every mesh has, made by its client. What sends lets follow what follows; what reads lets no time pass. */
const asMesh = (
  client: Mesh,
  held: Held,
  { call }: TestTime,
  clock: VirtualClock,
): Pick<TestMesh, Exclude<keyof Mesh, "close" | typeof Symbol.asyncDispose>> => ({
  start: async (saga, input, options) => held(await call(client.start(saga, input, options))),
  saga: (saga, id, options) => held(client.saga(saga, id, options)),
  anySaga: (id, options) => held(client.anySaga(id, options)),
  fork: async (saga, origin, options) => {
    await import("../app/sample.ts"); // Virtual time does not wait for a module.
    return held(await call(client.fork(saga, origin, options)));
  },
  settle: (token, result) => call(client.settle(token, result)),
  list: (filter) => clock.until(client.list(filter)),
  describe: (saga, options) => clock.until(client.describe(saga, options)),
  tasks: () => clock.until(client.tasks()),
  task: (task) => clock.until(client.task(task)),
  vote: (task, vote) => call(client.vote(task, vote)),
  migrate: (app, options) => call(client.migrate(app, options)),
  deployments: () => clock.until(client.deployments()),
  promote: (definition, options) => clock.until(client.promote(definition, options)),
  ramp: (definition, share, options) => clock.until(client.ramp(definition, share, options)),
  schedules: {
    create: (schedule) => call(client.schedules.create(schedule)),
    list: () => clock.until(client.schedules.list()),
    show: (name) => clock.until(client.schedules.show(name)),
    pause: (name, reason) => call(client.schedules.pause(name, reason)),
    resume: (name) => call(client.schedules.resume(name)),
    trigger: (name) => call(client.schedules.trigger(name)),
    backfill: (name, span) => call(client.schedules.backfill(name, span)),
    delete: (name) => call(client.schedules.delete(name)),
  },
});
