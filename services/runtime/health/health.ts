/**
 * Health: what a process shows to those who operate it, on a port of its own.
 *
 *     /healthz   the process lives: it answers. One whose event loop hangs does not
 *     /readyz    it can do its work now; 503 with the reason where not, also while it starts and while it drains
 *     /metrics   Prometheus text
 *
 * HX1 It only tells. Nothing here changes what a host or a worker does, and none of it may fail them.
 * HX2 Loaded only where a port was asked for.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { briefDefinition, definitionOfText } from "../../../protocol/definition-text.ts";
import { describeError, type MeshError } from "../../../protocol/errors.ts";
import { listenHttp } from "../../http/listen.ts";
import { contentType, createExposition, type Exposition } from "./exposition.ts";
import { createMeshGauges, type MeshGauges } from "./mesh-gauges.ts";
import { createMetrics, type Observers } from "./metrics.ts";
import type { Part } from "./part.ts";
import { createProcessGauges } from "./process-gauges.ts";
import { type Phase, type WatchedMesh, whyNotReady } from "./readiness.ts";

export interface Health {
  /** Where it listens. */
  readonly url: string;
  readonly observers: Observers;
  /** The mesh is open; `parts` are what serves, once it does. */
  serving(mesh: WatchedMesh, parts: readonly Part[]): void;
  /** What it waits for as it starts; undefined for nothing in particular. */
  waits(why: MeshError | undefined): void;
  /** From here on not ready. */
  draining(): void;
  close(): Promise<void>;
}

export interface HealthOptions {
  readonly host: string;
  readonly port: number;
  /** Of the package: what the metrics say this process is. */
  readonly version: string;
  /** How many lines this process could not write so far. */
  readonly linesLost?: () => number;
}

/** Listens. Throws USAGE where that cannot be: the port is taken, the address is not this machine's. */
export async function startHealth({
  host,
  port,
  version,
  linesLost = () => 0,
}: HealthOptions): Promise<Health> {
  const exposition = createExposition();
  const observers = createMetrics(exposition);
  const processGauges = createProcessGauges(exposition, linesLost);
  const info = exposition.gauge("sagamesh_info", "Always 1; the labels say what this is.", ["version"]);
  info.set([version], 1);
  const ready = exposition.gauge("sagamesh_ready", "1 if the process can do its work now, else 0.");
  const showParts = partGauges(exposition);
  let phase: Phase = { kind: "starting" };
  let meshGauges: MeshGauges | undefined;

  const metrics = async (): Promise<string> => {
    await meshGauges?.refresh();
    processGauges.refresh();
    ready.set([], (await whyNotReady(phase)) === undefined ? 1 : 0);
    showParts(phase.kind === "serving" ? phase.parts : []);
    return exposition.text();
  };

  // An import would read every member of the module, one of which loads a web client: 14 MB.
  const { createServer } = process.getBuiltinModule("node:http");
  const server = createServer((request, response) => {
    answer(request, response, { whyNot: () => whyNotReady(phase), metrics }).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(`${describeError(error)}\n`); // HX1
    });
  });
  const { url } = await listenHttp(
    server,
    { host, port },
    {
      purpose: "health",
      remedy:
        "Name another --health-port (0: any free one), or an address of this machine with --health-host.",
    },
  );
  return {
    url,
    observers,
    serving: (mesh, parts) => {
      meshGauges = createMeshGauges(exposition, mesh.readHealth, () => performance.now());
      phase = { kind: "serving", mesh, parts };
    },
    waits: (why) => {
      if (phase.kind === "starting") phase = { kind: "starting", why };
    },
    draining: () => (phase = { kind: "draining" }),
    close: async () => {
      processGauges.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The gauges of what hosts tell; those whose labels come and go are written anew each time. */
export function partGauges({ gauge }: Exposition): (parts: readonly Part[]) => void {
  const resident = gauge("sagamesh_sagas_resident", "Sagas in this host's memory.");
  const partitions = gauge("sagamesh_partitions", "Partitions this host takes inputs of.");
  const waiting = gauge(
    "sagamesh_sagas_waiting_for_host",
    "Sagas whose inputs this host puts off because no host serves their definition.",
    ["definition"],
  );
  const left = gauge("sagamesh_storage_left_bytes", "What is left of a disk or a limit.", ["of"]);
  const all = gauge("sagamesh_storage_bytes", "All there is of that disk or limit.", ["of"]);
  return (parts) => {
    for (const one of [waiting, left, all]) one.clear();
    for (const part of parts) {
      if (part.resident !== undefined) resident.set([], part.resident());
      if (part.partitions !== undefined) partitions.set([], part.partitions().length);
      for (const { of, leftBytes, allBytes } of part.storage?.() ?? []) {
        left.set([of], leftBytes);
        all.set([of], allBytes);
      }
      for (const { definition, sagas } of part.waiting?.() ?? [])
        waiting.set([labelOf(definition)], sagas.length);
    }
  };
}

/** A start may wait for a name alone. */
function labelOf(definition: string): string {
  const ref = definitionOfText(definition);
  return ref === undefined ? definition : briefDefinition(ref);
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
