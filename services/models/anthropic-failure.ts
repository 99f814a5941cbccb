/**
 * What went wrong with the Messages API, by what helps.
 *
 * NF1 The class follows from the status, or from the error's type where a stream broke after its head; never
 *     from the words, which may change.
 * NF2 What the server says about trying again counts more than the status.
 * NF3 Errors are read by their members, not by their class, so that this holds for any copy of the SDK.
 */
import { describeError } from "../../protocol/errors.ts";
import { ModelFailure } from "../../protocol/model.ts";
import { kindOfStatus, retryAfterMs } from "./http-failure.ts";

type Kind = ModelFailure["kind"];

const kindOfType: { readonly [type: string]: Kind } = {
  rate_limit_error: "wait",
  overloaded_error: "wait",
  api_error: "retry",
  timeout_error: "retry",
  conflict_error: "retry",
  invalid_request_error: "fail",
  authentication_error: "fail",
  billing_error: "fail",
  permission_error: "fail",
  not_found_error: "fail",
  request_too_large: "fail",
};

/** The failure that an error of the SDK stands for. `now` is milliseconds since the epoch. */
export function failureOf(error: unknown, now: number): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const { status, type, headers, requestId, words } = membersOf(error);
  // A stream that broke after its head has the head's headers, which say nothing of the break.
  const kind = status === undefined ? (kindOfType[type ?? ""] ?? "retry") : kindOfStatus(status, headers);
  const what =
    words === undefined ? describeError(error) : `${[status, type].filter(Boolean).join(" ")}: ${words}`;
  const where = requestId === undefined ? "" : ` (request ${requestId})`;
  const advice =
    status === 413 ? "; the request is larger than the API takes: make tool outputs shorter" : "";
  return new ModelFailure(kind, `the Messages API failed: ${what}${where}${advice}`, {
    retryAfterMs: kind === "fail" ? undefined : retryAfterMs(headers, now),
    cause: error,
  });
}

interface Members {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly headers: Headers | undefined;
  readonly requestId: string | undefined;
  readonly words: string | undefined;
}

function membersOf(error: unknown): Members {
  const members: { readonly [name: string]: unknown } =
    typeof error === "object" && error !== null ? { ...error } : {};
  const { status, type, headers, requestID, apiMessage } = members;
  return {
    status: typeof status === "number" ? status : undefined,
    type: typeof type === "string" ? type : undefined,
    headers: headers instanceof Headers ? headers : undefined,
    requestId: typeof requestID === "string" ? requestID : undefined,
    words: typeof apiMessage === "string" ? apiMessage : undefined,
  };
}
