/**
 * Run console: the composition of the console in the browser, as a process and as part of `up`.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { App } from "../app/app.ts";
import type { ClientDeps } from "../client/send.ts";
import { createGuard, type Doors } from "../console/guard.ts";
import { consoleOn } from "../console/parts.ts";
import { type Console, startConsole } from "../console/server.ts";
import { withPatientReads } from "../wire/patient-ports.ts";
import { type Config, redactUrl } from "./config.ts";
import { assertGuarded } from "./console-doors.ts";
import { looksOf } from "./console-looks.ts";
import { consolePage } from "./console-page.ts";
import type { Part } from "./health/part.ts";
import { createLogger } from "./logger.ts";
import { type ClientMesh, openClientMesh } from "./mesh.ts";
import { aborted, type Service } from "./serve.ts";
import { packageVersion } from "./version.ts";

export interface ConsoleAddress {
  readonly host: string;
  readonly port: number;
}

/** What was asked gets its answer. Milliseconds. */
const graceMs = 1_000;

export interface ConsoleOptions {
  readonly config: Config;
  readonly signal: AbortSignal;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  /** Whose sagas are looked at, where that is known. */
  readonly app: App | undefined;
}

/**
 * Runs the console until the signal, as a client of a mesh that is there. Throws USAGE where it cannot listen or would be
 * open to others, what opening a mesh throws, and UNAVAILABLE if the connection ends for good.
 */
export async function runConsole(
  { config, signal, report, app }: ConsoleOptions,
  { doors, ...address }: ConsoleAddress & { readonly doors: Doors },
  onReady: (mesh: ClientMesh, listens: string) => void,
): Promise<void> {
  assertGuarded(address.host, doors);
  const console = await startConsole({ ...address, guard: createGuard(doors), page: consolePage });
  try {
    const { servers, serverDir: dataDir, from } = config;
    const mesh = await openClientMesh({
      ...{ servers, dataDir, report, signal },
      ...{ mustExist: true, reading: true, name: "sagamesh console" },
    });
    try {
      const { ports, clock, chance, url } = mesh;
      const me = { from, server: redactUrl(url), version: packageVersion() };
      const log = createLogger({ level: config.logLevel ?? "warn", fields: { service: "sagamesh" } });
      console.open(consoleOn({ ports, clock, chance, from }, me, log, looksOf(config, mesh, signal, app)));
      onReady(mesh, console.url);
      const lost = await Promise.race([aborted(signal), mesh.closed.then((why) => ({ why }))]);
      if (lost !== undefined && !signal.aborted)
        throw new MeshError(
          "UNAVAILABLE",
          `the connection to the NATS server has ended: ${lost.why ?? "closed"}`,
        );
    } finally {
      await console.close(graceMs);
      await mesh.close();
    }
  } finally {
    await console.close(0);
  }
}

/** Where the console of `up` is looked for first: links that were sent lead here again. */
const portFirst = 8_787;

/** A console beside a host and a worker, on the port named, or on the usual one, or on any that is free. */
export async function startOwnConsole(port: number | undefined): Promise<Console> {
  const start = (one: number) =>
    startConsole({ host: "127.0.0.1", port: one, guard: createGuard({}), page: consolePage });
  return port === undefined ? start(portFirst).catch(() => start(0)) : start(port);
}

/** Opens a listening console on the mesh of a process that serves. */
export function consolePart(service: Service, console: Console, config: Config, app: App): Part {
  const { mesh, clock, chance, log } = service;
  const { from } = config;
  const ending = new AbortController();
  const deps: ClientDeps = { ports: withPatientReads(service.ports, clock), clock, chance, from };
  const me = { from, server: redactUrl(mesh.url), version: packageVersion() };
  console.open(
    consoleOn(deps, me, log, looksOf(config, { ...mesh, ports: deps.ports, clock }, ending.signal, app)),
  );
  log.info({ listens: console.url }, "console serves");
  return {
    stop: async (graceMs) => {
      ending.abort();
      await console.close(graceMs);
    },
  };
}
