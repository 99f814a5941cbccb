/**
 * Logger: the root of a process's log, JSON lines on stderr.
 *
 * LB1 Fields that may hold a secret or a payload are redacted by name, wherever a caller puts them at the top
 *     or one level down. Payloads belong in the ledger, not in a log.
 */
import pino, { type DestinationStream, type Logger } from "pino";
import { secretNames } from "../process/redact.ts";
import type { LogLevel } from "./config.ts";

const payload = ["input", "output", "data", "body", "messages"];

/** Paths whose values never appear in the log. */
export const redactedPaths: readonly string[] = [...secretNames, ...payload].flatMap((name) => [
  name,
  `*.${name}`,
]);

/** A root logger. The level is the caller's default unless LOG_LEVEL named one. */
export const createLogger = (
  options: { level: LogLevel; fields?: Record<string, string> },
  destination: DestinationStream = pino.destination({ dest: 2, sync: true }),
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
