/**
 * A strict server of the Messages API, version 2026-10-21, for tests: it answers from a script and refuses
 * what the real one refuses.
 *
 * Enforced: version and key; known parameters only and `max_tokens`; no sampling; tool names and schemas;
 * blank text; every `tool_use` answered once in the next user message, before any text; thinking sent back
 * unchanged, to the model that wrote it, behind the same prefix.
 * Left out: what a model would say; token counts (they are the script's); images, documents, server tools;
 * that the real API drops another model's thinking in silence (here it is refused, since the adapter must
 * not rely on that); limits of size and rate.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  combine,
  findFault,
  isThinking,
  list,
  prefixOf,
  type Block,
  type Issued,
  type Json,
  type ScriptedError,
} from "./strict-messages-faults.ts";

/** A message to answer with. Thinking needs no signature and calls need no id: the server gives them. */
export interface ScriptedMessage {
  readonly content: readonly Block[];
  readonly stop: string | null;
  readonly stopDetails?: Json;
  readonly usage?: Json;
  /** How a stream ends that does not end well, after so many events. */
  readonly broken?: {
    readonly after: number;
    readonly by: "reset" | "early end" | "silence" | "error event";
    readonly error?: Json;
  };
  /** Sent as the JSON of every call, whole or not. */
  readonly rawInput?: string;
}

export interface StrictMessagesApi extends AsyncDisposable {
  readonly url: string;
  /** Bodies as they came, refused ones too. */
  readonly requests: readonly Json[];
  readonly headers: readonly IncomingMessage["headers"][];
  /** Connections that were closed before their answer was complete. */
  readonly hungUp: () => number;
  /** The next answers, in order. */
  readonly answer: (...answers: readonly (ScriptedMessage | ScriptedError)[]) => void;
}

