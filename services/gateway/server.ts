/**
 * Server: the door behind a port of HTTP.
 *
 *     /healthz   the process lives      /readyz   JetStream answers; 503 while it starts and while it drains
 *
 * GS1 A slow or endless request costs little and ends soon: bounds on headers, body, time and number. A body is read
 *     only where the link was signed here.
 * GS2 On the way out nothing new is taken, and what was begun gets its reply.
 * GS3 Rates are limited by the proxy in front, which sees the caller's address.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { listenHttp } from "../http/listen.ts";
import type { Log } from "../process/log.ts";
import { type Door, refused, type Reply } from "./door.ts";

export interface Gateway {
  /** Where it listens. */
  readonly url: string;
  readonly port: number;
  /** From here on requests are answered. */
  open(serving: Serving): void;
  /** Takes nothing new, and resolves once what was begun is answered, or cut off at the grace's end. */
  close(graceMs: number): Promise<void>;
}

export interface Serving {
  readonly door: Door;
  readonly log: Log;
  /** Undefined: it can do its work now. */
  readonly whyNotReady: () => Promise<string | undefined>;
  readonly answered?: (kind: string, status: number) => void;
}

const bounds = {
  headersTimeout: 5_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 5_000,
  /** How often Node looks for requests that are over their time. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
} as const;
const connectionsMax = 1_000;
/** Requests that are answered at once; more are told to come again. */
const inFlightMax = 200;

/** Listens. Until it is opened, every request is told to come again. Throws USAGE where it cannot listen. */
export async function startGateway({ host, port }: { host: string; port: number }): Promise<Gateway> {
  let serving: Serving | undefined;
  let isDraining = false;
  let inFlight = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? "/").split("?", 1)[0];
    if (path === "/healthz") return text(response, 200, "alive\n");
    if (path === "/readyz") {
      const why = isDraining ? "draining" : serving === undefined ? "starting" : await serving.whyNotReady();
      return text(response, why === undefined ? 200 : 503, `${why ?? "ready"}\n`);
    }
    const begunAt = performance.now();
    const reply = await replyTo(request);
    if (isDraining || reply.status === 413) response.setHeader("connection", "close");
    response.writeHead(reply.status, reply.headers).end(reply.body);
    tell(serving, request.method ?? "", reply, performance.now() - begunAt);
  };
  const replyTo = async (request: IncomingMessage): Promise<Reply> => {
    const { accept } = request.headers;
    if (serving === undefined || inFlight >= inFlightMax) return comeAgain(serving === undefined, accept);
    inFlight += 1;
    try {
      return await serving.door({
        method: request.method ?? "",
        url: request.url ?? "/",
        contentType: request.headers["content-type"],
        accept,
        body: () => readBody(request),
      });
    } catch (error) {
      return refused(error, false, {});
    } finally {
      inFlight -= 1;
    }
  };

  // An import would read every member of the module, one of which loads a web client: 14 MB.
  const { createServer } = process.getBuiltinModule("node:http");
  const server = createServer(bounds, (request, response) => {
    answer(request, response).catch(() => response.destroy()); // The caller has gone.
  });
  server.maxConnections = connectionsMax;
  const listening = await listenHttp(
    server,
    { host, port },
    {
      purpose: "answers",
      remedy: "Name another port (0: any free one), or an address of this machine.",
    },
  );
  return {
    ...listening,
    open: (what) => (serving = what),
    close: async (graceMs) => {
      isDraining = true; // GS2
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(cutOff);
    },
  };
}

const comeAgain = (isStarting: boolean, accept: string | undefined): Reply =>
  refused(
    new MeshError("UNAVAILABLE", isStarting ? "the gateway is starting" : "too many requests at once", {
      remedy: "Send the same again in a moment.",
    }),
    accept?.includes("text/html") === true,
    {},
  );

const text = (response: ServerResponse, status: number, body: string): void =>
  void response
    .writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" })
    .end(body);

/** Throws TOO_LARGE as soon as it is known. What still comes then is thrown away. */
function readBody(request: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = () => {
      request.off("data", take).resume();
      reject(new MeshError("TOO_LARGE", `a body over the limit of ${limits.callbackBytesMax} bytes`));
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limits.callbackBytesMax) refuse();
      else chunks.push(chunk);
    };
    if (Number(request.headers["content-length"] ?? 0) > limits.callbackBytesMax) return refuse();
    request.on("data", take).once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
    request.once("close", () => reject(new MeshError("UNAVAILABLE", "the request ended before its body")));
  });
}

/** One line for each request of a link; what the path or the body held is not in it. */
function tell(
  serving: Serving | undefined,
  method: string,
  { status, about, fault }: Reply,
  ms: number,
): void {
  if (serving === undefined) return;
  const { log } = serving;
  const { kind, saga: sagaId, intent: intentId, code } = about;
  serving.answered?.(kind ?? "none", status);
  if (fault !== undefined) log.error({ err: fault, kind, sagaId, intentId }, "callback failed");
  log.info({ method, status, kind, sagaId, intentId, code, ms: Math.round(ms) }, "callback answered");
}
