/**
 * What went wrong with the Chat Completions API, by what helps.
 *
 * OF1 The class follows from the status and the server's code; from the words only where servers have nothing else
 *     to say it by: that a conversation is too long for the model.
 * OF2 What the server says about trying again counts more than the status.
 * OF3 What is told of a failure is short and holds no secret: servers repeat keys and whole requests.
 */
import { z } from "zod";
import { describeError } from "../../protocol/errors.ts";
import { ModelFailure, type Stop } from "../../protocol/model.ts";
import { msOf } from "../../protocol/duration.ts";
import { maxOf } from "../../protocol/extremes.ts";
import { kindOfStatus, retryAfterMs } from "./http-failure.ts";

type Kind = ModelFailure["kind"];

/** Characters of a server's words that are kept. */
const wordsMax = 300;

/** What a server says of an error, wherever it puts it. */
export interface Said {
  readonly status: number | undefined;
  readonly codes: readonly string[];
  readonly words: string;
}

const Details = z.looseObject({
  message: z.unknown().optional(),
  type: z.string().nullish().catch(undefined),
  code: z.union([z.string(), z.number()]).nullish().catch(undefined),
  innererror: z.looseObject({ code: z.string().optional() }).nullish().catch(undefined),
});
const Body = z.looseObject({ error: z.unknown().optional(), detail: z.unknown().optional() });

/** Reads an error body: `{error: {…}}`, `{error: "…"}`, the members themselves, `{detail}`, or plain text. */
export function readError(body: unknown, status?: number): Said {
  const outer = Body.safeParse(body).data;
  const inner = outer?.error ?? outer?.detail ?? body;
  const details = Details.safeParse(inner).data;
  const words = details?.message ?? inner;
  const { code, type, innererror } = details ?? {};
  const codes = [code, type, innererror?.code].filter((one) => one !== undefined && one !== null).map(String);
  // Gateways that have sent their head already tell the status here.
  const told = codes.map(Number).find((number) => number >= 400 && number < 600);
  return {
    status: status ?? told,
    codes: codes.filter((one) => Number.isNaN(Number(one))),
    words: typeof words === "string" ? words : (JSON.stringify(words) ?? ""),
  };
}

const contextCodes =
  /context_length_exceeded|context_window_exceeded|exceed_context_size|ContextWindowExceeded/i;
const contextWords =
  /maximum context length|context (length|window|size)[^.]{0,40}exceed|exceed[^.]{0,60}context (length|window|size)/i;
const filterCodes = /^(content_filter|content_policy_violation|ResponsibleAIPolicyViolation)$/;

/** Errors that are outcomes: the conversation is too long, or it was not let through. */
export function stopOfError({ status, codes, words }: Said): Stop | undefined {
  if (status !== undefined && ![400, 413, 422, 500].includes(status)) return undefined;
  if (codes.some((code) => contextCodes.test(code)) || contextWords.test(words)) return "context_full";
  return codes.some((code) => filterCodes.test(code)) ? "refusal" : undefined;
}

/** Codes that say more than the status, or come without one. */
const kindOfCode: Readonly<Record<string, Kind>> = {
  // Nothing more may be used now. That may take long, and another model can be asked meanwhile.
  insufficient_quota: "wait",
  rate_limit_exceeded: "wait",
  rate_limit_error: "wait",
  overloaded_error: "wait",
  overloaded: "wait",
  invalid_request_error: "fail",
  authentication_error: "fail",
  permission_error: "fail",
  not_found_error: "fail",
};

export interface FailedResponse {
  /** The server that failed, for the reader: its host name and port. */
  readonly server: string;
  readonly headers?: Headers;
  readonly now: number;
  /** Never told. */
  readonly secrets: readonly string[];
}

/** The failure that an error body, or an error in a stream, stands for. */
export function failureOf(said: Said, { server, headers, now, secrets }: FailedResponse): ModelFailure {
  const { status, codes, words } = said;
  const kind = kindOf(said, headers);
  const request = headers?.get("x-request-id");
  const what = [status, codes[0]].filter((part) => part !== undefined).join(" ");
  const text = brief(words, secrets);
  return new ModelFailure(
    kind,
    `${server} failed${what === "" ? "" : ` with ${what}`}: ${text}${request ? ` (request ${brief(request, secrets)})` : ""}`,
    { retryAfterMs: kind === "fail" ? undefined : (retryAfterMs(headers, now) ?? resetMs(headers)) },
  );
}

/** The failure of a request that got no answer, or not all of it. */
export function lostConnection(error: unknown, { server, secrets }: FailedResponse): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  const words = [error, cause].filter((one) => one !== undefined).map(describeError);
  return new ModelFailure(
    "retry",
    `${server} was not heard to the end: ${brief(words.join(": "), secrets)}`,
    {
      cause: error,
    },
  );
}

function kindOf({ status, codes }: Said, headers: Headers | undefined): Kind {
  if (headers?.get("x-should-retry") === "false") return "fail";
  const told = codes.map((code) => kindOfCode[code]).find((kind) => kind !== undefined);
  return told === "wait" || status === undefined ? (told ?? "retry") : kindOfStatus(status, headers);
}

/** What is shorter hides nothing, and would tear holes into the words. */
const secretMin = 6;

/** OF3 */
function brief(words: string, secrets: readonly string[]): string {
  const clean = secrets
    .filter((secret) => secret.length >= secretMin)
    .reduce((text, secret) => text.replaceAll(secret, "[secret]"), words)
    .replaceAll(/\s+/g, " ")
    .trim();
  return clean.length > wordsMax ? `${clean.slice(0, wordsMax)}…`.toWellFormed() : clean;
}

const dimensions = ["requests", "tokens"] as const;

/** Until what is used up comes back, where a server says that and no more: `x-ratelimit-reset-tokens: 6m0.5s`. */
function resetMs(headers: Headers | undefined): number | undefined {
  const waits = dimensions
    .filter((dimension) => headers?.get(`x-ratelimit-remaining-${dimension}`) === "0")
    .map((dimension) => durationMs(headers?.get(`x-ratelimit-reset-${dimension}`) ?? ""))
    .filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : maxOf(waits);
}

/** `1h2m3.5s`, `20ms`, or plain seconds. */
function durationMs(text: string): number | undefined {
  try {
    return msOf(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);
  } catch {
    return undefined; // A server's own way to say it: the status alone decides.
  }
}
