/**
 * Run traces: the composition of exporting spans, of one tree of sagas once, and of all of a mesh as they end.
 */
import { join } from "node:path";
import { shortHash } from "../../protocol/digest.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { type Batches, createBatches } from "../otlp/batches.ts";
import type { SendDeps } from "../otlp/send.ts";
import { endpointOf, type OtlpEndpoint, resourceOf } from "../otlp/settings.ts";
import type { Chance, Clock } from "../wire/ports.ts";
import type { Config } from "./config.ts";
import { type FollowDeps, followTraces } from "./follow-traces.ts";
import type { Part } from "./health/part.ts";
import type { Service } from "./serve.ts";
import { placeInFile } from "./trace-place.ts";
import { packageVersion } from "./version.ts";

/** A person waits: a receiver that does not answer is asked again for so long. */
const onceMs = 30_000;

/** How often it is said that a receiver takes nothing. */
const saidEveryMs = 60_000;

export interface SpanReceiver {
  readonly config: Config;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

/** Where spans go: to the URL given, else where OpenTelemetry's variables say. Throws USAGE where neither does. */
export function receiverOf({ otel }: Pick<Config, "otel">, url?: string): OtlpEndpoint {
  const endpoint = endpointOf(otel, "traces", url);
  if (endpoint !== undefined) return endpoint;
  throw new MeshError("USAGE", "nothing says where spans are to go", {
    remedy: "Name the receiver: --otlp http://localhost:4318, or OTEL_EXPORTER_OTLP_ENDPOINT.",
  });
}

/** Spans of one tree, which a person asked for: those go, too, that their caller's trace does not sample. */
export const openOnce = (receiver: SpanReceiver, endpoint: OtlpEndpoint): Batches =>
  batchesTo(receiver, endpoint, { patienceMs: onceMs, unsampledToo: true });

function batchesTo(
  { config, clock, chance, signal, report }: SpanReceiver,
  endpoint: OtlpEndpoint,
  { patienceMs, unsampledToo }: Pick<SendDeps, "patienceMs"> & { readonly unsampledToo?: boolean },
): Batches {
  let saidAt = Number.NEGATIVE_INFINITY;
  const onRetry = (why: string) => {
    if (clock.elapsed() - saidAt < saidEveryMs) return;
    saidAt = clock.elapsed();
    report(`${why}; it is sent again`);
  };
  return createBatches(
    { clock, chance, signal, patienceMs, onRetry },
    {
      ...{ endpoint, resource: resourceOf(config.otel), version: packageVersion() },
      ...(unsampledToo === undefined ? {} : { unsampledToo }),
      onRefusal: ({ count, why }) => report(`the receiver did not take ${count} spans: ${why}`),
    },
  );
}

export interface Following {
  readonly ports: FollowDeps["ports"];
  readonly endpoint: OtlpEndpoint;
  readonly content: boolean;
  /** The file that keeps the place; else one of the data folder's. */
  readonly place: string | undefined;
}

/** Exports all that ends, until the signal. Throws OTLP_REFUSED, FILE_UNREADABLE. */
export function exportTraces(receiver: SpanReceiver, following: Following): Promise<void> {
  const { ports, endpoint, content, place } = following;
  const { config, clock, signal, report } = receiver;
  const batches = batchesTo(receiver, endpoint, { patienceMs: Number.POSITIVE_INFINITY });
  const store = placeInFile(place ?? defaultPlace(config, endpoint));
  return followTraces({ ports, clock, signal, report }, { batches, store, content });
}

/** One for each mesh and receiver. */
const defaultPlace = ({ traceDir, servers, serverDir }: Config, { url }: OtlpEndpoint): string =>
  join(traceDir, `${shortHash(`${servers ?? serverDir} ${url}`, 12)}.json`);

/** The same as a part of a process that serves; undefined where nothing says where spans go, and said where that cannot be. */
export function tracePart(
  { ports, clock, chance }: Pick<Service, "ports" | "clock" | "chance">,
  config: Config,
  report: (line: string) => void,
): Part | undefined {
  const stopping = new AbortController();
  const { signal } = stopping;
  const notExported = (error: unknown) => report(`no spans are exported: ${describeError(error)}`);
  try {
    const endpoint = endpointOf(config.otel, "traces");
    if (endpoint === undefined) return undefined;
    const following = { ports, endpoint, content: false, place: undefined };
    const running = exportTraces({ config, clock, chance, signal, report }, following).catch(notExported);
    return {
      stop: async () => {
        stopping.abort();
        await running;
      },
    };
  } catch (error) {
    notExported(error);
    return undefined;
  }
}
