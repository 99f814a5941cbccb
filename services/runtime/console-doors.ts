/**
 * Console doors: who may look and who may act, as a command's flags and the environment say.
 */
import { readFile } from "node:fs/promises";
import { MeshError } from "../../protocol/errors.ts";
import { type Doors, isLoopback } from "../console/guard.ts";
import { type Acting, type ProxyDoor, proxySecretHeader } from "../console/proxied.ts";
import type { Config } from "./config.ts";

/** As they were given; a file goes before its variable. */
export interface DoorFlags {
  readonly tokenFile: string | undefined;
  readonly lookTokenFile: string | undefined;
  readonly proxyHeader: string | undefined;
  readonly proxyGroupsHeader: string | undefined;
  readonly proxySecretFile: string | undefined;
  readonly acting: string | undefined;
}

/** Shorter ones can be guessed. */
const secretCharsMin = 16;

/**
 * Reads them. Throws USAGE for a secret that can be guessed, a file that cannot be read, two tokens that are one, and for what says
 * half of what a proxy may do.
 */
export async function consoleDoors(
  flags: DoorFlags,
  { token, lookToken, proxySecret }: Config["console"],
): Promise<Doors> {
  const acts = { flag: "--token-file", variable: "SAGAMESH_CONSOLE_TOKEN" };
  const looks = { flag: "--look-token-file", variable: "SAGAMESH_CONSOLE_LOOK_TOKEN" };
  const proxies = { flag: "--proxy-secret-file", variable: "SAGAMESH_CONSOLE_PROXY_SECRET" };
  const actToken = await secretIn(acts, flags.tokenFile, token);
  const looking = await secretIn(looks, flags.lookTokenFile, lookToken);
  if (actToken !== undefined && actToken === looking)
    throw usage("the token that acts and the one that looks are one", "Make another one for who only looks.");
  const proxy = proxyIn(flags, await secretIn(proxies, flags.proxySecretFile, proxySecret));
  return { actToken, lookToken: looking, ...(proxy === undefined ? {} : { proxy }) };
}

function proxyIn(flags: DoorFlags, secret: string | undefined): ProxyDoor | undefined {
  const { proxyHeader, proxyGroupsHeader, acting } = flags;
  if (proxyHeader === undefined) {
    if (proxyGroupsHeader === undefined && acting === undefined && flags.proxySecretFile === undefined)
      return undefined; // A secret in the environment alone says of no header.
    throw usage(
      "--proxy-groups-header, --proxy-secret-file and --acting are for a proxy",
      "Name the header in which it says who asks: --proxy-header X-Forwarded-User.",
    );
  }
  if (secret === undefined)
    throw usage(
      "--proxy-header needs the secret by which the proxy is known",
      `Set SAGAMESH_CONSOLE_PROXY_SECRET or --proxy-secret-file, and have the proxy send it as ${proxySecretHeader}.`,
    );
  const userHeader = headerIn("--proxy-header", proxyHeader);
  const groupsHeader =
    proxyGroupsHeader === undefined ? undefined : headerIn("--proxy-groups-header", proxyGroupsHeader);
  const may = actingIn(acting);
  if (groupsHeader === undefined && may.groups.size > 0)
    throw usage("--acting names a group, and no header says who is in it", "Name it: --proxy-groups-header.");
  return { userHeader, groupsHeader, secret, acting: may };
}

function headerIn(flag: string, word: string): string {
  const name = word.toLowerCase();
  const isOwn = ["authorization", "cookie", "host", "origin", proxySecretHeader].includes(name);
  if (/^[a-z0-9-]{1,100}$/.test(name) && !isOwn) return name;
  throw usage(`${flag}: "${word}" is no header of a proxy`, "For example X-Forwarded-User.");
}

/** `ann@example.org,group:ops`, or `*`. Nobody unless it says so. */
function actingIn(text = ""): Acting {
  const words = text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
  const groups = words.flatMap((one) => (one.startsWith("group:") ? [one.slice("group:".length)] : []));
  const names = words.filter((one) => one !== "*" && !one.startsWith("group:"));
  return { everybody: words.includes("*"), names: new Set(names), groups: new Set(groups) };
}

/** From the file where one is named, else from the variable. */
async function secretIn(
  { flag, variable }: { readonly flag: string; readonly variable: string },
  file: string | undefined,
  value: string | undefined,
): Promise<string | undefined> {
  const secret = (file === undefined ? value : await readSecret(flag, file))?.trim();
  if (file === undefined && (secret === undefined || secret === "")) return undefined;
  if (secret !== undefined && secret.length >= secretCharsMin) return secret;
  throw usage(
    `${file === undefined ? variable : flag}: a token has ${secretCharsMin} characters or more`,
    "For example that of `openssl rand -base64 24`.",
  );
}

const readSecret = (flag: string, file: string): Promise<string> =>
  readFile(file, "utf8").catch((cause: unknown) => {
    throw usage(`${flag}: the file cannot be read`, "Name a file that this user may read.", cause);
  });

/** Throws USAGE where others could reach it and nothing is asked of them. */
export function assertGuarded(host: string, { actToken, lookToken, proxy }: Doors): void {
  const isGuarded = actToken !== undefined || lookToken !== undefined || proxy !== undefined;
  if (isGuarded || isLoopback(host)) return;
  throw usage(
    `the console would listen on ${host}, and anybody could act through it`,
    "Set SAGAMESH_CONSOLE_TOKEN or --token-file, or --proxy-header behind a proxy that signs people in, or leave --host out: it " +
      "listens on 127.0.0.1 then.",
  );
}

/** Who may look and who may act, in a sentence for who starts it. */
export function doorsText({ actToken, lookToken, proxy }: Doors): string {
  const sentences = [
    ...(actToken === undefined ? [] : ["it asks for its token"]),
    ...(lookToken === undefined ? [] : ["whoever shows the other token may look, and not act"]),
    ...(proxy === undefined
      ? []
      : [`whom the proxy names in ${proxy.userHeader} may look, and ${actsText(proxy.acting)}`]),
  ];
  return sentences.length === 0
    ? "it asks for no password, and only this machine reaches it"
    : sentences.join("; ");
}

function actsText({ everybody, names, groups }: Acting): string {
  if (everybody) return "act";
  const said = [...names, ...[...groups].map((one) => `who is in ${one}`)];
  return said.length === 0 ? "nobody of them acts: --acting names nobody" : `these act: ${said.join(", ")}`;
}

const usage = (what: string, remedy: string, cause?: unknown): MeshError =>
  new MeshError("USAGE", `console: ${what}`, { remedy, ...(cause === undefined ? {} : { cause }) });
