/**
 * Door: one HTTP request to one reply, whatever server it came through.
 *
 *     POST …/callback/<token>   the result of a deferred call
 *     POST …/signal/<token>     a signal
 *     POST …/task/<token>       a vote
 *     GET  the same             a page with a form and a button; it changes nothing
 *
 * GD1 Only POST acts. Mail scanners and previews open every link they see.
 * GD2 202 means that the answer is stored, and will be on the saga's ledger. 200: it is there already. Everything else
 *     stored nothing, but for 503, after which that is unknown: the same answer may be sent again.
 * GD3 An error says its code, what happened and what to do, and never repeats a token or a body.
 */
import type { ErrorDocument } from "../../protocol/documents/stderr.ts";
import { describeError, type ErrorCode, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Link } from "../../protocol/link.ts";
import type { ClientDeps } from "../client/send.ts";
import type { Asked, Taken } from "./asked.ts";
import { askedCall } from "./call.ts";
import type { Keys } from "./keys.ts";
import { doors } from "./links.ts";
import { askPage, errorPage, pageHeaders, takenPage } from "./page.ts";
import { UnsupportedType } from "./reading.ts";
import { askedSignal } from "./signal.ts";
import { askedVote } from "./task.ts";

export interface DoorRequest {
  readonly method: string;
  /** Path and query, as in the request line. */
  readonly url: string;
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
  /** Reads the body: only of a request whose link was signed here. Throws TOO_LARGE. */
  readonly body: () => Promise<Uint8Array>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For the log: never a token, never what was said. */
  readonly about: {
    readonly kind?: Link["kind"];
    readonly saga?: string;
    readonly intent?: string;
    readonly code?: ErrorCode;
  };
  /** A fault of ours. */
  readonly fault?: unknown;
}

export type Door = (request: DoorRequest) => Promise<Reply>;

/** HTTP clients give up after a while; an answer that is not stored by then may be sent again. */
const answerWithinMs = 10_000;

const always = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** The door of a mesh. What it needs it reads at each request: it holds nothing. */
export const createDoor =
  (deps: ClientDeps, keys: Keys): Door =>
  async (request) => {
    const isPage = /\btext\/html\b/i.test(request.accept ?? "");
    let about: Reply["about"] = {};
    try {
      const { kind, token, query } = readPath(request.url);
      if (request.method === "OPTIONS")
        return { status: 204, headers: { ...always, allow }, body: "", about };
      if (request.method !== "POST" && request.method !== "GET" && request.method !== "HEAD")
        throw new WrongMethod(request.method);
      const link = keys.verify(token, deps.clock.now());
      if (link.kind !== kind) throw new NotFound(`this link belongs under /${doors[link.kind]}/`);
      about = { kind, saga: link.saga, ...("intent" in link ? { intent: link.intent } : {}) };
      const act = async (): Promise<Reply> => {
        const asked = await ask(deps, link);
        if (request.method !== "POST") return { ...shown(asked, query, isPage), about };
        const body = await request.body();
        const how = await asked.take({ query, contentType: request.contentType, body });
        return { ...accepted(how, link, isPage), about };
      };
      return await within(deps, act());
    } catch (error) {
      return refused(error, isPage, about);
    }
  };

const allow = "GET, HEAD, POST, OPTIONS";

/** A proxy may keep a prefix of the path or strip it. */
function readPath(url: string): { kind: Link["kind"]; token: string; query: URLSearchParams } {
  const [path = "", ...rest] = url.split("?");
  const [, folder, token = ""] = /\/(callback|signal|task)\/([^/]+)$/.exec(path) ?? [];
  const kind = (Object.keys(doors) as Link["kind"][]).find((one) => doors[one] === folder);
  if (kind === undefined) throw new NotFound("there is nothing at this path");
  return { kind, token, query: new URLSearchParams(rest.join("?")) };
}

function ask(deps: ClientDeps, link: Link): Promise<Asked> {
  switch (link.kind) {
    case "result":
      return askedCall(deps, link);
    case "signal":
      return askedSignal(deps, link);
    case "task":
      return askedVote(deps, link);
  }
}

