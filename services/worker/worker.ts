/**
 * Worker: ⑤⑥ takes tool intents from WORK, performs them, puts their results into the saga's inbox.
 *
 * KW1 A delivery is acked only after its result is acked: a worker that dies in between is followed by
 *    another delivery, whose performer the claim tells what may still be done.
 * KW2 Nothing ends in silence: past the limit of deliveries the worker gives up with a recorded result.
 * KW3 A worker imports no actor state, and all it needs is in the message. It reads a ledger only where a claim was won long after the
 *    call was decided (services/perform/still-asked.ts).
 * KW4 What was delivered before is performed only with a mark (services/suspects/quarantine.ts).
 * KW5 It takes calls of the contracts that it has and no others: they wait for a worker that has theirs.
 */
import { z } from "zod";
import { contractDigest } from "../../actors/contract/contract-digest.ts";
import type { AnyBody, Tool } from "../../actors/contract/tool.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { IntentId, SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { lanes } from "../../protocol/live.ts";
import type { Result } from "../../protocol/result.ts";
import { headers, parseWorkSubject } from "../../protocol/subjects.ts";
import { type ContractRef, toolLabel, WorkMessage } from "../../protocol/tool.ts";
import { traceparentIn } from "../../protocol/trace.ts";
import { type App, assertServable, workerTools } from "../app/app.ts";
import { deadLetter } from "../wire/dead-letter.ts";
import { ackDelivery, nakDelivery } from "../wire/delivery.ts";
import { every } from "../process/every.ts";
import type { Log } from "../process/log.ts";
import { readBody } from "../wire/messages.ts";
import { CutOff } from "../perform/cut-off.ts";
import { withFailure } from "../perform/failure.ts";
import { claimsOf } from "../perform/asked.ts";
import { resultOfKilled } from "../perform/killed.ts";
import { type AttemptObserver, observed, silentAttempts } from "../perform/observe.ts";
import type { Performed } from "../perform/outcome.ts";
import { type Attempt, perform, type PerformDeps } from "../perform/perform.ts";
import { publishResult } from "../perform/publish-result.ts";
import { serveBodies } from "../perform/serve-bodies.ts";
import { stillAsked } from "../perform/still-asked.ts";
import type { Chance, Clock, Consumption, Delivery, Ports } from "../wire/ports.ts";
import type { CallbackUrlOf } from "../wire/settlement-token.ts";
import type { Isolate } from "../suspects/child.ts";
import type { Isolated } from "../suspects/isolated.ts";
import { createQuarantine, noQuarantine, type Quarantine } from "../suspects/quarantine.ts";
import { createReturns } from "../suspects/returns.ts";
import { holdWhilePaused } from "../throttle/pause.ts";
import { createThrottle, type Throttle } from "../throttle/throttle.ts";

/** What a worker lives on. */
export interface WorkerOptions {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
  /** This process, new at each start. */
  readonly incarnation: string;
  readonly callbackBase: string;
  readonly callbackUrlOf?: CallbackUrlOf | undefined;
  readonly observe?: WorkerObserver;
  /** Starts a process for a call that died with its worker. Without it nothing is suspected. */
  readonly isolate?: Isolate | undefined;
}

type WorkerDeps = WorkerOptions & {
  readonly observe: WorkerObserver;
  readonly throttle: Throttle;
  /** Aborted when the worker has stopped: nothing is said again from then on. */
  readonly signal: AbortSignal;
};

/** What a worker tells of itself as it happens: for metrics and tests. */
export interface WorkerObserver extends AttemptObserver {
  /** A message that is no work, or none for this worker, was set aside. */
  refused(code: string): void;
}

const silentWorker: WorkerObserver = { ...silentAttempts, refused: () => undefined };

/** A worker that serves. */
export interface Worker {
  /** Takes no more, lets what runs settle within the grace, gives the rest back. */
  stop(graceMs: number): Promise<void>;
  /** How many attempts are running now. */
  readonly running: () => number;
}

