/**
 * Guard: who may look and who may act, before anything of a request is read.
 *
 * BG1 Without a token only this machine is spoken to, and only under its own names: a page from elsewhere whose name was
 *     made to lead here is refused.
 * BG2 What another site's page sends is refused, whether it reads or acts, and so is an act that a form could send.
 * BG3 A token is compared in constant time, and a browser keeps only what is derived from it.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type Answer, refused } from "./answers.ts";

export interface Guard {
  /** Why this request gets nothing from here; undefined where it may be answered. Assets hold nothing of a mesh. */
  refusalOf(request: GuardedRequest): Answer | undefined;
  /** The header that lets a browser in that has shown the token; undefined for a wrong one. */
  admit(token: string): string | undefined;
  readonly guarded: boolean;
}

export interface GuardedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** Whether something of the mesh is asked for. */
  readonly isApi: boolean;
  /** Whether it is the one request by which a browser shows the token. */
  readonly isAdmission: boolean;
}

/** Names of this machine, as a browser on it says them. */
const ownNames: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Whether an address is this machine's alone. */
export const isLoopback = (host: string): boolean =>
  ["::1", "localhost"].includes(host) || /^127(\.\d{1,3}){3}$/.test(host);

const cookieName = "sagamesh_console";
/** The page sends it with every act; no form can. */
export const actHeader = "x-sagamesh-console";

export function createGuard(token: string | undefined): Guard {
  const session = token === undefined ? undefined : derived(token);
  const isKnown = (headers: IncomingHttpHeaders): boolean => {
    if (token === undefined || session === undefined) return true;
    const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
    return isSame(bearer ?? "", token) || isSame(cookieOf(headers.cookie), session);
  };
  return {
    guarded: token !== undefined,
    refusalOf: ({ method, headers, isApi, isAdmission }) => {
      if (token === undefined && !isOwn(headers.host))
        return refused(421, "USAGE", "this console answers under its own address alone", "Open 127.0.0.1.");
      if (!isApi) return undefined;
      if (isForeign(headers) || (method !== "GET" && headers[actHeader] === undefined))
        return refused(403, "USAGE", "another site's page asks for this", "Open the console itself.");
      if (isAdmission || isKnown(headers)) return undefined;
      return refused(401, "USAGE", "this console asks for its token", "Type the token it was started with.");
    },
    admit: (shown) =>
      token !== undefined && session !== undefined && isSame(shown, token)
        ? `${cookieName}=${session}; HttpOnly; SameSite=Strict; Path=/`
        : undefined,
  };
}

/** BG1. */
const isOwn = (host = ""): boolean => ownNames.has(host.replace(/:\d+$/, ""));

/** BG2. A browser says both of these by itself, and no page can change them. */
function isForeign(headers: IncomingHttpHeaders): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  const { origin, host } = headers;
  return origin !== undefined && origin.replace(/^https?:\/\//, "") !== host;
}

const derived = (token: string): string =>
  createHmac("sha256", token).update("a session of the console").digest("base64url");

const cookieOf = (text = ""): string => new RegExp(`(?:^|;\\s*)${cookieName}=([^;]+)`).exec(text)?.[1] ?? "";

/** BG3. Digests are of one length, whatever was sent. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHmac("sha256", cookieName).update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
