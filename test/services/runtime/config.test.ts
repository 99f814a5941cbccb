/**
 * Config and log of a process: what is read from where, and what is never shown.
 */
import { describe, expect, test } from "vitest";
import {
  describeConfig,
  readConfig,
  withReplicas,
  withGatewayUrl,
} from "../../../services/runtime/config.ts";
import { createLogger } from "../../../services/runtime/logger.ts";

describe("readConfig", () => {
  test("a flag counts before the environment, the environment before the default", () => {
    const env = { NATS_URL: "nats://env:4222", SAGAMESH_DATA: "/env" };
    expect(readConfig({ server: "nats://flag:4222", data: "/flag" }, env)).toMatchObject({
      servers: "nats://flag:4222",
      serverDir: "/flag/server",
    });
    expect(readConfig({}, env)).toMatchObject({ servers: "nats://env:4222", serverDir: "/env/server" });
    expect(readConfig({}, { HOME: "/home/ana" })).toMatchObject({
      servers: undefined,
      callbackBase: "sagamesh:",
    });
  });

  test("what a signal says is no data folder, and is told where it belongs", () => {
    expect(() => readConfig({ data: '{"text":"x"}' }, {})).toThrow(/--data: .*got JSON.*third word/);
    expect(readConfig({ data: "./[a]" }, {}).dataDir).toBe("./[a]");
  });

  test("hosts decide twice where the environment says so, and nothing else is taken for yes or no", () => {
    const twice = (SAGAMESH_FOLDS_TWICE: string) => readConfig({}, { SAGAMESH_FOLDS_TWICE }).foldsTwice;
    expect([twice("1"), twice("0"), twice("")]).toEqual([true, false, false]);
    expect(() => twice("yes")).toThrow(/SAGAMESH_FOLDS_TWICE: expected 1 or 0, got "yes"/);
  });

  test("of OpenTelemetry's variables only the names are shown: a header may be a password", () => {
    const config = readConfig({}, { OTEL_EXPORTER_OTLP_HEADERS: "authorization=planted" });
    expect(config.otel).toEqual({ OTEL_EXPORTER_OTLP_HEADERS: "authorization=planted" });
    expect(JSON.stringify(describeConfig(config))).not.toContain("planted");
  });

  test("a database of the tables is shown without what opens it, in errors, too", () => {
    const url = "postgres://ann:planted@db.example/tables?password=planted";
    const config = readConfig({}, { SAGAMESH_INDEX_URL: url });
    expect(config.indexUrl).toBe(url);
    expect(describeConfig(config)["indexUrl"]).toBe("postgres://***@db.example/tables");
    const wrong = () => readConfig({}, { SAGAMESH_INDEX_URL: "mysql://ann:planted@db.example/tables" });
    expect(wrong).toThrow(/SAGAMESH_INDEX_URL: expected a URL such as postgres:.*got "mysql:\/\/\*\*\*@db/);
    expect(wrong).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining("planted") as unknown }),
    );
  });

  test("an empty variable is as good as none", () => {
    const config = readConfig(
      {},
      { NATS_URL: "", LOG_LEVEL: "", ANTHROPIC_API_KEY: "", SAGAMESH_CALLBACK_URL: "" },
    );
    expect(config).toMatchObject({ servers: undefined, logLevel: undefined, anthropicApiKey: undefined });
  });

  test("a callback URL ends where the token begins", () => {
    const base = (url: string) => readConfig({}, { SAGAMESH_CALLBACK_URL: url }).callbackBase;
    expect(base("https://example.org/cb")).toBe("https://example.org/cb/");
    expect(base("https://example.org/cb/")).toBe("https://example.org/cb/");
  });

  test("a gateway's secrets are read in their order, and never shown", () => {
    const [fresh, old] = ["f".repeat(32), "o".repeat(44)];
    const config = readConfig(
      {},
      { SAGAMESH_GATEWAY_SECRET: `${fresh}, ${old}`, SAGAMESH_GATEWAY_URL: "https://a.org/b" },
    );
    expect(config.gateway).toMatchObject({ url: "https://a.org/b", secrets: [fresh, old] });
    expect(JSON.stringify(describeConfig(config))).not.toMatch(/ffff|oooo/);
    for (const wrong of ["f".repeat(31), `${fresh},`, `${fresh},short`])
      expect(() => readConfig({}, { SAGAMESH_GATEWAY_SECRET: wrong })).toThrow("SAGAMESH_GATEWAY_SECRET");
    for (const wrong of ["example.org", "ftp://a", "https://a/?q=1", "https://a b"])
      expect(() => readConfig({}, { SAGAMESH_GATEWAY_URL: wrong })).toThrow("SAGAMESH_GATEWAY_URL");
    expect(withGatewayUrl(config, "http://c").gateway.url).toBe("http://c");
  });

  test("several servers and bare host names are addresses", () => {
    for (const server of ["a:4222,b:4222", "localhost", "tls://ana:pw@host:4222", "nats://[::1]:4222"])
      expect(readConfig({ server }, {}).servers).toBe(server);
  });

  test("copies are 1, 3 or 5, by the flag before the environment", () => {
    const config = readConfig({}, { SAGAMESH_REPLICAS: "3" });
    expect(config.replicas).toBe(3);
    expect(withReplicas(config, undefined).replicas).toBe(3);
    expect(withReplicas(config, "1").replicas).toBe(1);
    expect(readConfig({}, {}).replicas).toBeUndefined();
    for (const wrong of ["2", "0", "three", "33"]) {
      expect(() => readConfig({}, { SAGAMESH_REPLICAS: wrong })).toThrow(
        /SAGAMESH_REPLICAS: expected 1, 3 or 5/,
      );
      expect(() => withReplicas(config, wrong)).toThrow(/--replicas: expected 1, 3 or 5/);
    }
  });

  test("a weight is said in tenths from 0.1 to 100, and is 1 unless it is said", () => {
    const weight = (SAGAMESH_WEIGHT: string) => readConfig({}, { SAGAMESH_WEIGHT }).weight;
    expect([weight(""), weight("2"), weight("0.1"), weight("0.3"), weight("100"), weight("7.5")]).toEqual([
      1, 2, 0.1, 0.3, 100, 7.5,
    ]);
    for (const wrong of ["0", "-1", "0.05", "100.1", "1000", "2x", "1e1", "."])
      expect(() => weight(wrong), wrong).toThrow(/SAGAMESH_WEIGHT: expected 0.1 to 100/);
  });

  test("all faults are told in one error", () => {
    const env = { NATS_URL: "http://x", LOG_LEVEL: "loud", SAGAMESH_CALLBACK_URL: "x" };
    expect(() => readConfig({}, env)).toThrow(/NATS_URL.*SAGAMESH_CALLBACK_URL.*LOG_LEVEL/);
  });

  test("what is shown of it holds neither the key nor a password", () => {
    const config = readConfig({ server: "nats://ana:hunter2@host:4222" }, { ANTHROPIC_API_KEY: "sk-secret" });
    const shown = JSON.stringify(describeConfig(config));
    expect(shown).not.toContain("hunter2");
    expect(shown).not.toContain("sk-secret");
    expect(shown).toContain("host:4222");
  });
});

