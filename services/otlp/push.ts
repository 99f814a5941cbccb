/**
 * Push: what a process counts of itself, sent every so often until it ends.
 *
 * YY1 One request at a time and nothing behind it: a receiver that is slow, dead or wrong costs its process that request, and at the end
 *     a moment that is named.
 * YY2 Whether the receiver takes them is told when that changes, and not each time.
 */
import { describeError } from "../../protocol/errors.ts";
import type { Clock } from "../wire/ports.ts";
import type { Telling } from "./encode.ts";
import { type MetricRead, metricsRequest } from "./metrics.ts";
import { sendOtlp, type SendDeps } from "./send.ts";
import type { OtlpEndpoint } from "./settings.ts";

export interface PushOptions extends Telling {
  readonly clock: Clock;
  readonly chance: SendDeps["chance"];
  readonly endpoint: OtlpEndpoint;
  readonly everyMs: number;
  /** What there is to tell now. */
  readonly read: () => Promise<readonly MetricRead[]>;
  /** They are not taken, and why; undefined: they are again (YY2). */
  readonly onChange: (why: string | undefined) => void;
}

export interface Pushing {
  /** Sends once more what there is, and nothing more; resolves after so many milliseconds at most. Never throws. */
  last(withinMs: number): Promise<void>;
  /** Sends nothing more. */
  stop(): void;
}

/** Begins to send. The first request goes after the first while: a process that has just begun has counted nothing. */
export function pushMetrics(options: PushOptions): Pushing {
  const { clock, everyMs } = options;
  const since = clock.now();
  const over = new AbortController();
  const push = pushing(options, since);
  const repeat = async () => {
    while (!over.signal.aborted) {
      await clock.sleep(everyMs, over.signal).catch(() => undefined);
      if (!over.signal.aborted) await push(over.signal);
    }
  };
  void repeat();
  const stop = () => over.abort(new Error("the process ends"));
  return {
    stop,
    last: async (withinMs) => {
      stop();
      const late = AbortSignal.timeout(withinMs);
      await Promise.race([push(late), new Promise((resolve) => late.addEventListener("abort", resolve))]);
    },
  };
}

/** One request. Never throws. */
function pushing({ read, onChange, ...options }: PushOptions, since: number) {
  const { clock, chance, endpoint } = options;
  let isTaken = true;
  const say = (why: string | undefined) => {
    if (isTaken === (why === undefined)) return;
    isTaken = why === undefined;
    onChange(why);
  };
  return async (signal: AbortSignal): Promise<void> => {
    try {
      const metrics = await read();
      const body = metricsRequest(metrics, options, { since, at: clock.now() });
      // What is not taken now is in the next request (YM2 of metrics.ts), so none is sent twice.
      const refusal = await sendOtlp({ clock, chance, signal, patienceMs: 0 }, endpoint, body);
      say(refusal === undefined ? undefined : `${refusal.count} values were refused: ${refusal.why}`);
    } catch (error) {
      if (!signal.aborted) say(describeError(error));
    }
  };
}
