/**
 * Output: what a command says. Results on stdout, everything on the way on stderr.
 *
 * OU1 With --json each line of stdout is one document of protocol/documents/, and each line of stderr one
 *     too: progress, the error, or, of a process that serves, a line of its log.
 * OU2 An error is one coded line and its remedy, never a stack trace.
 */
import { describeError, isMeshError, MeshError } from "../../../protocol/errors.ts";
import type { ErrorDocument, ProgressDocument } from "../../../protocol/documents/stderr.ts";

export interface Output {
  readonly json: boolean;
  /** A result: a document for programs, or what a person reads. */
  readonly print: (document: unknown, text: () => string) => void;
  /** Progress, for a person who waits. */
  readonly note: (line: string) => void;
  /** A piece of a line that is still being said, beside results or beside progress. For people; not with --json. */
  readonly flow: (piece: string, beside: "results" | "progress") => void;
  readonly fail: (error: unknown) => void;
}

export interface Streams {
  out(text: string): void;
  err(text: string): void;
}

export const createOutput = (streams: Streams, json: boolean): Output => ({
  json,
  print: (document, text) => streams.out(`${json ? JSON.stringify(document) : text()}\n`),
  note: (line) => {
    const document: ProgressDocument = { progress: line };
    streams.err(`${json ? JSON.stringify(document) : line}\n`);
  },
  flow: (piece, beside) => (beside === "results" ? streams.out(piece) : streams.err(piece)),
  fail: (error) => streams.err(json ? `${JSON.stringify(errorDocument(error))}\n` : errorLines(error)),
});

/** OU2. */
function errorLines(error: unknown): string {
  const known = asMeshError(error);
  return `error: ${oneLine(known.message)}\nremedy: ${oneLine(known.remedy)}\n`;
}

function errorDocument(error: unknown): ErrorDocument {
  const { code, message, remedy, retriable } = asMeshError(error);
  return { error: { code, message, remedy, retriable } };
}

/** Whatever was thrown; what is no MeshError is a fault of ours. */
const asMeshError = (error: unknown): MeshError =>
  isMeshError(error) ? error : new MeshError("INTERNAL", describeError(error), { cause: error });

const oneLine = (text: string): string =>
  text
    .replaceAll(/:\n\s*- /g, ": ")
    .replaceAll(/\n\s*- /g, "; ")
    .replaceAll(/\s*\n\s*/g, " ");

/** Whether a failure means that what was typed is wrong, rather than that it could not be done. */
export const isUsageError = (error: unknown): boolean => isMeshError(error) && usageCodes.has(error.code);

const usageCodes: ReadonlySet<string> = new Set([
  "TOOL_UNKNOWN",
  "USAGE",
  "BAD_JSON",
  "BAD_ID",
  "INPUT_INVALID",
  "AGENT_UNKNOWN",
  "SIGNAL_UNKNOWN",
  "SAGA_UNKNOWN",
  "INTENT_UNKNOWN",
  "TURN_UNKNOWN",
  "NOT_OPEN_THEN",
  "TASK_UNKNOWN",
  "VOTER_NOT_ASKED",
  "ARGUMENTS_CHANGED",
  "MODEL_UNKNOWN",
  "TOOL_UNSERVED",
]);
