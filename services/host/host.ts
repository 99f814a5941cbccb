/**
 * Host: owns sagas. Takes the inputs of its partitions, keeps one activation per running saga, and lets go
 * of what sleeps.
 *
 * Y1 A saga that waits holds nothing here: no memory after a short linger, no timer, no connection.
 * Y2 A host that stops takes nothing more, lets running effects settle within the grace, and gives back the
 *    rest at once.
 */
import { contractOf, jsonSchema } from "../../actors/define.ts";
import type { Definition } from "../../actors/definition.ts";
import { digestOf } from "../../protocol/digest.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { type Address, parseInboxSubject } from "../../protocol/subjects.ts";
import { type App, assertServable } from "../app.ts";
import { deadLetter } from "../dead-letter.ts";
import { ackDelivery } from "../delivery.ts";
import type { Log } from "../log.ts";
import { patiently } from "../patience.ts";
import type { Chance, Clock, Consumption, Delivery, Ports } from "../ports.ts";
import { type Activation, createActivation } from "./activation.ts";
import { type HostDeps, type Observer, silentObserver } from "./host-deps.ts";
import { assignPartitions } from "./placement.ts";

export interface HostOptions {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
  /** This process, new at each start. */
  readonly incarnation: string;
  readonly callbackBase: string;
  readonly observe?: Observer;
}

export interface Host {
  /** Drains within the grace (milliseconds), then gives back what is left. */
  stop(graceMs: number): Promise<void>;
  /** Sagas in memory now. */
  readonly resident: () => number;
  readonly partitions: () => readonly number[];
}

/** Starts a host. Throws APP_INVALID with every fault before anything is taken. */
export async function startHost(options: HostOptions, app: App): Promise<Host> {
  assertServable(app, "host");
  const { ports, clock, log } = options;
  const stopping = new AbortController();
  const letGo = new AbortController();
  const activations = new Map<SagaId, Activation>();
  const consumptions = new Map<number, Consumption>();
  const deps: HostDeps = {
    ...options,
    app,
    observe: options.observe ?? silentObserver,
    signal: letGo.signal,
    placementOf: (tool) => app.tools.get(tool)?.placement ?? "worker",
    live: (saga, lane, value) => ports.live.publish(saga, lane, Buffer.from(JSON.stringify(value))),
  };

  const take = (delivery: Delivery) => {
    let address: Address;
    try {
      address = parseInboxSubject(delivery.subject);
    } catch (error) {
      setAside(deps, delivery, error);
      return;
    }
    activationOf(address.saga).offer(delivery, address);
  };
  const activationOf = (saga: SagaId): Activation => {
    const present = activations.get(saga);
    if (present !== undefined) return present;
    const activation = createActivation(deps, saga, (gone) => {
      if (activations.get(saga) === gone) activations.delete(saga);
    });
    activations.set(saga, activation);
    return activation;
  };

  await register(options, app);
  const loops = [
    every(clock, limits.hostBeatMs, stopping.signal, log, () =>
      place(options, consumptions, take, stopping.signal),
    ),
    every(clock, limits.inboxHeartbeatMs, letGo.signal, log, () => prolong(activations.values())),
    every(clock, limits.lingerMs / 4, stopping.signal, log, () => sweep(activations.values(), clock.now())),
  ];
  log.info(
    {
      host: options.incarnation,
      definitions: app.definitions.map(({ name, version }) => `${name}@${version}`),
    },
    "host serves",
  );

  return {
    resident: () => activations.size,
    partitions: () => [...consumptions.keys()],
    stop: async (graceMs) => {
      stopping.abort();
      await ports.membership.leave(options.incarnation).catch(() => undefined); // It would vanish by itself.
      await Promise.all([...consumptions.values()].map((consumption) => consumption.stop()));
      const until = clock.now() + graceMs;
      while (clock.now() < until && [...activations.values()].some((one) => one.idleSince() === undefined))
        await clock.sleep(20);
      await Promise.all([...activations.values()].map((activation) => activation.release()));
      letGo.abort();
      await Promise.all(loops);
    },
  };
}

/** Runs at once and then again and again, whatever it throws, until the signal. */
async function every(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  log: Log,
  run: () => void | Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await run();
    } catch (error) {
      log.debug({ err: error }, "periodic work failed");
    }
    await clock.sleep(ms, signal).catch(() => undefined); // Aborted: the loop ends.
  }
}

/** Says that this host lives, and takes up or lays down partitions by who else does. */
async function place(
  { ports, incarnation, log }: HostOptions,
  consumptions: Map<number, Consumption>,
  take: (delivery: Delivery) => void,
  signal: AbortSignal,
): Promise<void> {
  await ports.membership.beat(
    incarnation,
    Buffer.from(JSON.stringify([...consumptions.keys()])),
    limits.hostTtlMs,
  );
  const hosts = new Set((await ports.membership.hosts()).map((member) => member.host)).add(incarnation);
  const own = new Set(assignPartitions(ports.inbox.partitions, [...hosts]).get(incarnation));
  for (const [partition, consumption] of consumptions)
    if (!own.has(partition)) {
      consumptions.delete(partition);
      await consumption.stop();
    }
  for (const partition of own) {
    if (consumptions.has(partition) || signal.aborted) continue;
    consumptions.set(
      partition,
      await ports.inbox.consume(partition, { inFlightMax: limits.inFlightPerPartitionMax }, take),
    );
    log.debug({ host: incarnation, partition }, "partition taken up");
  }
}

function prolong(activations: Iterable<Activation>): void {
  for (const { held } of activations) for (const delivery of held) delivery.working();
}

/** Y1. */
function sweep(activations: Iterable<Activation>, now: number): void {
  for (const activation of activations) {
    const since = activation.idleSince();
    if (since !== undefined && now - since >= limits.lingerMs) void activation.release({ ifIdle: true });
  }
}

/** What is not even addressed to a saga. */
function setAside(deps: HostDeps, delivery: Delivery, error: unknown): void {
  if (!isMeshError(error)) throw error;
  deps.observe.refused(error.code);
  deadLetter(deps, "inbox", delivery, error)
    .then(() => ackDelivery(delivery))
    .catch((failure: unknown) =>
      deps.log.error({ err: failure, subject: delivery.subject }, "input not set aside"),
    );
}

/** Tells the mesh what this host serves, for clients that start sagas by name. */
async function register({ ports, clock }: HostOptions, app: App): Promise<void> {
  const documents = [
    ...app.definitions.map(
      (one) => [`saga.${one.name}.${one.version}.${one.hash}`, documentOf(one)] as const,
    ),
    ...[...app.tools.values()]
      .map(contractOf)
      .map((tool) => [`tool.${String(tool["name"])}.${digestOf(tool).slice(0, 16)}`, tool] as const),
  ];
  for (const [key, document] of documents)
    await patiently(clock, () => ports.registry.put(key, Buffer.from(JSON.stringify(document))));
}

const documentOf = ({
  kind,
  name,
  version,
  hash,
  description,
  input,
  output,
  signals,
  tools,
}: Definition) => ({
  ...{ kind, name, version, hash, description },
  input: jsonSchema(input),
  output: jsonSchema(output),
  signals: Object.fromEntries(
    Object.entries(signals).map(([signal, schema]) => [signal, jsonSchema(schema)]),
  ),
  tools: [...tools.keys()],
});
