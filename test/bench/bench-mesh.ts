/**
 * A mesh for a benchmark: a fresh server beside, and host and worker in this process.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import type { SagaId } from "../../protocol/ids.ts";
import type { App } from "../../services/app/app.ts";
import { type Observer, silentObserver } from "../../services/host/host-deps.ts";
import { type Host, startHost } from "../../services/host/host.ts";
import { silentLog } from "../../services/process/log.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import type { Ports } from "../../services/wire/ports.ts";
import { newIncarnation, systemChance, systemClock } from "../../services/runtime/system.ts";
import { startWorker } from "../../services/worker/worker.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";

/** `always`: every write is on the disk before it is acked. */
export type Sync = "default" | "always";

export interface BenchServer {
  readonly server: TestServer;
  readonly nc: NatsConnection;
  readonly ports: Ports;
  close(): Promise<void>;
}

/** A server of its own with the mesh's streams, and a connection. */
export async function openServer(
  sync: Sync,
  options: { shards?: number; partitions?: number } = {},
): Promise<BenchServer> {
  const server = await startTestServer({ syncAlways: sync === "always" });
  const nc = await connectNats({ servers: server.url, name: "bench" });
  const ports = await openNatsPorts(nc, options);
  const close = async () => {
    await ports.close();
    await nc.close();
    await server.stop();
  };
  return { server, nc, ports, close };
}

/** A host, wired as the product wires it, without a log. */
export const hostOn = (ports: Ports, app: App, observe: Partial<Observer> = {}): Promise<Host> =>
  startHost({ ...partsOf(ports, "host"), observe: { ...silentObserver, ...observe } }, app);

/** A worker for every tool of the application that has placement "worker". */
export const workerOn = (ports: Ports, app: App): ReturnType<typeof startWorker> =>
  startWorker(partsOf(ports, "worker"), app);

const partsOf = (ports: Ports, role: string) => ({
  ports,
  clock: systemClock,
  chance: systemChance,
  log: silentLog,
  incarnation: newIncarnation(role),
  callbackBase: "sagamesh:",
});

/** Starts a saga as a client does. */
export async function startSaga(ports: Ports, saga: string, name: string, input: unknown): Promise<void> {
  const data = Buffer.from(JSON.stringify({ name, input }));
  await ports.inbox.publish({ subject: `saga.${saga}.start`, data, headers: {} });
}

/** Sends a signal as a client does. */
export async function sendSignal(ports: Ports, saga: string, name: string, body: unknown): Promise<void> {
  const data = Buffer.from(JSON.stringify(body));
  await ports.inbox.publish({ subject: `saga.${saga}.signal.${name}`, data, headers: {} });
}

/** Waits until the condition holds; throws with `what` after `ms`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = 60_000,
): Promise<void> {
  const giveUpAt = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${ms} ms: ${what}`);
    await systemClock.sleep(2);
  }
}

/** Starts a saga and waits for its end; the sequence of its last turn. */
export async function runToEnd(
  bench: BenchServer,
  app: App,
  saga: SagaId,
  name: string,
  input: unknown,
): Promise<number> {
  let hasEnded = false;
  const host = await hostOn(bench.ports, app, {
    turn: ({ state }) => {
      hasEnded ||= state.phase.kind === "ended";
    },
  });
  const worker = await workerOn(bench.ports, app);
  await startSaga(bench.ports, saga, name, input);
  await until("the saga ends", () => hasEnded, 300_000);
  await host.stop(1_000);
  await worker.stop(1_000);
  return (await bench.ports.ledger.last(saga))?.seq ?? 0;
}

/** A stream as the server counts it, headers, subjects and the records' frames included. */
export async function stateOf(
  { nc }: BenchServer,
  stream: string,
): Promise<{ bytes: number; messages: number }> {
  const { state } = await (await jetstreamManager(nc)).streams.info(stream);
  return { bytes: state.bytes, messages: state.messages };
}
