/**
 * Left alone: promises that code of an application makes and waits for nowhere. Where one is rejected Node ends the process, and
 * with it every saga that is under way there.
 *
 * ZN1 What a saga's own code left alone costs a line of the log, with saga and tool, and nothing else: its call has its result, or
 *     its turn is decided, without it. The process goes on.
 * ZN2 What cannot be given to a saga is left to Node: code of ours, or of a module as it was loaded, may have lost something that
 *     others rely on.
 */
import { describeError } from "../../protocol/errors.ts";
import type { Log } from "../process/log.ts";
import { redactText } from "../process/redact.ts";
import { traceOf } from "./failure.ts";
import { whoseCode } from "./on-behalf.ts";

const logs = new Set<Log>();

/** Keeps this process alive (ZN1) and tells this log, until what it returns is called. */
export function outliveLeftAlone(log: Log): () => void {
  if (logs.size === 0) process.on("unhandledRejection", hear);
  logs.add(log);
  return () => {
    logs.delete(log);
    if (logs.size === 0) process.off("unhandledRejection", hear);
  };
}

function hear(rejected: unknown): void {
  const whose = whoseCode();
  const [log] = logs;
  if (whose !== undefined && log !== undefined) {
    const { saga: sagaId, intent: intentId, tool, what } = whose;
    const [reason, stack] = [redactText(describeError(rejected)), traceOf(rejected)];
    log.error({ sagaId, intentId, tool, what, reason, stack }, "promise left alone");
    return;
  }
  // ZN2: as it is without a listener. A program that has one of its own decides by itself.
  if (process.listenerCount("unhandledRejection") === 1) throw rejected;
}