describe("createLogger", () => {
  const logged = (fields: object): string => {
    let written = "";
    createLogger({ level: "info" }, { write: (line) => void (written += line) }).info(
      fields,
      "something happened",
    );
    return written;
  };

  test("secrets and payloads are redacted wherever they stand, ids are not", () => {
    const line = logged({
      sagaId: "s-1",
      apiKey: "sk-secret",
      request: { authorization: "Bearer x", input: { card: 4711 } },
    });
    expect(JSON.parse(line)).toMatchObject({
      level: "info",
      sagaId: "s-1",
      msg: "something happened",
      apiKey: "[redacted]",
    });
    for (const hidden of ["sk-secret", "Bearer", "4711"]) expect(line).not.toContain(hidden);
  });

  test("a key that is not set is not shown as one that is hidden", () => {
    const config = readConfig({}, {});
    const line = logged({ config: describeConfig(config), token: undefined, request: { secret: undefined } });
    expect(line).not.toContain("[redacted]");
    const keyed = logged({ config: describeConfig(readConfig({}, { ANTHROPIC_API_KEY: "sk-1" })) });
    expect(keyed).toContain('"anthropicApiKey":"[redacted]"');
  });

  test("an error is logged with its code and its cause", () => {
    const line = logged({ err: new Error("outer", { cause: new Error("inner") }) });
    expect(line).toContain("outer");
    expect(line).toContain("inner");
  });
});
