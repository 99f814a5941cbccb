/**
 * Output: what a command says. Results on stdout, everything on the way on stderr.
 *
 * OU1 With --json each line of stdout is one document of protocol/documents/, and each line of stderr one
 *     too: progress, the error, or, of a process that serves, a line of its log.
 * OU2 An error is one coded line and its remedy, never a stack trace.
 * OU3 Everything a command says passes here, and no control character of what sagas hold does (visible.ts).
 */
import { styleText } from "node:util";
import { describeError, isMeshError, MeshError } from "../../../protocol/errors.ts";
import type { ErrorDocument, ProgressDocument } from "../../../protocol/documents/stderr.ts";

import { type Colour, madeFor, painted, type Screen, unmarked } from "./screen.ts";
import { visible, visibleJson } from "./visible.ts";

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
  /** The command lasts: what is not read may be dropped. */
  lasts?(): void;
  /** What is at their ends; nothing unless terminals are. */
  readonly screens?: () => { readonly out: Screen; readonly err: Screen };
}

export const createOutput = (streams: Streams, json: boolean): Output => {
  const lineOf = (document: unknown, text: () => string, end: "out" | "err" = "err") =>
    `${json ? visibleJson(JSON.stringify(document)) : shown(text, streams.screens?.()[end] ?? {})}\n`; // OU3
  return {
    json,
    print: (document, text) => streams.out(lineOf(document, text, "out")),
    note: (line) => streams.err(lineOf({ progress: line } satisfies ProgressDocument, () => line)),
    flow: (piece, beside) =>
      beside === "results" ? streams.out(visible(piece)) : streams.err(visible(piece)),
    fail: (error) => streams.err(lineOf(errorDocument(error), () => errorLines(error))),
  };
};

/** OU3: the colours are ours, whatever the text holds. */
const shown = (text: () => string, screen: Screen): string =>
  unmarked(madeFor(screen, text), visible, coloured);

/** Only where `painted` left marks, so only for a stream that was found to take colours. */
const coloured = (colour: Colour, text: string): string => styleText(colour, text, { validateStream: false });

/** OU2. */
function errorLines(error: unknown): string {
  const known = asMeshError(error);
  return `${painted("red", "error:")} ${oneLine(known.message)}\nremedy: ${oneLine(known.remedy)}`;
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

/**
 * Whether a failure means that the words are wrong as they stand. What the outside lacks, or no longer takes, is none: the
 * same words may be right tomorrow, or elsewhere.
 */
export const isUsageError = (error: unknown): boolean => isMeshError(error) && usageCodes.has(error.code);

const usageCodes: ReadonlySet<string> = new Set(["USAGE", "BAD_JSON", "BAD_ID", "INPUT_INVALID"]);
