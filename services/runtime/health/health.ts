/**
 * Health: what a process shows to those who operate it, on a port of its own, and sends of it by itself.
 *
 *     /healthz   the process lives: it answers. One whose event loop hangs does not
 *     /readyz    it can do its work now; 503 with the reason where not, also while it starts and while it drains
 *     /metrics   Prometheus text
 *
 * HX1 It only tells. Nothing here changes what a host or a worker does, and none of it may fail or hold them.
 * HX2 Loaded only where a port or a receiver of metrics was named.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { describeError } from "../../../protocol/errors.ts";
import { listenHttp } from "../../http/listen.ts";
import type { MetricRead } from "../../otlp/metrics.ts";
import type { Pushing } from "../../otlp/push.ts";
import { contentType } from "./exposition.ts";
import { gather, type Gathered, type Progress } from "./gathered.ts";
import type { Observers } from "./metrics.ts";

export interface Health extends Progress {
  /** Where it listens, if it does. */
  readonly url: string | undefined;
  readonly observers: Observers;
  /** What was counted goes to a receiver of metrics once more, if there is one: within a second, or not (HX1). */
  sendLast(): Promise<void>;
  close(): Promise<void>;
}

export interface HealthOptions {
  readonly host: string;
  /** 0: any free one. Undefined: it does not listen. */
  readonly port: number | undefined;
  /** Begins to send the metrics, where a receiver was named. */
  readonly push: ((read: () => Promise<readonly MetricRead[]>) => Pushing) | undefined;
  /** Of the package: what the metrics say this process is. */
  readonly version: string;
  /** How many lines this process could not write so far. */
  readonly linesLost: () => number;
}

/** For the last request at the end of a process. */
const lastPushMs = 1_000;

/** Listens. Throws USAGE where that cannot be: the port is taken, the address is not this machine's. */
export async function startHealth(options: HealthOptions): Promise<Health> {
  const { host, port, push, version, linesLost } = options;
  const gathered = gather(version, linesLost);
  const listening = port === undefined ? undefined : await listen(gathered, { host, port });
  const pushing = push?.(async () => (await gathered.read()).read());
  return {
    ...gathered,
    url: listening?.url,
    sendLast: async () => pushing?.last(lastPushMs),
    close: async () => {
      pushing?.stop();
      gathered.close();
      await listening?.close();
    },
  };
}

async function listen(
  { whyNot, read }: Gathered,
  at: { readonly host: string; readonly port: number },
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  // An import would read every member of the module, one of which loads a web client: 14 MB.
  const { createServer } = process.getBuiltinModule("node:http");
  const metrics = async () => (await read()).text();
  const server = createServer((request, response) => {
    answer(request, response, { whyNot, metrics }).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(`${describeError(error)}\n`); // HX1
    });
  });
  const { url } = await listenHttp(server, at, {
    purpose: "health",
    remedy: "Name another --health-port (0: any free one), or an address of this machine with --health-host.",
  });
  return {
    url,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What there is to tell. */
interface Told {
  /** Why no work can be done now; undefined if it can. */
  readonly whyNot: () => Promise<string | undefined>;
  readonly metrics: () => Promise<string>;
}

async function answer(
  { method, url = "/" }: IncomingMessage,
  response: ServerResponse,
  { whyNot, metrics }: Told,
): Promise<void> {
  const say = (status: number, text: string, type = "text/plain; charset=utf-8") =>
    response
      .writeHead(status, { "content-type": type, "cache-control": "no-store" })
      .end(method === "HEAD" ? undefined : text);
  if (method !== "GET" && method !== "HEAD") return void say(405, "only GET and HEAD\n");
  switch (url.split("?", 1)[0]) {
    case "/healthz":
      return void say(200, "alive\n");
    case "/readyz": {
      const why = await whyNot();
      return void say(why === undefined ? 200 : 503, `${why ?? "ready"}\n`);
    }
    case "/metrics":
      return void say(200, await metrics(), contentType);
    default:
      return void say(404, "/healthz, /readyz, /metrics\n");
  }
}
