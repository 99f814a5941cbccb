/**
 * Server: the console behind a port of HTTP: the page, its documents, its acts, and a stream of changes.
 *
 *     /            the page, under every address that is none of the others
 *     /assets/…    what the page is made of
 *     /api/…       documents and acts (routes.ts)      /api/changes   what changed, as server-sent events
 *
 * BP1 The page loads, runs and frames nothing from elsewhere, and no text becomes markup or a script in it.
 * BP2 A slow, endless or oversized request costs little and ends soon. Streams are bounded in number.
 * BP3 What goes wrong here is a line of the log; the page is told no more than that it did.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { listenHttp } from "../http/listen.ts";
import type { Log } from "../process/log.ts";
import { type Answer, packed, refusal, refused, told } from "./answers.ts";
import type { Changes } from "./changes.ts";
import { createFiles } from "./files.ts";
import type { Guard, Who } from "./guard.ts";
import { answerTo, type Served } from "./routes.ts";
import { createStreams } from "./streams.ts";

export interface Console {
  /** Where it listens. */
  readonly url: string;
  readonly port: number;
  /** From here on requests are answered. */
  open(serving: ConsoleServing): void;
  /** Ends its streams, takes nothing new, and resolves once what was begun is answered or the grace is over. */
  close(graceMs: number): Promise<void>;
}

export interface ConsoleServing extends Served {
  readonly changes: Changes;
  readonly log: Log;
}

export interface ConsoleOptions {
  readonly host: string;
  readonly port: number;
  readonly guard: Guard;
  /** The folder of the built page, which may have to be built first. Rejects where it cannot be had. */
  readonly page: () => Promise<string>;
}

/** BP2. */
const bounds = {
  headersTimeout: 5_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
} as const;
const connectionsMax = 500;

/** BP1. */
const always = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** Listens. Until it is opened, what is asked of the mesh is told to come again. Throws USAGE where it cannot listen. */
export async function startConsole({ host, port, guard, page }: ConsoleOptions): Promise<Console> {
  let serving: ConsoleServing | undefined;
  const streams = createStreams(always);

  const fileAt = createFiles(page, (error) => serving?.log.error({ err: error }, "console has no page"));
  const answerApi = async (request: IncomingMessage, url: URL, who: Who): Promise<Answer> => {
    const { method = "" } = request;
    const path = url.pathname.slice("/api".length);
    const body = () => readJson(request);
    if (path === "/session" && method === "POST") return admitted(guard, await body());
    if (serving === undefined) throw new MeshError("UNAVAILABLE", "the console is starting");
    return answerTo(serving, { method, path, query: url.searchParams, body, who });
  };
  const reply = async (request: IncomingMessage, url: URL): Promise<Answer> => {
    const isApi = url.pathname.startsWith("/api/");
    const isAdmission = url.pathname === "/api/session";
    const { method = "", headers } = request;
    const judged = guard.judge({ method, headers, isApi, isAdmission });
    if ("refusal" in judged) return judged.refusal;
    if (isApi) return answerApi(request, url, judged).catch(refusal);
    if (method === "GET" || method === "HEAD") return fileAt(url.pathname);
    return refused(405, "USAGE", "the page is read", "Only /api takes acts.");
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://console");
    const { headers } = request;
    if (url.pathname === "/api/changes") {
      const judged = guard.judge({ method: "GET", headers, isApi: true, isAdmission: false });
      if ("by" in judged) return streams.open(response, serving?.changes, url.searchParams);
    }
    const said = await reply(request, url);
    if (said.fault !== undefined)
      serving?.log.error({ err: said.fault, path: url.pathname }, "console failed"); // BP3
    const { status, headers: own, body } = await packed(said, headers["accept-encoding"]);
    response.writeHead(status, { ...always, ...own, "content-length": String(Buffer.byteLength(body)) });
    response.end(request.method === "HEAD" ? undefined : body);
  };
  // An import would read every member of the module, one of which loads a web client: 14 MB.
  const { createServer } = process.getBuiltinModule("node:http");
  const server = createServer(bounds, (request, response) => {
    answer(request, response).catch(() => response.destroy()); // The caller has gone.
  });
  server.maxConnections = connectionsMax;
  const remedy = "Name another port (0: any free one), or an address of this machine.";
  const listening = await listenHttp(server, { host, port }, { purpose: "the console", remedy });
  return {
    ...listening,
    open: (what) => (serving = what),
    close: async (graceMs) => {
      const closed = new Promise((resolve) => server.close(resolve));
      streams.end();
      server.closeIdleConnections();
      const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(cutOff);
    },
  };
}

function admitted(guard: Guard, body: unknown): Answer {
  const token = (body as { token?: unknown } | null)?.token;
  const cookie = typeof token === "string" ? guard.admit(token) : undefined;
  if (cookie === undefined)
    return refused(401, "USAGE", "that is not the token", "Type the one it was started with.");
  const said = told({ admitted: true });
  return { ...said, headers: { ...said.headers, "set-cookie": cookie } };
}

/** Throws BAD_JSON, and TOO_LARGE as soon as it is known. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.callbackBytesMax)
      throw new MeshError("TOO_LARGE", `a body over the limit of ${limits.callbackBytesMax} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (error) {
    if (isMeshError(error)) throw error;
    throw new MeshError("BAD_JSON", "the body is no JSON", { cause: error });
  }
}
