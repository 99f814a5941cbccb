/**
 * Push metrics: the composition of sending what a process counts to a receiver of OpenTelemetry's protocol.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { describeError } from "../../protocol/errors.ts";
import type { MetricRead } from "../otlp/metrics.ts";
import { type Pushing, pushMetrics } from "../otlp/push.ts";
import { endpointOf, metricsEveryMs, type OtlpEndpoint, resourceOf } from "../otlp/settings.ts";
import type { Log } from "../process/log.ts";
import type { Config } from "./config.ts";
import { systemChance, systemClock } from "./system.ts";
import { packageVersion } from "./version.ts";

/**
 * What begins to send; undefined where nothing says where to, and said where that cannot be: variables that are another program's,
 * too, keep no process from serving.
 */
export function metricsPush(
  { otel }: Pick<Config, "otel">,
  log: Log,
): ((read: () => Promise<readonly MetricRead[]>) => Pushing) | undefined {
  let endpoint: OtlpEndpoint | undefined;
  let resource: Record<string, string>;
  try {
    endpoint = endpointOf(otel, "metrics");
    resource = { "service.instance.id": instance(), ...resourceOf(otel) };
  } catch (error) {
    log.warn({ detail: describeError(error) }, "metrics not sent");
    return undefined;
  }
  if (endpoint === undefined) return undefined;
  const to = { endpoint, everyMs: metricsEveryMs(otel), resource, version: packageVersion() };
  const onChange = (why: string | undefined) =>
    why === undefined ? log.info({}, "metrics taken again") : log.warn({ detail: why }, "metrics not taken");
  return (read) => pushMetrics({ clock: systemClock, chance: systemChance, ...to, read, onChange });
}

/**
 * Each process is one for itself: what two send under one name would be taken for one that jumps. A machine's name and a process's
 * number are not enough, for in containers both are often the same.
 */
const instance = (): string => `${hostname()}-${process.pid}-${randomBytes(3).toString("hex")}`;