/** GD1 */
function shown(asked: Asked, query: URLSearchParams, isPage: boolean): Omit<Reply, "about"> {
  if (asked.over !== undefined) return refused(asked.over, isPage, {});
  return { status: 200, headers: { ...always, ...pageHeaders }, body: askPage(asked, query) };
}

/** GD2 */
function accepted(how: Taken, link: Link, isPage: boolean): Omit<Reply, "about"> {
  const status = how === "stored" ? 202 : 200;
  if (isPage) return { status, headers: { ...always, ...pageHeaders }, body: takenPage(how) };
  const said = { stored: true, already: how === "already", kind: link.kind, saga: link.saga };
  return { status, headers: { ...always, ...json }, body: `${JSON.stringify(said)}\n` };
}

const json = { "content-type": "application/json; charset=utf-8" };

class NotFound extends MeshError {
  constructor(detail: string) {
    super("CALLBACK_REFUSED", detail, { remedy: "Use the whole link as it was given." });
  }
}

class WrongMethod extends MeshError {
  constructor(method: string) {
    super("BAD_MESSAGE", `${method.slice(0, 20)} is not taken here`, { remedy: `Use one of ${allow}.` });
  }
}

/** A reply that says why. */
export function refused(error: unknown, isPage: boolean, about: Reply["about"]): Reply {
  const known = isMeshError(error)
    ? error
    : new MeshError("INTERNAL", describeError(error), { cause: error });
  const status = statusOf(known);
  // What broke here is for the log; the outside is told no more than that.
  const told = status === 500 ? new MeshError("INTERNAL", "the gateway could not handle this") : known;
  const { code, message, remedy, retriable } = told;
  const document: ErrorDocument = { error: { code, message, remedy, retriable } };
  return {
    status,
    headers: {
      ...always,
      ...(isPage ? pageHeaders : json),
      ...(status === 503 ? { "retry-after": "2" } : {}),
      ...(status === 405 ? { allow } : {}),
    },
    body: isPage ? errorPage(told) : `${JSON.stringify(document)}\n`,
    about: { ...about, code },
    ...(status === 500 ? { fault: error } : {}),
  };
}

const statuses: Partial<Record<ErrorCode, number>> = {
  BAD_JSON: 400,
  BAD_MESSAGE: 400,
  VALUE_REFUSED: 400,
  CALLBACK_REFUSED: 401,
  SAGA_UNKNOWN: 404,
  INTENT_UNKNOWN: 404,
  TASK_UNKNOWN: 404,
  VOTER_NOT_ASKED: 403,
  ANSWER_TAKEN: 409,
  TASK_OVER: 409,
  CALLBACK_EXPIRED: 410,
  SAGA_ARCHIVED: 410,
  SAGA_ENDED: 410,
  TOO_LARGE: 413,
  INPUT_INVALID: 422,
  SIGNAL_UNKNOWN: 422,
  SAGA_NOT_BEGUN: 503,
  UNAVAILABLE: 503,
  STORAGE_FULL: 503,
  STORAGE_RESERVED: 503,
  WRITE_IN_FLIGHT: 503,
  DUPLICATE_IN_FLIGHT: 503,
};

function statusOf(error: MeshError): number {
  if (error instanceof NotFound) return 404;
  if (error instanceof WrongMethod) return 405;
  if (error instanceof UnsupportedType) return 415;
  return statuses[error.code] ?? 500;
}

/** The work's end, or UNAVAILABLE once it takes too long; it goes on, and may still store what it was given. */
async function within<T>({ clock }: ClientDeps, work: Promise<T>): Promise<T> {
  let callOff = () => {};
  const late = new Promise<never>((_, reject) => {
    callOff = clock.after(answerWithinMs, () =>
      reject(
        new MeshError("UNAVAILABLE", `not stored within ${answerWithinMs} ms`, {
          remedy: "Send the same answer again.",
        }),
      ),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    callOff();
  }
}
