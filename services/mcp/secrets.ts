/**
 * Secrets: read from the environment when a connection is opened, and kept out of everything that comes back.
 *
 * MX1 A value is replaced wherever it stands in text of the server's: plain, as JSON, as a URL or a base64 writes it.
 *     That catches what is repeated by mistake or on request, not a server that means to smuggle its own secret out.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { ServerConfig } from "./server.ts";

/** Shorter ones stand in ordinary text, too, and could not be told from it. */
const secretCharactersMin = 6;
const lineCharactersMin = 16;
const encodedCharactersMin = 8;
const mask = "[secret]";

export interface Secrets {
  /** For the process of a server: its variables. */
  readonly variables: Readonly<Record<string, string>>;
  /** A text with the values in the place of their names: `$NAME`. */
  fill(text: string): string;
  redact(text: string): string;
  redactJson(value: Json): Json;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads what the server is to be given. Throws TOOL_UNAVAILABLE with every variable that is missing or too short. */
export function readSecrets(name: string, server: ServerConfig, env: Environment = process.env): Secrets {
  const own = "command" in server ? ownVariables(server.env) : {};
  const named =
    "url" in server ? [server.url, ...Object.values(server.headersFrom ?? {})].flatMap(namesIn) : [];
  const names = [...new Set([...Object.values(own), ...named])];
  const faults = names.flatMap((variable) => faultOf(variable, env[variable]));
  if (faults.length > 0)
    throw new MeshError("TOOL_UNAVAILABLE", `the MCP server ${name} cannot be used: ${faults.join("; ")}`, {
      remedy: "Set the variables in the environment of the worker that serves its tools, and start it again.",
    });
  const valueOf = (variable: string): string => env[variable] ?? "";
  const redact = redactor(names.map(valueOf));
  return {
    variables: Object.fromEntries(Object.entries(own).map(([its, ours]) => [its, valueOf(ours)])),
    fill: (text) => text.replaceAll(placeholder, (_, variable: string) => valueOf(variable)),
    redact,
    redactJson: (value) => redactJson(value, redact),
  };
}

const placeholder = /\$([A-Za-z_][A-Za-z0-9_]*)/g;
const namesIn = (text: string): string[] => [...text.matchAll(placeholder)].map(([, name = ""]) => name);

const ownVariables = (
  env: readonly string[] | Readonly<Record<string, string>> = [],
): Record<string, string> =>
  Array.isArray(env)
    ? Object.fromEntries(env.map((variable: string) => [variable, variable]))
    : { ...(env as Readonly<Record<string, string>>) };

function faultOf(variable: string, value: string | undefined): string[] {
  if (value === undefined || value === "") return [`the environment has no ${variable}`];
  if (value.length >= secretCharactersMin) return [];
  return [
    `${variable} is shorter than ${secretCharactersMin} characters, so it could not be kept out of the ledger`,
  ];
}

/** MX1 */
function redactor(values: readonly string[]): (text: string) => string {
  const forms = [...new Set(values.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const pattern = new RegExp(forms.map(literal).join("|"), "g");
  return (text) => text.replaceAll(pattern, mask);
}

/** Node 22 has no RegExp.escape. */
function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

function formsOf(value: string): string[] {
  const lines = value.split(/\r?\n/).filter((line) => line.length >= lineCharactersMin);
  return [value, ...lines].flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    ...[0, 1, 2].flatMap((offset) => base64Core(text, offset)).flatMap((core) => [core, urlSafe(core)]),
    Buffer.from(text).toString("hex"),
  ]);
}

/** What base64 makes of a text that begins `offset` bytes into a group of three, without what its neighbours decide. */
function base64Core(text: string, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
  const whole = bytes.toString("base64").replace(/=+$/, "");
  const core = whole.slice(offset === 0 ? 0 : offset + 1, bytes.length % 3 === 0 ? undefined : -1);
  return core.length >= encodedCharactersMin ? [core] : [];
}

const urlSafe = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_");

function redactJson(value: Json, redact: (text: string) => string): Json {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactJson(item, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redact(key), redactJson(member, redact)]),
  );
}
