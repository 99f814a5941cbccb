/**
 * Meshes on one real server: every test gets an account of its own, which is an empty JetStream.
 *
 * Hosts and workers run in the process of the test, each on a connection of its own, as a process would have
 * it; what must die by a signal runs in host-process.ts and worker-process.ts. All of it is let go by `close`.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { jetstreamManager } from "@nats-io/jetstream";
import { parseSagaId } from "../../protocol/ids.ts";
import { headers } from "../../protocol/subjects.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { createClient, type Mesh } from "../../services/client/mesh.ts";
import { readLedger, readView, type SagaView } from "../../services/views/view.ts";
import { type Host, startHost } from "../../services/host/host.ts";
import type { Observer } from "../../services/host/host-deps.ts";
import { type Log, silentLog } from "../../services/process/log.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import type { Ports } from "../../services/wire/ports.ts";
import { newIncarnation, systemChance, systemClock } from "../../services/runtime/system.ts";
import { startWorker, type Worker } from "../../services/worker/worker.ts";
import { startTestServer } from "./nats-server.ts";

export interface AccountServer {
  readonly pid: number;
  /** The address of an account nobody has used. */
  nextUrl(): string;
  stop(): Promise<void>;
}

/** Starts a server with so many accounts. */
export async function startAccountServer(accounts = 60): Promise<AccountServer> {
  const lines = Array.from(
    { length: accounts },
    (_, i) => `T${i}: { jetstream: enabled, users: [{ user: t${i}, password: secret }] }`,
  );
  const server = await startTestServer({
    extraConfig: `no_auth_user: t0\naccounts {\n${lines.join("\n")}\n}`,
  });
  let used = 0;
  return {
    pid: server.pid,
    stop: () => server.stop(),
    nextUrl: () => {
      if (used === accounts) throw new Error(`the ${accounts} accounts are used up`);
      return server.url.replace("//", `//t${used++}:secret@`);
    },
  };
}

/** Prints what hosts and workers say where SAGAMESH_TEST_LOG is set: for looking into a failure. */
export const testLog: Log =
  process.env["SAGAMESH_TEST_LOG"] === undefined
    ? silentLog
    : {
        debug: (fields, message) => console.log("debug", message, fields),
        info: (fields, message) => console.log("info", message, fields),
        warn: (fields, message) => console.log("warn", message, fields),
        error: (fields, message) => console.log("error", message, fields),
      };

export interface Letter {
  readonly subject: string;
  readonly reason: string;
  readonly origin: string;
}

export interface RealMesh {
  readonly url: string;
  /** A bare client of NATS, as any program may have one. */
  readonly nc: NatsConnection;
  readonly ports: Ports;
  readonly client: Mesh;
  host(
    app: App,
    options?: { observe?: Observer; auditEveryMs?: number; foldsTwice?: boolean },
  ): Promise<Host>;
  worker(app: App, only?: readonly string[]): Promise<Worker>;
  view(saga: string): Promise<SagaView>;
  turns(saga: string): Promise<Turn[]>;
  /** The sequence of the saga's last turn; 0 if it has none. */
  head(saga: string): Promise<number>;
  letters(): Promise<Letter[]>;
  /** Inputs and work that nobody has acked. */
  unacked(): Promise<{ inbox: number; work: number }>;
  close(): Promise<void>;
}

/** Opens a mesh at the address, or at one of several separated by commas, which nobody else closes. */
export async function openRealMesh(
  url: string,
  options: { replicas?: number; shards?: number } = {},
): Promise<RealMesh> {
  const servers = url.split(",");
  const nc = await connectNats({ servers, name: "test" });
  const ports = await openNatsPorts(nc, options);
  const closing: (() => Promise<void>)[] = [];
  const own = async (role: string) => {
    const connection = await connectNats({ servers, name: role });
    const opened = await openNatsPorts(connection, options);
    const close = async () => {
      await opened.close();
      await connection.close();
    };
    const base = { clock: systemClock, chance: systemChance, log: testLog, callbackBase: "sagamesh:" };
    return { options: { ...base, ports: opened, incarnation: newIncarnation(role) }, close };
  };
  const client = createClient(
    { ports, clock: systemClock, chance: systemChance, from: "tester" },
    async () => undefined,
  );
  const pending = async (stream: string) =>
    (await (await jetstreamManager(nc)).streams.info(stream, { subjects_filter: ">" })).state;
  return {
    url,
    nc,
    ports,
    client,
    host: async (app, { observe, auditEveryMs, foldsTwice } = {}) => {
      const { options, close } = await own("host");
      const host = await startHost(
        { ...options, auditEveryMs, foldsTwice, ...(observe === undefined ? {} : { observe }) },
        app,
      );
      closing.push(async () => {
        await host.stop(0);
        await close();
      });
      return host;
    },
    worker: async (app, only) => {
      const { options, close } = await own("worker");
      const worker = await startWorker(options, app, only);
      closing.push(async () => {
        await worker.stop(0);
        await close();
      });
      return worker;
    },
    view: (saga) => readView(ports, parseSagaId(saga)),
    turns: async (saga) => (await readLedger(ports, parseSagaId(saga))).map(({ turn }) => turn),
    head: async (saga) => (await ports.ledger.last(parseSagaId(saga)))?.seq ?? 0,
    letters: async () =>
      (await ports.dead.list()).map((letter) => ({
        subject: letter.subject,
        reason: letter.headers[headers.reason] ?? "",
        origin: letter.headers[headers.origin] ?? "",
      })),
    unacked: async () => ({
      inbox: Object.keys((await pending("INBOX")).subjects ?? {}).filter((subject) =>
        subject.startsWith("inbox."),
      ).length,
      work: (await pending("WORK")).messages,
    }),
    close: async () => {
      await Promise.all(closing.map((end) => end()));
      await ports.close();
      await nc.close();
    },
  };
}

/** Resolves once the condition holds; throws with `what` if it does not within the time. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 15_000,
): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms: ${what}`);
    await systemClock.sleep(20);
  }
}