/** Serves every tool of the application that has a body and placement "worker", or the ones named. */
export async function startWorker(
  options: WorkerOptions,
  app: App,
  only?: readonly string[],
): Promise<Worker> {
  const held = new Map<Delivery, CutOff>();
  const stopping = new AbortController();
  const deps = depsOf(options, stopping.signal);
  const served = workerTools(app, only);
  const closeBodies = serveBodies(
    served.map((tool) => app.bodies.get(contractDigest(tool))),
    deps.log,
  );
  const begin = (tool: Tool, delivery: Delivery) => {
    const cutOff = new CutOff();
    held.set(delivery, cutOff);
    handle(deps, app, tool, delivery, cutOff)
      .catch((error: unknown) => {
        if (stopping.signal.aborted) return; // Its lease ends, and another worker has it.
        deps.log.error({ err: error, tool: tool.name, subject: delivery.subject }, "work not settled");
      })
      .finally(() => held.delete(delivery));
  };
  const quarantine = workerQuarantine(deps, app);
  /** KW4. */
  const serve = (tool: Tool) => (delivery: Delivery) =>
    quarantine.take(keyOf(delivery), everything, delivery, () => begin(tool, delivery));
  const consumptions = await consumeAll(deps, served, serve);
  const whileServing = { clock: deps.clock, log: deps.log, signal: stopping.signal };
  const beating = every(whileServing, limits.workHeartbeatMs, "renewing leases of work", () => {
    for (const delivery of held.keys()) delivery.working();
    quarantine.beat();
    const keys = new Set([...held.keys()].map(keyOf));
    quarantine.tidy((key) => keys.has(key));
  });
  deps.log.info({ worker: deps.incarnation, tools: served.map(toolLabel) }, "worker serves");
  return {
    running: () => held.size,
    stop: async (graceMs) => {
      await Promise.all(consumptions.map((consumption) => consumption.stop()));
      const until = deps.clock.elapsed() + graceMs;
      const isBusy = () => held.size + quarantine.size() > 0;
      while (isBusy() && deps.clock.elapsed() < until) await deps.clock.sleep(20);
      await quarantine.forget(everything); // Before what it has is given back.
      await quarantine.end();
      for (const [delivery, cutOff] of held) {
        cutOff.cut(new MeshError("CANCELLED", "the worker is shutting down"));
        await nakDelivery(delivery);
      }
      stopping.abort();
      await Promise.all([beating, closeBodies()]);
    },
  };
}

/** Takes from the queue of each contract. Nothing is taken of a paused tool, whose queue may be new. */
async function consumeAll(
  deps: WorkerDeps,
  served: readonly Tool[],
  serve: (tool: Tool) => (delivery: Delivery) => void,
): Promise<Consumption[]> {
  const { work } = deps.ports;
  const open = (tool: Tool) => work.open(refOf(tool), { concurrencyMax: tool.concurrencyMax });
  for (const tool of served) await open(tool);
  for (const name of new Set(served.map((tool) => tool.name))) await holdWhilePaused(deps, name);
  const consumptions: Consumption[] = [];
  for (const tool of served) {
    const whenGone = async () => {
      await open(tool);
      await holdWhilePaused(deps, tool.name);
    };
    const options = { inFlightMax: limits.inFlightPerToolMax, whenGone };
    consumptions.push(await work.consume(refOf(tool), options, serve(tool)));
  }
  return consumptions;
}

const refOf = (tool: Tool): ContractRef => ({ name: tool.name, contract: contractDigest(tool) });

/** A worker that consumes nothing: its parent hands it calls that died with a worker, and keeps their leases. */
export function serveIsolated(options: WorkerOptions, app: App, quiet: (key: string) => void): Isolated {
  assertServable(app, "worker");
  const deps = depsOf(options, new AbortController().signal); // It ends with its process.
  return {
    offer: (key, delivery) => {
      const tool = toolOf(app, delivery);
      const handled =
        tool === undefined
          ? nakDelivery(delivery, limits.unservedDelayMs)
          : handle(deps, app, tool, delivery, new CutOff());
      handled
        .catch((error: unknown) =>
          deps.log.error({ err: error, tool: tool?.name, subject: delivery.subject }, "work not settled"),
        )
        .finally(() => quiet(key));
    },
    leave: () => undefined, // Its parent waits, and ends it.
    setAside: () => Promise.reject(new MeshError("INTERNAL", "a worker gives up in its own process")),
    beat: () => undefined,
  };
}

async function handle(
  deps: WorkerDeps,
  app: App,
  tool: Tool,
  delivery: Delivery,
  cutOff: CutOff,
): Promise<void> {
  let work: WorkMessage;
  try {
    work = await readBody(deps.ports.blobs, delivery, WorkMessage);
    assertContract(tool, work);
  } catch (error) {
    if (!isMeshError(error) || error.retriable) return nakDelivery(delivery, limits.earlyInputDelayMs);
    deps.observe.refused(error.code);
    await deadLetter(deps, "work", delivery, error);
    await reportUnreadable(deps, tool, delivery, error);
    return ackDelivery(delivery);
  }
  const waitMs = (work.notBefore ?? 0) - deps.clock.now();
  if (waitMs > 0) return nakDelivery(delivery, waitMs);
  const traceparent = traceparentIn(delivery.headers[headers.trace]);
  const body = app.bodies.get(work.contract);
  if (body === undefined) return nakDelivery(delivery, limits.unservedDelayMs);
  const performed =
    delivery.deliveries > limits.workDeliveriesMax
      ? await giveUp(deps, tool, work, delivery, { error: tooOften(tool, delivery), signal: cutOff.signal })
      : await inTurn(deps, tool, cutOff, () =>
          observed(deps, "tool", tool.name, () =>
            performTold(deps, tool, body, { ...work, traceparent: () => traceparent }, cutOff),
          ),
        );
  if (performed.type === "silent") return nakDelivery(delivery);
  await publishResult(deps, { ...work, call: delivery.seq }, performed, deps.signal);
  await ackDelivery(delivery);
  deps.log.debug(
    { sagaId: work.saga, intentId: work.intent, attempt: work.attempt, tool: tool.name },
    "work settled",
  );
}

