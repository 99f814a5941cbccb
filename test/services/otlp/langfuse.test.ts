/**
 * Goal: who follows the page's lines for Langfuse sends what Langfuse's documentation asks for: to its address for spans, with its two
 * keys as basic authentication, and nothing but spans; and the spans have what it reads.
 * Method: the lines are taken from the page and run by a shell, as a person does; the keys are long and of all kinds of characters.
 * Langfuse itself is not here: what it makes of the spans is not shown.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sendOtlp } from "../../../services/otlp/send.ts";
import { endpointOf, type OtelVariables } from "../../../services/otlp/settings.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import { startOtlpReceiver } from "../../support/otlp-receiver.ts";

const page = readFileSync(new URL("../../../services/otlp/README.md", import.meta.url), "utf8");
const lines = [...page.matchAll(/^ {4}(export OTEL_\S+=.+)$/gm)].map(([, line]) => line!);
const keys = { PUBLIC_KEY: `pk-lf-${"~?>ÿ".repeat(20)}`, SECRET_KEY: `sk-lf-${"??>>".repeat(40)}` };

/** The variables that these lines set. */
function exported(): OtelVariables {
  const print = "node -p 'JSON.stringify(process.env)'".replace("node", process.execPath);
  const { stdout, status } = spawnSync("sh", ["-c", [...lines, print].join("\n")], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "", ...keys },
  });
  expect(status).toBe(0);
  const all = JSON.parse(stdout) as Record<string, string>;
  return Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith("OTEL_")));
}

test("the page's lines lead to Langfuse's address for spans, and to none for metrics", () => {
  const env = exported();
  expect(endpointOf(env, "traces")?.url).toBe("https://cloud.langfuse.com/api/public/otel/v1/traces");
  expect(endpointOf(env, "metrics")).toBeUndefined();
});

test("a request has the two keys as Langfuse's basic authentication, and the version of its ingestion", async () => {
  await using receiver = await startOtlpReceiver();
  const endpoint = endpointOf(exported(), "traces");
  if (endpoint === undefined) throw new Error("the lines name one");
  const { signal } = new AbortController();
  const deps = { clock: systemClock, chance: systemChance, signal, patienceMs: 0 };
  await sendOtlp(deps, { ...endpoint, url: `${receiver.url}/v1/traces` }, { resourceSpans: [] });
  const { authorization = "", ...headers } = receiver.requests[0]?.headers ?? {};
  const [scheme, said = ""] = authorization.split(" ");
  expect(scheme).toBe("Basic");
  expect(Buffer.from(said, "base64").toString()).toBe(`${keys.PUBLIC_KEY}:${keys.SECRET_KEY}`);
  expect(headers).toMatchObject({
    "x-langfuse-ingestion-version": "4",
    "content-type": "application/json",
  });
});
