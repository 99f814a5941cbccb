/**
 * Send: a request of the OpenTelemetry protocol, over HTTP as JSON, until its receiver has taken it.
 *
 * YO1 What the protocol says may be sent again is sent again, not before the receiver wants it; all else is refused for good.
 * YO2 Nothing of a request, and no header, stands in an error.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { z } from "zod";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { Chance, Clock } from "../wire/ports.ts";
import type { OtlpEndpoint } from "./settings.ts";

export interface SendDeps {
  readonly clock: Clock;
  readonly chance: Pick<Chance, "random">;
  readonly signal: AbortSignal;
  /** How long a receiver that does not answer is asked again, milliseconds. */
  readonly patienceMs: number;
  /** A request was not taken, and is sent again. */
  readonly onRetry?: (why: string) => void;
}

/** What the receiver did not take of a request that it took, and why. */
export interface Refusal {
  readonly count: number;
  readonly why: string;
}

const again: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const backoffMs = 1_000;
const backoffMsMax = 30_000;
/** A receiver that asks for more than this is asked then. */
const retryAfterMsMax = 60_000;
const answerCharactersMax = 200;

/**
 * Hands a body over. Resolves once it is taken, with what of it was not. Throws OTLP_REFUSED, OTLP_UNREACHABLE once the patience is
 * over, and the signal's reason. After a crash it may have been taken: spans sent again have the same ids.
 */
export async function sendOtlp(
  deps: SendDeps,
  endpoint: OtlpEndpoint,
  body: unknown,
): Promise<Refusal | undefined> {
  const { clock, chance, signal, patienceMs } = deps;
  const request = await requestOf(endpoint, body);
  const until = clock.elapsed() + patienceMs;
  for (let pauseMs = backoffMs; ; pauseMs = Math.min(2 * pauseMs, backoffMsMax)) {
    signal.throwIfAborted();
    const answer = await post(deps, endpoint, request);
    if (answer.type === "taken") return answer.refusal;
    const waitMs = answer.waitMs ?? pauseMs * (0.5 + chance.random() / 2);
    if (clock.elapsed() + waitMs > until) throw new MeshError("OTLP_UNREACHABLE", answer.why);
    deps.onRetry?.(answer.why);
    await clock.sleep(waitMs, signal);
  }
}

type Request = { readonly headers: Record<string, string>; readonly body: string | Uint8Array<ArrayBuffer> };

async function requestOf({ headers, gzip: zips }: OtlpEndpoint, body: unknown): Promise<Request> {
  const text = JSON.stringify(body);
  const type = { "content-type": "application/json" };
  if (!zips) return { headers: { ...headers, ...type }, body: text };
  const zipped = new Uint8Array(await promisify(gzip)(text));
  return { headers: { ...headers, ...type, "content-encoding": "gzip" }, body: zipped };
}

/** `again`: it was not taken, and may be sent again after the wait that the receiver asks for. */
type Answered =
  | { readonly type: "taken"; readonly refusal: Refusal | undefined }
  | { readonly type: "again"; readonly why: string; readonly waitMs?: number | undefined };

/** One request. Throws OTLP_REFUSED, and the signal's reason. */
async function post(
  { clock, signal }: SendDeps,
  { url, timeoutMs }: OtlpEndpoint,
  request: Request,
): Promise<Answered> {
  let response: Response;
  let text: string;
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    response = await fetch(url, { method: "POST", redirect: "manual", ...request, signal: within });
    text = await response.text();
  } catch (error) {
    signal.throwIfAborted();
    return { type: "again", why: `${placeOf(url)} does not answer: ${reasonOf(error)}` };
  }
  const { status } = response;
  if (status >= 200 && status < 300) return { type: "taken", refusal: partly(text) };
  const why = `${placeOf(url)} answered ${status}: ${text.slice(0, answerCharactersMax).trim()}`;
  if (!again.has(status)) throw new MeshError("OTLP_REFUSED", why);
  return { type: "again", why, waitMs: waitAsked(response.headers.get("retry-after"), clock.now()) };
}

/** A URL without what may be a secret in it. */
function placeOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** `fetch` says only that it failed; why is behind it. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error ? describeError(error.cause) : describeError(error);

/** Seconds, or a date. */
function waitAsked(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), retryAfterMsMax);
}

const Answer = z.object({
  partialSuccess: z
    .object({
      rejectedSpans: z.coerce.number().default(0),
      rejectedDataPoints: z.coerce.number().default(0),
      errorMessage: z.string().default(""),
    })
    .optional(),
});

/** An answer that cannot be read is one all the same: the request was taken. */
function partly(text: string): Refusal | undefined {
  const answer = Answer.safeParse(parsed(text)).data?.partialSuccess;
  const count = (answer?.rejectedSpans ?? 0) + (answer?.rejectedDataPoints ?? 0);
  return answer === undefined || count === 0 ? undefined : { count, why: answer.errorMessage };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
