/**
 * An OpenTelemetry Collector: its own parts, put together as its builder does, receiving over HTTP and writing what it received into
 * files. Nothing of it is ours but the list of parts.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GoRecipe } from "../support/go-program.ts";
import { freePort } from "../support/free-port.ts";
import type { MetricsBody } from "../support/pushed-values.ts";

const core = "go.opentelemetry.io/collector";
const contrib = "github.com/open-telemetry/opentelemetry-collector-contrib";
/** The Collector's parts have two versions, one for those that are stable. */
export const collectorVersion = "v0.165.0";
const stable = "v1.71.0";

const program = `package main

import (
	"log"

	"${contrib}/exporter/fileexporter"
	"${core}/component"
	"${core}/confmap"
	"${core}/confmap/provider/fileprovider"
	"${core}/exporter"
	"${core}/otelcol"
	"${core}/receiver"
	"${core}/receiver/otlpreceiver"
	"${core}/service/telemetry/otelconftelemetry"
)

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](fileexporter.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory()}, nil
}

func main() {
	files := []confmap.ProviderFactory{fileprovider.NewFactory()}
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "${collectorVersion}"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{ProviderFactories: files, DefaultScheme: "file"},
		},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
`;

export const collectorRecipe: GoRecipe = {
  name: "otel-collector",
  files: { "main.go": program },
  packages: [
    `${contrib}/exporter/fileexporter@${collectorVersion}`,
    `${core}/confmap/provider/fileprovider@${stable}`,
    `${core}/otelcol@${collectorVersion}`,
    `${core}/receiver/otlpreceiver@${collectorVersion}`,
    `${core}/service@${collectorVersion}`,
  ],
};

/** A span as the Collector writes it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly attributes?: readonly { readonly key: string; readonly value: object }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
}

export interface Collected {
  readonly spans: readonly CollectedSpan[];
  /** A body for each request. */
  readonly metrics: readonly MetricsBody[];
}

interface TracesBody {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
  }[];
}

/** Starts one on a free port. `end` stops it as an operator does, and gives what it wrote. */
export async function startCollector(
  program: string,
): Promise<{ readonly url: string; readonly end: () => Promise<Collected> }> {
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-collector-"));
  const port = await freePort();
  const config = join(folder, "config.yaml");
  const [traces, metrics] = [join(folder, "traces.json"), join(folder, "metrics.json")];
  await writeFile(config, configOf(port, traces, metrics));
  const child = spawn(program, ["--config", `file:${config}`], { stdio: ["ignore", "inherit", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const killed = () => void child.kill("SIGKILL");
  process.once("exit", killed);
  const url = `http://127.0.0.1:${port}`;
  await answers(url, ended);
  return {
    url,
    end: async () => {
      child.kill("SIGTERM");
      await ended;
      process.off("exit", killed);
      const bodies = { traces: await linesIn(traces), metrics: await linesIn(metrics) };
      await rm(folder, { recursive: true, force: true });
      return {
        spans: (bodies.traces as TracesBody[]).flatMap(({ resourceSpans }) =>
          resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
        ),
        metrics: bodies.metrics as MetricsBody[],
      };
    },
  };
}

const configOf = (port: number, traces: string, metrics: string): string => `receivers:
  otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } }
exporters:
  file/traces: { path: "${traces}" }
  file/metrics: { path: "${metrics}" }
service:
  telemetry: { logs: { level: warn }, metrics: { level: none } }
  pipelines:
    traces: { receivers: [otlp], exporters: [file/traces] }
    metrics: { receivers: [otlp], exporters: [file/metrics] }
`;

const linesIn = async (file: string): Promise<unknown[]> =>
  (await readFile(file, "utf8").catch(() => ""))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);

async function answers(url: string, ended: Promise<number | null>): Promise<void> {
  const seen = { ended: false };
  void ended.then(() => (seen.ended = true));
  for (const giveUpAt = Date.now() + 30_000; Date.now() < giveUpAt && !seen.ended;) {
    const isThere = await fetch(`${url}/v1/traces`).then(
      () => true, // It says that it wants a POST.
      () => false,
    );
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the Collector does not answer");
}
