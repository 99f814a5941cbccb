/**
 * Goal: where spans and metrics go is what OpenTelemetry's specification says of its variables, and no fault of them shows a secret.
 * Method: the rows of the specification, each alone and together.
 */
import { describe, expect, test } from "vitest";
import { MeshError } from "../../../protocol/errors.ts";
import {
  endpointOf,
  metricsEveryMs,
  type OtelVariables,
  type OtlpSignal,
  resourceOf,
} from "../../../services/otlp/settings.ts";

function refusalOf(env: OtelVariables): MeshError {
  try {
    endpointOf(env, "traces");
  } catch (error) {
    if (error instanceof MeshError) return error;
  }
  throw new Error("it is to be refused");
}

const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318" };

const signals: readonly OtlpSignal[] = ["traces", "metrics"];
const otherOf = (signal: OtlpSignal): OtlpSignal => (signal === "traces" ? "metrics" : "traces");

describe.each(signals)("the endpoint of %s", (signal) => {
  const own = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}`;
  const other = `OTEL_EXPORTER_OTLP_${otherOf(signal).toUpperCase()}`;
  const exporter = `OTEL_${signal.toUpperCase()}_EXPORTER`;
  const otherExporter = `OTEL_${otherOf(signal).toUpperCase()}_EXPORTER`;
  const ofBase = `http://localhost:4318/v1/${signal}`;

  test.each([
    ["the base has the signal's path behind it", base, ofBase],
    [
      "a base may have a path",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "https://x.y/otel/" },
      `https://x.y/otel/v1/${signal}`,
    ],
    [
      "its own stands over the base, as it is",
      { ...base, [`${own}_ENDPOINT`]: "http://other:1/in" },
      "http://other:1/in",
    ],
    ["that of the other signal is none of it", { [`${other}_ENDPOINT`]: "http://other:1/in" }, undefined],
    ["nothing said is nowhere", {}, undefined],
    ["an empty one is as if not set", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }, undefined],
    ["a disabled SDK sends nothing", { ...base, OTEL_SDK_DISABLED: "true" }, undefined],
    ["nor does an exporter that is none", { ...base, [exporter]: "none" }, undefined],
    ["nor one that is another's", { ...base, [exporter]: "prometheus" }, undefined],
    ["one of several does", { ...base, [exporter]: "prometheus, otlp" }, ofBase],
    ["that of the other signal says nothing of it", { ...base, [otherExporter]: "none" }, ofBase],
  ])("%s", (_, env, url) => {
    expect(endpointOf(env, signal)?.url).toBe(url);
  });

  test("a URL that is given stands over all variables, and may have the path", () => {
    for (const given of ["http://here:1", "http://here:1/", `http://here:1/v1/${signal}`])
      expect(endpointOf({ ...base, OTEL_SDK_DISABLED: "true" }, signal, given)?.url).toBe(
        `http://here:1/v1/${signal}`,
      );
  });

  test("has the headers of both kinds, decoded, those of its own signal over the others", () => {
    const env = {
      ...base,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20cGs6c2s=, x-tenant=a",
      [`${own}_HEADERS`]: "x-tenant=b",
      [`${other}_HEADERS`]: "x-tenant=c",
    };
    expect(endpointOf(env, signal)?.headers).toEqual({ authorization: "Basic cGs6c2s=", "x-tenant": "b" });
  });

  test("has a time for a request and a compression, its own over the others", () => {
    expect(endpointOf(base, signal)).toMatchObject({ timeoutMs: 10_000, gzip: false });
    const env = {
      ...base,
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
      [`${own}_TIMEOUT`]: "700",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    };
    expect(endpointOf(env, signal)).toMatchObject({ timeoutMs: 700, gzip: true });
  });
});

test("an endpoint is refused where it is no URL, over gRPC, and where a header cannot be read, without what may be a secret", () => {
  for (const env of [
    { OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://me:sk-planted@localhost:4318" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318?key=sk-planted" },
    { ...base, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    { ...base, OTEL_EXPORTER_OTLP_HEADERS: "sk-planted" },
    { ...base, OTEL_EXPORTER_OTLP_HEADERS: "a=%zz-sk-planted" },
    { ...base, OTEL_EXPORTER_OTLP_HEADERS: "a b=sk-planted" },
  ]) {
    const error = refusalOf(env);
    expect(error.code).toBe("USAGE");
    expect(`${error.message} ${error.remedy}`).not.toContain("planted");
  }
});

test("metrics go every minute, unless a number of milliseconds says otherwise", () => {
  expect(metricsEveryMs({})).toBe(60_000);
  expect(metricsEveryMs({ OTEL_METRIC_EXPORT_INTERVAL: "5000" })).toBe(5_000);
  for (const none of ["", "0", "-1", "soon"])
    expect(metricsEveryMs({ OTEL_METRIC_EXPORT_INTERVAL: none })).toBe(60_000);
});

describe("the resource", () => {
  test("is sagamesh unless it is named, by its own variable first", () => {
    expect(resourceOf({})).toEqual({ "service.name": "sagamesh" });
    const env = { OTEL_RESOURCE_ATTRIBUTES: "service.name=desk,deployment.environment.name=pre%20prod" };
    expect(resourceOf(env)).toEqual({ "service.name": "desk", "deployment.environment.name": "pre prod" });
    expect(resourceOf({ ...env, OTEL_SERVICE_NAME: "shop" })["service.name"]).toBe("shop");
  });
});
