/**
 * Guard: who may look and who may act, before anything of a request is read.
 *
 * BG1 Without a token or a proxy only this machine is spoken to, and only under its own names: a page from elsewhere whose name was
 *     made to lead here is refused.
 * BG2 What another site's page sends is refused, whether it reads or acts, and so is an act that a form could send.
 * BG3 A token is compared in constant time, and a browser keeps only what is derived from it.
 * BG4 Who may look and not act is refused every request that is no reading, whatever its path is.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type Answer, refused } from "./answers.ts";
import { namedBy, type ProxyDoor } from "./proxied.ts";

/** The ways in. Where there is none, whoever reaches this machine's own address may act. */
export interface Doors {
  /** Whoever shows it may look and act. */
  readonly actToken?: string | undefined;
  /** Whoever shows it may look. */
  readonly lookToken?: string | undefined;
  readonly proxy?: ProxyDoor | undefined;
}

/** Who asks. */
export interface Who {
  /** By which way they came: from this machine, with a token, or through the proxy. */
  readonly by: "machine" | "token" | "proxy";
  readonly mayAct: boolean;
  /** Whom the proxy names, and their groups; nobody else is known by a name that is more than a claim. */
  readonly name?: string;
  readonly groups?: readonly string[];
}

export interface Guard {
  /** Who asks, or why this request gets nothing from here. Assets hold nothing of a mesh: whoever asks gets them. */
  judge(request: GuardedRequest): Who | { readonly refusal: Answer };
  /** The header that lets a browser in that has shown a token; undefined for a wrong one. */
  admit(token: string): string | undefined;
}

export interface GuardedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** Whether something of the mesh is asked for. */
  readonly isApi: boolean;
  /** Whether it is the one request by which a browser shows a token. */
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

const onThisMachine: Who = { by: "machine", mayAct: true };
/** Whoever asks for an asset, or shows a token. */
const anyone: Who = { by: "token", mayAct: false };

export function createGuard({ actToken, lookToken, proxy }: Doors): Guard {
  const tokens = [keyOf(actToken, true), keyOf(lookToken, false)].filter((one) => one !== undefined);
  const isOpen = tokens.length === 0 && proxy === undefined;

  const whoOf = (headers: IncomingHttpHeaders): Who | undefined => {
    if (isOpen) return onThisMachine;
    // A proxy may hand on a token of its own: its word counts first.
    const named = proxy === undefined ? undefined : namedBy(proxy, headers, isSame);
    if (named !== undefined) return { by: "proxy", ...named };
    const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
    const cookie = cookieOf(headers.cookie);
    const shown = tokens.find(({ token, session }) => isSame(bearer, token) || isSame(cookie, session));
    return shown === undefined ? undefined : { by: "token", mayAct: shown.mayAct };
  };
  return {
    judge: ({ method, headers, isApi, isAdmission }) => {
      if (isOpen && !isOwn(headers.host))
        return no(421, "USAGE", "this console answers under its own address alone", "Open 127.0.0.1.");
      if (!isApi) return anyone;
      const isReading = method === "GET";
      if (isForeign(headers) || (!isReading && headers[actHeader] === undefined))
        return no(403, "USAGE", "another site's page asks for this", "Open the console itself.");
      if (isAdmission) return anyone;
      const who = whoOf(headers);
      if (who === undefined) return tokens.length > 0 ? tokenMissing : proxyMissing;
      return isReading || who.mayAct ? who : mayLookAlone; // BG4
    },
    admit: (shown) => {
      const found = tokens.find(({ token }) => isSame(shown, token));
      return found && `${cookieName}=${found.session}; HttpOnly; SameSite=Strict; Path=/`;
    },
  };
}

const no = (...words: Parameters<typeof refused>) => ({ refusal: refused(...words) });
const tokenMissing = no(
  401,
  "USAGE",
  "this console asks for its token",
  "Type the token it was started with.",
);
const proxyMissing = no(
  401,
  "USAGE",
  "this console answers those whom its proxy names",
  "Open it by the proxy's address; where that is this one, the proxy sends no name or not its secret.",
);
const mayLookAlone = no(
  403,
  "ACT_REFUSED",
  "you may look here, and not act",
  "Show the token that acts, or have the console started with your name or group in --acting.",
);

/** A token, what a browser keeps for it, and what it opens. */
const keyOf = (token: string | undefined, mayAct: boolean) =>
  token === undefined ? undefined : { token, session: derived(token), mayAct };

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