/** `reply` answers what the script does not; without it such a request gets a 500. */
export async function startStrictMessagesApi(
  reply: (body: Json) => Promise<ScriptedMessage | ScriptedError> = async () => scriptOver,
): Promise<StrictMessagesApi> {
  const requests: Json[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const answers: (ScriptedMessage | ScriptedError)[] = [];
  const issued: Issued = new Map();
  let hungUp = 0;
  const server = createServer((request, response) => {
    response.on("close", () => (hungUp += response.writableFinished ? 0 : 1));
    void readBody(request).then(async (text) => {
      headers.push(request.headers);
      const body = parse(text);
      requests.push(body);
      const fault = findFault(request, body, issued);
      if (fault !== undefined) return sendError(response, fault);
      const answer = answers.shift() ?? (await reply(body));
      if ("status" in answer) return sendError(response, answer);
      return sendMessage(response, body, answer, issued);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    headers,
    hungUp: () => hungUp,
    answer: (...more) => void answers.push(...more),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const scriptOver: ScriptedError = { status: 500, type: "api_error", message: "the script is over" };

function sendError(response: ServerResponse, { status, type, message, headers = {} }: ScriptedError): void {
  response.writeHead(status, { ...serverHeaders(), "content-type": "application/json", ...headers });
  response.end(
    JSON.stringify({ type: "error", error: { type, message, details: null }, request_id: "req_test" }),
  );
}

const serverHeaders = (): { [name: string]: string } => ({
  "request-id": "req_test",
  "anthropic-ratelimit-requests-limit": "50",
  "anthropic-ratelimit-requests-remaining": "49",
  "anthropic-ratelimit-tokens-limit": "40000",
  "anthropic-ratelimit-tokens-remaining": "39000",
});

function sendMessage(response: ServerResponse, body: Json, answer: ScriptedMessage, issued: Issued): void {
  const content = complete(body, answer.content, issued);
  const usage = { ...emptyUsage, input_tokens: 10, output_tokens: 5, ...answer.usage };
  const message = {
    id: "msg_test",
    type: "message",
    role: "assistant",
    model: body["model"],
    container: null,
    diagnostics: null,
    stop_details: answer.stopDetails ?? null,
    stop_sequence: null,
    stop_reason: answer.stop,
    usage,
    content,
  };
  if (body["stream"] !== true) {
    response.writeHead(200, { ...serverHeaders(), "content-type": "application/json" });
    response.end(JSON.stringify(message));
    return;
  }
  response.writeHead(200, { ...serverHeaders(), "content-type": "text/event-stream" });
  const events = eventsOf(message, answer.rawInput);
  const { after, by, error } = answer.broken ?? { after: events.length, by: "early end", error: undefined };
  for (const event of events.slice(0, after)) send(response, event);
  if (by === "error event")
    send(response, { type: "error", error: error ?? { type: "overloaded_error", message: "Overloaded" } });
  // What was written must leave before the connection breaks, or the client sees another fault.
  if (by === "reset") setTimeout(() => response.destroy(), 50);
  else if (by !== "silence") response.end();
}

const emptyUsage = {
  cache_creation: null,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  inference_geo: null,
  output_tokens_details: null,
  server_tool_use: null,
  service_tier: "standard",
  speed: null,
};

const send = (response: ServerResponse, event: Json): void =>
  void response.write(`event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`);

/** The blocks with all members the API gives them; thinking is signed and remembered. */
function complete(body: Json, content: readonly Block[], issued: Issued): readonly Block[] {
  const before: [unknown, Block][] = combine(list(body["messages"])).flatMap((turn) =>
    turn.content.map((block): [unknown, Block] => [turn.role, block]),
  );
  return content.map((block, index) => {
    const stamp = `${issued.size}-${index}-${createHash("sha256").update(JSON.stringify(before)).digest("hex").slice(0, 12)}`;
    const whole: Block =
      block.type === "text"
        ? { citations: null, ...block }
        : block.type === "tool_use"
          ? { id: `toolu_${stamp}`, caller: { type: "direct" }, ...block }
          : block.type === "thinking"
            ? { type: "thinking", thinking: block["thinking"], signature: `sig_${stamp}` }
            : { type: "redacted_thinking", data: `enc_${stamp}` };
    if (isThinking(whole))
      issued.set(JSON.stringify(whole), { model: body["model"], prefix: prefixOf(body, before) });
    before.push(["assistant", sentBack(whole)]);
    return whole;
  });
}

/** A block as a client sends it back: null members may be left out. */
const sentBack = (block: Block): Block =>
  block.type === "tool_use"
    ? {
        type: block.type,
        id: block["id"],
        name: block["name"],
        input: block["input"],
        caller: block["caller"],
      }
    : block.type === "text"
      ? { type: "text", text: block["text"] }
      : block;

function eventsOf(
  message: Json & { usage: Json; content: readonly Block[] },
  rawInput: string | undefined,
): readonly Json[] {
  const { usage, content } = message;
  const opening = {
    ...message,
    content: [],
    stop_reason: null,
    stop_details: null,
    usage: { ...usage, output_tokens: 1 },
  };
  return [
    { type: "message_start", message: opening },
    { type: "ping" },
    ...content.flatMap((block, index) => blockEvents(block, index, rawInput)),
    {
      type: "message_delta",
      delta: {
        stop_reason: message["stop_reason"],
        stop_sequence: null,
        stop_details: message["stop_details"],
        container: null,
      },
      usage: {
        output_tokens: usage["output_tokens"],
        input_tokens: null,
        cache_creation_input_tokens: null,
        cache_read_input_tokens: null,
        output_tokens_details: null,
        server_tool_use: null,
      },
    },
    { type: "message_stop" },
  ];
}

function blockEvents(block: Block, index: number, rawInput: string | undefined): readonly Json[] {
  const [start, deltas] =
    block.type === "text"
      ? [{ ...block, text: "" }, halves(String(block["text"])).map((text) => ({ type: "text_delta", text }))]
      : block.type === "tool_use"
        ? [
            { ...block, input: {} },
            halves(rawInput ?? JSON.stringify(block["input"])).map((json) => ({
              type: "input_json_delta",
              partial_json: json,
            })),
          ]
        : block.type === "thinking"
          ? [
              { ...block, thinking: "", signature: "" },
              [
                ...halves(String(block["thinking"])).map((thinking) => ({
                  type: "thinking_delta",
                  thinking,
                })),
                { type: "signature_delta", signature: block["signature"] },
              ],
            ]
          : [block, []];
  return [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

const halves = (text: string): readonly string[] => {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== "");
};

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** A body that is no object is taken for an empty one, which lacks all that is required. */
function parse(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
  } catch {
    return {};
  }
}