/** KW5. A message says twice what it asks for; one that contradicts itself was made by hand. */
function assertContract(tool: Tool, { contract }: WorkMessage): void {
  if (contract !== contractDigest(tool))
    throw new MeshError(
      "BAD_MESSAGE",
      `a call of ${tool.name} under contract ${contract} lay in the queue of ${contractDigest(tool)}`,
    );
}

/** One attempt, and what its body threw is told. */
const performTold = async (
  deps: WorkerDeps,
  tool: Tool,
  body: AnyBody,
  work: Attempt,
  cutOff: CutOff,
): Promise<Performed> =>
  withFailure(deps, tool, work, await perform(performDeps(deps), tool, body, work, { cutOff }));

const tooOften = ({ name }: Tool, { deliveries }: Delivery): MeshError =>
  new MeshError("ATTEMPTS_EXHAUSTED", `${name} was delivered ${deliveries} times without a result`);

/** Waits for the tool's bounds, whichever its contract. An attempt that is cut off meanwhile has begun nothing. */
async function inTurn(
  { throttle }: WorkerDeps,
  { name, perSecondMax: perSecond, concurrencyMax: atOnce }: Tool,
  cutOff: CutOff,
  act: () => Promise<Performed>,
): Promise<Performed> {
  if (perSecond === undefined && atOnce === undefined) return act();
  let leave: () => void;
  try {
    leave = await throttle.enter({ kind: "tool", name }, { perSecond, atOnce }, cutOff.signal);
  } catch {
    return { type: "silent" };
  }
  try {
    return await act();
  } finally {
    leave();
  }
}

const performDeps = (deps: WorkerDeps): PerformDeps => ({
  claims: claimsOf(deps.ports),
  clock: deps.clock,
  chance: deps.chance,
  stillAsked: stillAsked(deps),
  callbackBase: deps.callbackBase,
  callbackUrlOf: deps.callbackUrlOf,
  progress: ({ saga, intent, attempt }: Attempt, note) =>
    deps.ports.live.publish(saga, lanes.progress, Buffer.from(JSON.stringify({ intent, attempt, note }))),
});

const Address = z.object({ saga: SagaId, intent: IntentId, attempt: z.coerce.number().int().positive() });

/** KW2. The body says nothing, so the headers must say whose attempt it was; where they do not, the letter is all. */
async function reportUnreadable(
  deps: WorkerDeps,
  tool: Tool,
  { headers: fields }: Delivery,
  error: MeshError,
): Promise<void> {
  const to = Address.safeParse({
    saga: fields[headers.saga],
    intent: fields[headers.intent],
    attempt: fields[headers.attempt],
  });
  if (!to.success) return;
  const why = { code: error.code, reason: error.message };
  // A worker of another version may have read it, so it is not known that a `once` did not happen.
  const result: Result =
    tool.effect === "once" ? { outcome: "in_doubt", ...why } : { outcome: "failed", ...why, retry: false };
  await publishResult(deps, to.data, { type: "result", result });
}

/** KW2. Every delivery so far ended without a word; a claim tells whether one was begun. */
async function giveUp(
  deps: WorkerDeps,
  tool: Tool,
  work: WorkMessage,
  delivery: Delivery,
  { error, signal }: { error: MeshError; signal: AbortSignal },
): Promise<Performed> {
  deps.log.warn(
    { sagaId: work.saga, intentId: work.intent, tool: tool.name, deliveries: delivery.deliveries },
    "work given up",
  );
  deps.observe.refused(error.code);
  await deadLetter(deps, "work", delivery, error);
  return { type: "result", result: await resultOfKilled(performDeps(deps), tool, work, { error, signal }) };
}

/** A worker's quarantine: its keys are messages of WORK. Without a way to start a process nothing is suspected. */
function workerQuarantine(deps: WorkerDeps, app: App): Quarantine {
  const { isolate } = deps;
  if (isolate === undefined) return noQuarantine;
  const signal = new AbortController().signal;
  return createQuarantine({
    ...deps,
    returns: createReturns(),
    isolate,
    evict: async () => undefined,
    settlesInChild: false,
    giveUp: async (_key, deliveries) => {
      for (const delivery of deliveries) {
        const tool = toolOf(app, delivery);
        if (tool === undefined) continue;
        const work = await readBody(deps.ports.blobs, delivery, WorkMessage);
        const error = new MeshError(
          "POISON",
          `${tool.name}: ${limits.victimsMax} processes of its own died of this call, one after the other`,
        );
        const performed = await giveUp(deps, tool, work, delivery, { error, signal });
        if (performed.type !== "silent")
          await publishResult(deps, { ...work, call: delivery.seq }, performed);
        await ackDelivery(delivery);
      }
    },
  });
}

/** A worker has one group: it releases everything at once. */
const everything = 0;
const keyOf = ({ seq }: Delivery): string => `work.${seq}`;
/** KW5. */
const toolOf = (app: App, { subject }: Delivery): Tool | undefined =>
  app.tools.get(parseWorkSubject(subject).contract);
const depsOf = (options: WorkerOptions, signal: AbortSignal): WorkerDeps => ({
  ...options,
  signal,
  observe: options.observe ?? silentWorker,
  throttle: createThrottle(options),
});
