/** Process gauges: memory, processor and event loop of this process, under the names other exporters use. */
import type { Exposition } from "./exposition.ts";

/** How often the loop is looked at; a delay shorter than this may be missed. */
const resolutionMs = 20;
/** Who reads so soon after another sees what that one saw: several readers take nothing from one another. */
const sameMs = 10_000;
/** The label is not `quantile`, which is kept for summaries: who reads metrics by their type would read these wrong. */
const percentiles = [50, 99, 100] as const;

export interface ProcessGauges {
  refresh(): void;
  close(): void;
}

/** `linesLost`: how many lines this process could not write so far. */
export function createProcessGauges(
  { gauge, counter }: Exposition,
  linesLost: () => number,
  now: () => number = () => performance.now(),
): ProcessGauges {
  const { monitorEventLoopDelay } = process.getBuiltinModule("node:perf_hooks");
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  const resident = gauge("process_resident_memory_bytes", "Resident size.");
  const heap = gauge("nodejs_heap_size_used_bytes", "Heap in use.");
  const started = gauge("process_start_time_seconds", "Start, seconds since the epoch.");
  const cpu = counter("process_cpu_seconds_total", "Processor time, user and system.");
  const delay = gauge(
    "sagamesh_event_loop_delay_seconds",
    "By how much the event loop was late since it was read last, ten seconds ago or more; percentile 100 is the worst.",
    ["percentile"],
  );
  const lost = counter(
    "sagamesh_lines_lost_total",
    "Lines of the log, and others of stdout and stderr, that this process could not write.",
  );
  let lostBefore = 0;
  started.set([], Math.round(Date.now() / 1_000 - process.uptime()));
  let counted = 0;
  let delaysAt = Number.NEGATIVE_INFINITY;
  return {
    refresh: () => {
      lost.add([], linesLost() - lostBefore);
      lostBefore = linesLost();
      const memory = process.memoryUsage();
      resident.set([], memory.rss);
      heap.set([], memory.heapUsed);
      const { user, system } = process.cpuUsage();
      const seconds = (user + system) / 1e6;
      cpu.add([], seconds - counted);
      counted = seconds;
      if (now() - delaysAt < sameMs) return;
      delaysAt = now();
      for (const percentile of percentiles) {
        // What is measured is the distance of two looks, so the wish for it is part of it.
        const late = delays.count === 0 ? 0 : delays.percentile(percentile) / 1e9 - resolutionMs / 1_000;
        delay.set([String(percentile)], Math.max(0, late));
      }
      delays.reset();
    },
    close: () => void delays.disable(),
  };
}
