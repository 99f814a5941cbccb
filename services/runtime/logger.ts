/**
 * Logger: the root of a process's log, JSON lines on stderr.
 *
 * LB1 Fields that may hold a secret or a payload are redacted by name, wherever a caller puts them at the top
 *     or one level down. Payloads belong in the ledger, not in a log.
 * LB2 A log that cannot be written ends nothing and holds nothing up: lines are dropped and counted.
 */
import pino, { type DestinationStream, type Logger } from "pino";
import { secretNames } from "../process/redact.ts";
import type { LogLevel } from "./config.ts";
import { outletOf } from "./outlet.ts";

const payload = ["input", "output", "data", "body", "messages"];

/** Paths whose values never appear in the log. */
export const redactedPaths: readonly string[] = [...secretNames, ...payload].flatMap((name) => [
  name,
  `*.${name}`,
]);

/** LB2. */
function lastingStderr(): DestinationStream {
  const stderr = outletOf(2);
  stderr.bound();
  return stderr;
}

/** A root logger. The level is the caller's default unless LOG_LEVEL named one. */
export const createLogger = (
  options: { level: LogLevel; fields?: Record<string, string> },
  destination: DestinationStream = lastingStderr(),
): Logger =>
  pino(
    {
      level: options.level,
      base: options.fields ?? {},
      redact: {
        paths: [...redactedPaths],
        censor: (value) => (value === undefined ? undefined : "[redacted]"),
      },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
