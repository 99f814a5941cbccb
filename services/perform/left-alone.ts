/**
 * Left alone: promises that code of an application makes and waits for nowhere, and callbacks that nobody waits for, a timer's say.
 * Where one is rejected, or throws, Node ends the process, and with it every saga that is under way there.
 *
 * ZN1 What a saga's own code left alone costs a line of the log, with saga and tool, and nothing else: its call has its result, or
 *     its turn is decided, without it. The process goes on.
 * ZN2 What cannot be given to a saga is left to Node: code of ours, or of a module as it was loaded, may have lost something that
 *     others rely on.
 * ZN3 What a callback throws ends the process: it left off where no code expected it to. Before that the log says whose it was.
 */
import { describeError } from "../../protocol/errors.ts";
import type { Log } from "../process/log.ts";
import { redactText } from "../process/redact.ts";
import { traceOf } from "./failure.ts";
import { whoseCode } from "./on-behalf.ts";

const logs = new Set<Log>();

/** Keeps this process alive (ZN1) and tells this log, until what it returns is called. */
export function outliveLeftAlone(log: Log): () => void {
  if (logs.size === 0) process.on("unhandledRejection", hear).on("uncaughtExceptionMonitor", nameThrown);
  logs.add(log);
  return () => {
    logs.delete(log);
    if (logs.size === 0) process.off("unhandledRejection", hear).off("uncaughtExceptionMonitor", nameThrown);
  };
}

function hear(rejected: unknown): void {
  const told = whatIsTold(rejected);
  if (told !== undefined) {
    const { log, sagaId, intentId, tool, what, reason, stack } = told;
    return log.error({ sagaId, intentId, tool, what, reason, stack }, "promise left alone");
  }
  // ZN2: as it is without a listener. A program that has one of its own decides by itself.
  if (process.listenerCount("unhandledRejection") === 1) throw rejected;
}

/** ZN3. What `hear` throws is told of as a rejection that is nobody's. */
function nameThrown(thrown: unknown): void {
  const told = whatIsTold(thrown);
  if (told === undefined) return;
  const { log, sagaId, intentId, tool, what, reason, stack } = told;
  log.error({ sagaId, intentId, tool, what, reason, stack }, "thrown where nobody waits");
}

/** Whose it is, and what the log is told of it; undefined where it is no saga's. */
function whatIsTold(error: unknown) {
  const whose = whoseCode();
  const [log] = logs;
  if (whose === undefined || log === undefined) return undefined;
  const { saga: sagaId, intent: intentId, tool, what } = whose;
  const [reason, stack] = [redactText(describeError(error)), traceOf(error)];
  return { log, sagaId, intentId, tool, what, reason, stack };
}
