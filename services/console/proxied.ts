/**
 * Proxied: whom a proxy in front has signed in, by the headers that it sends.
 *
 * GH1 A header is believed only beside the secret that the proxy and this console share. That a request comes from this machine
 *     proves nothing: so does whatever else runs here, and in a container whatever shares its network.
 * GH2 One name, or none: a header that came twice, because a caller's own was handed on, names nobody.
 */
import type { IncomingHttpHeaders } from "node:http";

/** What a proxy is believed. */
export interface ProxyDoor {
  /** The header that names a person, in lower case. */
  readonly userHeader: string;
  /** The header with their groups, parted by commas, in lower case; undefined where there is none. */
  readonly groupsHeader: string | undefined;
  /** What it sends as `proxySecretHeader`. */
  readonly secret: string;
  readonly acting: Acting;
}

/** Who may act of those whom it names; the others may look. */
export interface Acting {
  readonly everybody: boolean;
  readonly names: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

/** By which the proxy shows that it is the one. */
export const proxySecretHeader = "x-sagamesh-proxy-secret";

/** As names are recorded with what people do; a comma would stand between two of them. */
const nameForm = /^[\x21-\x2b\x2d-\x7e](?:[\x20-\x2b\x2d-\x7e]{0,198}[\x21-\x2b\x2d-\x7e])?$/;

interface Named {
  readonly name: string;
  readonly groups: readonly string[];
  readonly mayAct: boolean;
}

/** The person that a proxy names; undefined where it is not the proxy that asks, or it names nobody. */
export function namedBy(
  { userHeader, groupsHeader, secret, acting }: ProxyDoor,
  headers: IncomingHttpHeaders,
  isSame: (one: string, other: string) => boolean,
): Named | undefined {
  if (!isSame(textOf(headers, proxySecretHeader), secret)) return undefined; // GH1
  const name = textOf(headers, userHeader);
  if (!nameForm.test(name)) return undefined; // GH2
  const said = groupsHeader === undefined ? "" : textOf(headers, groupsHeader);
  const groups = said
    .split(",")
    .map((one) => one.trim())
    .filter((one) => nameForm.test(one));
  const mayAct = acting.everybody || acting.names.has(name) || groups.some((one) => acting.groups.has(one));
  return { name, groups, mayAct };
}

function textOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return (typeof value === "string" ? value : (value?.join(",") ?? "")).trim();
}
