/**
 * Answers: what a request gets, and which status an error is.
 */
import { gzip } from "node:zlib";
import { promisify } from "node:util";
import { type ErrorCode, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { ErrorBody } from "./documents.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
  /** What went wrong here, for the log. */
  readonly fault?: unknown;
}

const jsonHeaders = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

/** A document. */
export const told = (document: unknown, status = 200): Answer => ({
  status,
  headers: jsonHeaders,
  body: JSON.stringify(document),
});

const statuses: Partial<Record<ErrorCode, number>> = {
  USAGE: 400,
  QUERY_TOO_LONG: 400,
  BAD_JSON: 400,
  BAD_ID: 400,
  VALUE_REFUSED: 400,
  INPUT_INVALID: 400,
  BAD_MESSAGE: 400,
  SIGNAL_UNKNOWN: 400,
  VOTER_NOT_ASKED: 403,
  ACT_REFUSED: 403,
  SERVER_REFUSED: 403,
  SAGA_UNKNOWN: 404,
  SAGA_NOT_BEGUN: 404,
  TASK_UNKNOWN: 404,
  INTENT_UNKNOWN: 404,
  TURN_UNKNOWN: 404,
  LETTER_UNKNOWN: 404,
  ARGUMENTS_CHANGED: 409,
  TASK_OVER: 409,
  SAGA_ENDED: 409,
  SAGA_ID_TAKEN: 409,
  NOT_OPEN_THEN: 409,
  SAGA_ARCHIVED: 410,
  TOO_LARGE: 413,
  UNAVAILABLE: 503,
  STORAGE_FULL: 503,
  STORAGE_RESERVED: 503,
  INTERNAL: 500,
};

/** Of a ledger that cannot be read, above all: neither the caller's fault nor the console's. */
const statusOfOthers = 502;

/** The answer to a request that failed. What is a fault of ours is for the log, and not for the page. */
export function refusal(error: unknown): Answer {
  const known = isMeshError(error) ? error : undefined;
  const status = known === undefined ? 500 : (statuses[known.code] ?? statusOfOthers);
  const said =
    known ??
    new MeshError("INTERNAL", "the console could not do this", { remedy: "Its log says what went wrong." });
  const { code, remedy } = said;
  const message = said.message.replace(`[${code}] `, ""); // It is shown beside it.
  const body: ErrorBody = { error: { code, message, remedy } };
  return { ...told(body, status), ...(status === 500 ? { fault: error } : {}) };
}

/** A refusal by the door itself, before anything was looked at. */
export const refused = (status: number, code: string, message: string, remedy: string): Answer =>
  told({ error: { code, message, remedy } } satisfies ErrorBody, status);

const zipped = promisify(gzip);
/** Smaller ones would gain nothing. */
const zipLeast = 1_024;

/** The same, zipped where that pays and the caller takes it. */
export async function packed(answer: Answer, accepts: string | undefined): Promise<Answer> {
  const { headers, body } = answer;
  const isLarge = body.length >= zipLeast && headers["content-encoding"] === undefined;
  if (!isLarge || accepts?.includes("gzip") !== true) return answer;
  return {
    ...answer,
    headers: { ...headers, "content-encoding": "gzip", vary: "accept-encoding" },
    body: await zipped(body, { level: 5 }),
  };
}
