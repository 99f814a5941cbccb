/** A process's metrics after it has done something of each kind, read as a receiver is told them. */
import type { MetricRead } from "../../services/otlp/metrics.ts";
import { createExposition, type Exposition } from "../../services/runtime/health/exposition.ts";
import { createMetrics } from "../../services/runtime/health/metrics.ts";
import { createProcessGauges } from "../../services/runtime/health/process-gauges.ts";

/** What it counted, as an exposition. */
export function countingMuch(): Exposition {
  const exposition = createExposition();
  const { host, worker, gateway } = createMetrics(exposition);
  const own = createProcessGauges(exposition, () => 3);
  for (const [k, name] of ["charge_card", 'a "quoted" \\ name', "größer"].entries()) {
    worker.attemptBegan("tool", name);
    worker.attemptEnded("tool", name, "succeeded", 10 ** k);
    worker.attemptEnded("tool", name, "failed", 3_600_000); // Beyond the last bound.
  }
  host.append("fenced");
  host.takenOver(120);
  gateway.answered("approve", 200);
  own.refresh();
  own.close();
  return exposition;
}

export const countedMuch = (): MetricRead[] => countingMuch().read();
