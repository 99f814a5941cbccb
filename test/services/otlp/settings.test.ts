/**
 * Goal: where spans go is what OpenTelemetry's specification says of its variables, and no fault of them shows a secret.
 * Method: the rows of the specification, each alone and together.
 */
import { describe, expect, test } from "vitest";
import { MeshError } from "../../../protocol/errors.ts";
import { endpointOf, type OtelVariables, resourceOf } from "../../../services/otlp/settings.ts";

function refusalOf(env: OtelVariables): MeshError {
  try {
    endpointOf(env);
  } catch (error) {
    if (error instanceof MeshError) return error;
  }
  throw new Error("it is to be refused");
}

const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318" };

describe("the endpoint of spans", () => {
  test.each([
    ["the base has the signal's path behind it", base, "http://localhost:4318/v1/traces"],
    [
      "a base may have a path",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "https://x.y/otel/" },
      "https://x.y/otel/v1/traces",
    ],
    [
      "its own stands over the base, as it is",
      { ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://other:1/in" },
      "http://other:1/in",
    ],
    [
      "that of metrics is none of spans",
      { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://other:1/in" },
      undefined,
    ],
    ["nothing said is nowhere", {}, undefined],
    ["an empty one is as if not set", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }, undefined],
    ["a disabled SDK sends nothing", { ...base, OTEL_SDK_DISABLED: "true" }, undefined],
    ["nor does an exporter that is none", { ...base, OTEL_TRACES_EXPORTER: "none" }, undefined],
  ])("%s", (_, env, url) => {
    expect(endpointOf(env)?.url).toBe(url);
  });

  test("a URL that is given stands over all variables, and may have the path", () => {
    for (const given of ["http://here:1", "http://here:1/", "http://here:1/v1/traces"])
      expect(endpointOf({ ...base, OTEL_SDK_DISABLED: "true" }, given)?.url).toBe("http://here:1/v1/traces");
  });

  test("has the headers of both kinds, decoded, those of its own signal over the others", () => {
    const env = {
      ...base,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20cGs6c2s=, x-tenant=a",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-tenant=b",
    };
    expect(endpointOf(env)?.headers).toEqual({ authorization: "Basic cGs6c2s=", "x-tenant": "b" });
  });

  test("has a time for a request and a compression, its own over the others", () => {
    expect(endpointOf(base)).toMatchObject({ timeoutMs: 10_000, gzip: false });
    const env = {
      ...base,
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "700",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    };
    expect(endpointOf(env)).toMatchObject({ timeoutMs: 700, gzip: true });
  });

  test("is refused where it is no URL, over gRPC, and where a header cannot be read, without the header's value", () => {
    for (const env of [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" },
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
});

describe("the resource", () => {
  test("is sagamesh unless it is named, by its own variable first", () => {
    expect(resourceOf({})).toEqual({ "service.name": "sagamesh" });
    const env = { OTEL_RESOURCE_ATTRIBUTES: "service.name=desk,deployment.environment.name=pre%20prod" };
    expect(resourceOf(env)).toEqual({ "service.name": "desk", "deployment.environment.name": "pre prod" });
    expect(resourceOf({ ...env, OTEL_SERVICE_NAME: "shop" })["service.name"]).toBe("shop");
  });
});
