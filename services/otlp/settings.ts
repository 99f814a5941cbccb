/**
 * Settings: where spans and metrics go, by the variables that OpenTelemetry's specification names.
 *
 * YG1 A header may hold a secret: no message of ours shows one.
 */
import { MeshError } from "../../protocol/errors.ts";

/** What of the environment speaks of this: the variables that begin with `OTEL_`. */
export type OtelVariables = Readonly<Record<string, string | undefined>>;

/** What is sent, as the variables and the receiver's paths call it. */
export type OtlpSignal = "traces" | "metrics";

/** Where one of them goes. */
export interface OtlpEndpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For each request. */
  readonly timeoutMs: number;
  readonly gzip: boolean;
}

/** By the specification. */
const timeoutMsDefault = 10_000;
const everyMsDefault = 60_000;
const serviceDefault = "sagamesh";

/**
 * Where they go: to the URL given, else where the variables say; undefined where nothing says so, or they say that it is to
 * go nowhere. Throws USAGE for what is no URL or header, and for gRPC.
 */
export function endpointOf(env: OtelVariables, signal: OtlpSignal, given?: string): OtlpEndpoint | undefined {
  const url = given === undefined ? urlIn(env, signal) : basedOn(given, "--otlp", signal);
  if (url === undefined) return undefined;
  const own = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_`;
  const of = (what: string) => env[`${own}${what}`] || env[`OTEL_EXPORTER_OTLP_${what}`];
  if (of("PROTOCOL") === "grpc" && given === undefined)
    throw new MeshError(
      "USAGE",
      "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and sagamesh speaks OTLP over HTTP only",
      {
        remedy: "Set it to http/json and the endpoint to the receiver's port for HTTP, which is 4318 mostly.",
      },
    );
  const headers = { ...headersIn(env, "OTEL_EXPORTER_OTLP_HEADERS"), ...headersIn(env, `${own}HEADERS`) };
  const timeoutMs = msIn(of("TIMEOUT"), timeoutMsDefault);
  return { url, headers, gzip: of("COMPRESSION") === "gzip", timeoutMs };
}

/** How often metrics go, milliseconds. */
export const metricsEveryMs = (env: OtelVariables): number =>
  msIn(env["OTEL_METRIC_EXPORT_INTERVAL"], everyMsDefault);

const msIn = (text: string | undefined, otherwise: number): number =>
  Number(text ?? otherwise) > 0 ? Number(text ?? otherwise) : otherwise;

function urlIn(env: OtelVariables, signal: OtlpSignal): string | undefined {
  const isOff = env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true";
  const exporters = env[`OTEL_${signal.toUpperCase()}_EXPORTER`] || "otlp"; // `none`, or several separated by commas.
  if (isOff || !exporters.split(",").some((one) => one.trim() === "otlp")) return undefined;
  const ownName = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`;
  const own = env[ownName];
  if (own) return checked(own, ownName); // As it is, says the specification.
  const base = env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  return base ? basedOn(base, "OTEL_EXPORTER_OTLP_ENDPOINT", signal) : undefined;
}

function basedOn(base: string, from: string, signal: OtlpSignal): string {
  const url = checked(base, from);
  const path = `/v1/${signal}`;
  return url.endsWith(path) ? url : `${url.replace(/\/+$/, "")}${path}`;
}

function checked(text: string, from: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && url.search === "" && url.username === "" && url.password === "";
  if (isPlain && (url.protocol === "http:" || url.protocol === "https:")) return text;
  throw new MeshError("USAGE", `${from}: expected a URL such as http://localhost:4318`, {
    remedy:
      "Name the receiver's address for OTLP over HTTP; a password or key belongs into OTEL_EXPORTER_OTLP_HEADERS.",
  });
}

/** `name=value` pairs separated by commas, percent-encoded. Throws USAGE (YG1). */
function pairsIn(env: OtelVariables, name: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const one of (env[name] ?? "").split(",")) {
    if (one.trim() === "") continue;
    const at = one.indexOf("=");
    const key = one.slice(0, at).trim();
    const value = decoded(one.slice(at + 1).trim());
    if (at < 1 || key === "" || value === undefined)
      throw new MeshError("USAGE", `${name}: expected name=value pairs separated by commas`, {
        remedy: "Percent-encode what is none of A-Z, a-z, 0-9, - . _ in a value, a space as %20.",
      });
    pairs[key] = value;
  }
  return pairs;
}

function headersIn(env: OtelVariables, name: string): Record<string, string> {
  const pairs = pairsIn(env, name);
  try {
    new Headers(pairs);
  } catch {
    throw new MeshError("USAGE", `${name}: a name or a value in it is no HTTP header's`, {
      remedy: "Correct it; what is a header's name and value says RFC 9110.",
    });
  }
  return pairs;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** What they are said to be of. The name of the service stands over the one among the attributes. */
export function resourceOf(env: OtelVariables): Record<string, string> {
  const { "service.name": named, ...attributes } = pairsIn(env, "OTEL_RESOURCE_ATTRIBUTES");
  return { "service.name": env["OTEL_SERVICE_NAME"] || named || serviceDefault, ...attributes };
}
