/**
 * Goal: the adapter works with a whole gateway that somebody else wrote and many people run, whose answers another
 * program gave. Method: the LiteLLM proxy as a process, its providers played by aimock in two dialects (OpenAI's and
 * Anthropic's, which the gateway translates), and calls, reasoning, usage and errors through both.
 *
 * It needs the proxy: `pip install 'litellm[proxy]'`, and SAGAMESH_LITELLM with the command's path. Without it these
 * tests are skipped.
 */
import { LLMock } from "@copilotkit/aimock";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ModelReply, type ModelMessage, type ModelRequest } from "../../../protocol/model.ts";
import { openaiModel, type OpenAIModelOptions } from "../../../services/models/openai.ts";
import { freePort } from "../../support/free-port.ts";

const command = process.env["SAGAMESH_LITELLM"];
const at = Date.UTC(2026, 0, 1);
const secret = "sk-master-secret";

const requestOf = (messages: readonly ModelMessage[]): ModelRequest => ({
  saga: "trip-1",
  step: 1,
  now: at,
  model: "m",
  instructions: "Help.",
  signals: [],
  messages,
  tools: [
    {
      name: "weather",
      description: "Weather.",
      schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  ],
});
const ask: ModelMessage = { role: "user", at, parts: [{ type: "text", text: "Rome or Oslo?" }] };
const cities = ["Rome", "Oslo"];

describe.skipIf(command === undefined)(
  "through a gateway (skipped unless SAGAMESH_LITELLM names one)",
  () => {
    const mock = new LLMock({ port: 0, logLevel: "silent" });
    let gateway: ChildProcess;
    let folder: string;
    let baseURL: string;

    beforeAll(async () => {
      const toolCalls = cities.map((city) => ({ name: "weather", arguments: JSON.stringify({ city }) }));
      mock.addFixture({
        match: { model: /busy/ },
        response: { error: { message: "slow down", type: "rate_limit_error" }, status: 429 },
      });
      mock.addFixture({
        match: { predicate: ({ messages }) => messages.some(({ role }) => role === "tool") },
        response: { content: "Rome is warmer.", usage: { input_tokens: 50, output_tokens: 5 } },
      });
      mock.addFixture({
        match: { model: /claude/ },
        response: { content: "I look.", toolCalls, reasoning: "Two cities.", reasoningSignature: "sig-1" },
      });
      mock.addFixture({
        match: {},
        chunkSize: 5,
        response: { toolCalls, usage: { input_tokens: 12, output_tokens: 7 } },
      });
      await mock.start();
      const port = await freePort();
      baseURL = `http://127.0.0.1:${port}/v1`;
      folder = await mkdtemp(join(tmpdir(), "sagamesh-gateway-"));
      await writeFile(join(folder, "config.yaml"), JSON.stringify(configuration(mock.url)));
      gateway = spawn(
        command ?? "",
        ["--config", join(folder, "config.yaml"), "--host", "127.0.0.1", "--port", String(port)],
        {
          env: { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: "True", LITELLM_TELEMETRY: "False" },
          stdio: "ignore",
        },
      );
      const isUp = () =>
        fetch(`http://127.0.0.1:${port}/health/liveliness`).then(({ ok }) => expect(ok).toBe(true));
      await vi.waitFor(isUp, { timeout: 90_000, interval: 500 });
    }, 100_000);
    afterAll(async () => {
      const gone = new Promise((resolve) => gateway.once("exit", resolve));
      gateway.kill();
      await gone;
      await mock.stop();
      await rm(folder, { recursive: true });
    });

    const decide = async (
      model: string,
      messages: readonly ModelMessage[],
      options: Partial<OpenAIModelOptions> = {},
    ) =>
      ModelReply.parse(
        await openaiModel({ model, apiKey: secret, baseURL, ...options }).decide(requestOf(messages), {
          abort: new AbortController().signal,
          live: () => undefined,
          spent: () => undefined,
        }),
      );

    test.each([
      ["streamed", true],
      ["streamed", false],
      ["translated", true],
      ["translated", false],
    ])(
      "model %s, stream %s: two calls in parallel, and their results bring the next answer",
      async (model, stream) => {
        const first = await decide(model, [ask], { stream });
        expect(first).toMatchObject({
          stop: "calls",
          calls: cities.map((city) => ({ tool: "weather", input: { city } })),
        });
        const calls = first.calls.map(({ tool, input }, k) => ({ id: `1.${k}`, tool, input }));
        const turn: ModelMessage = { role: "assistant", ...first, calls };
        const results: ModelMessage = {
          role: "user",
          at,
          parts: calls.map(({ id }) => ({
            type: "result",
            call: id,
            tool: "weather",
            outcome: "succeeded",
            output: { degrees: 9 },
          })),
        };
        expect(await decide(model, [ask, turn, results], { stream })).toMatchObject({
          text: "Rome is warmer.",
          stop: "end",
          usage: { inputTokens: 50, outputTokens: 5 },
        });
      },
    );

    test("reasoning that another provider signed comes through the gateway as one item with its signature", async () => {
      const { blocks } = await decide("translated", [ask]);
      expect(blocks).toMatchObject([
        { message: { thinking_blocks: [{ type: "thinking", thinking: "Two cities.", signature: "sig-1" }] } },
      ]);
    });

    test.each([
      ["busy", "wait", secret],
      ["unheard", "retry", secret],
      ["unknown", "fail", secret],
      ["streamed", "fail", "sk-wrong-secret"],
    ])("an error of model %s means: %s", async (model, kind, apiKey) => {
      const failure = await decide(model, [ask], { apiKey }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: "ModelFailure", kind });
      expect((failure as Error).message).not.toContain(apiKey);
    });

    test("a conversation that is too long for the model is an outcome, by the gateway's words", async () => {
      expect(await decide("full", [ask])).toMatchObject({ stop: "context_full" });
    });
  },
);

/** YAML takes JSON. Nothing is tried again by the gateway: attempts are the ledger's. */
const configuration = (upstream: string) => {
  const model = (name: string, params: object) => ({
    model_name: name,
    litellm_params: { api_key: "sk-none", max_retries: 0, ...params },
  });
  return {
    model_list: [
      model("streamed", { model: "openai/gpt-4o", api_base: `${upstream}/v1` }),
      model("translated", { model: "anthropic/claude-sonnet-4-5", api_base: upstream, max_tokens: 2_048 }),
      model("busy", { model: "openai/gpt-busy", api_base: `${upstream}/v1` }),
      model("unheard", { model: "openai/gpt-4o", api_base: "http://127.0.0.1:1/v1" }),
      model("full", { model: "openai/gpt-4o", mock_response: "litellm.ContextWindowExceededError" }),
    ],
    general_settings: { master_key: secret },
    litellm_settings: { num_retries: 0 },
    router_settings: { num_retries: 0, disable_cooldowns: true },
  };
};
