/**
 * A strict server of the Chat Completions API, for tests: it answers from a script and refuses what OpenAI refuses.
 *
 * Enforced: key; known members only; one name for the longest answer; tool names and schemas; every call answered by
 * exactly one `tool` message right behind the message that made it, and no such message anywhere else; arguments
 * that are JSON of an object, as servers that fill templates want them; no empty assistant message.
 * Left out: what a model would say; token counts (they are the script's); images, audio, limits of size and rate.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Members = { readonly [key: string]: unknown };

export interface ScriptedChat {
  /** Chunks of a stream, as they are written; objects as JSON. */
  readonly chunks?: readonly (object | string)[];
  /** How the stream ends: with `[DONE]`, with the connection's end alone, torn, or not at all. Default: done. */
  readonly end?: "done" | "closed" | "reset" | "silence" | "done and open";
  /** Between chunks, milliseconds. */
  readonly paceMs?: number;
  /** Cuts the bytes of a stream into pieces of so many. */
  readonly pieceBytes?: number;
  /** An answer that is no stream: an error, or a whole message. */
  readonly status?: number;
  readonly json?: unknown;
  readonly text?: string;
  readonly headers?: { readonly [name: string]: string };
}

export interface StrictChatApi extends AsyncDisposable {
  readonly url: string;
  /** Bodies as they came, refused ones too. */
  readonly requests: readonly Members[];
  readonly headers: readonly IncomingMessage["headers"][];
  readonly paths: readonly string[];
  /** Connections that were closed before their answer was complete. */
  readonly hungUp: () => number;
  /** The next answers, in order. A request without one gets a 500. */
  readonly answer: (...answers: readonly ScriptedChat[]) => void;
}

export async function startStrictChatApi(): Promise<StrictChatApi> {
  const requests: Members[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const paths: string[] = [];
  const answers: ScriptedChat[] = [];
  let hungUp = 0;
  const server = createServer((request, response) => {
    response.on("close", () => (hungUp += response.writableFinished ? 0 : 1));
    void readBody(request).then(async (body) => {
      requests.push(body);
      headers.push(request.headers);
      paths.push(request.url ?? "");
      const fault = findFault(request, body);
      if (fault !== undefined) return sendJson(response, 400, errorOf(fault));
      const answer = answers.shift() ?? { status: 500, json: errorOf("the script is over") };
      return send(response, answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    headers,
    paths,
    hungUp: () => hungUp,
    answer: (...more) => void answers.push(...more),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const errorOf = (message: string) => ({
  error: { message, type: "invalid_request_error", param: null, code: null },
});

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: ScriptedChat["headers"] = {},
): void {
  response.writeHead(status, { "content-type": "application/json", "x-request-id": "req_test", ...headers });
  response.end(JSON.stringify(body));
}

async function send(response: ServerResponse, answer: ScriptedChat): Promise<void> {
  const { chunks, status = 200, headers = {} } = answer;
  if (answer.text !== undefined) {
    response.writeHead(status, { "content-type": "text/plain", ...headers });
    response.end(answer.text);
    return;
  }
  if (chunks === undefined) return sendJson(response, status, answer.json, headers);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", ...headers });
  const { end = "done", paceMs = 0, pieceBytes } = answer;
  const texts = chunks.map((chunk) =>
    typeof chunk === "string" ? chunk : `data: ${JSON.stringify(chunk)}\n\n`,
  );
  if (end.startsWith("done")) texts.push("data: [DONE]\n\n");
  for (const text of pieceBytes === undefined ? texts : cut(texts.join(""), pieceBytes)) {
    response.write(text);
    // A moment for each piece, so that it leaves by itself.
    await new Promise((resolve) => setTimeout(resolve, pieceBytes === undefined ? paceMs : 1));
  }
  if (end === "reset") setTimeout(() => response.destroy(), 50);
  else if (end === "done" || end === "closed") response.end();
}

function cut(text: string, size: number): Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, k) =>
    bytes.subarray(k * size, (k + 1) * size),
  );
}

async function readBody(request: IncomingMessage): Promise<Members> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}") as Members;
}

const known = new Set([
  ...["model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options"],
  ...["max_tokens", "max_completion_tokens", "temperature", "reasoning_effort"],
]);

function findFault(request: IncomingMessage, body: Members): string | undefined {
  const path = (request.url ?? "").split("?")[0];
  if (request.method !== "POST" || path !== "/v1/chat/completions") return `no route ${request.url ?? ""}`;
  const key = request.headers["authorization"] ?? request.headers["api-key"];
  if (key !== "Bearer sk-test-key" && key !== "sk-test-key") return "Incorrect API key provided";
  const unknown = Object.keys(body).find((name) => !known.has(name));
  if (unknown !== undefined) return `Unrecognized request argument supplied: ${unknown}`;
  if ("max_tokens" in body && "max_completion_tokens" in body) return "two names for one limit";
  if ("stream_options" in body && body["stream"] !== true) return "stream_options without stream";
  return findToolFault(list(body["tools"])) ?? findMessageFault(list(body["messages"]));
}

function findToolFault(tools: readonly Members[]): string | undefined {
  for (const tool of tools) {
    const { name, parameters } = (tool["function"] ?? {}) as { name?: unknown; parameters?: Members };
    if (tool["type"] !== "function" || !/^[a-zA-Z0-9_-]{1,64}$/.test(String(name))) return "tools: bad name";
    if (parameters?.["type"] !== "object") return `tools: ${String(name)}: type must be "object"`;
    if (["anyOf", "oneOf", "allOf", "enum", "not"].some((word) => word in parameters))
      return `tools: ${String(name)}: no anyOf, oneOf, allOf, enum or not at the top level`;
  }
  return undefined;
}

export function findMessageFault(messages: readonly Members[]): string | undefined {
  if (messages.length === 0) return "messages: empty";
  let open: unknown[] = [];
  for (const [index, message] of messages.entries()) {
    const where = `messages.${index}`;
    if (message["role"] === "tool") {
      if (!open.includes(message["tool_call_id"])) return `${where}: answers no call of the message before`;
      if (typeof message["content"] !== "string") return `${where}: content must be a string`;
      open = open.filter((id) => id !== message["tool_call_id"]);
      continue;
    }
    if (open.length > 0) return `${where}: tool_call_ids did not have response messages: ${open.join()}`;
    if (message["role"] === "assistant") {
      const calls = list(message["tool_calls"]);
      if (message["content"] === null ? calls.length === 0 : message["content"] === "")
        return `${where}: content is required unless there are calls`;
      open = calls.map((call) => call["id"]);
      if (new Set(open).size < open.length) return `${where}: ids are not unique`;
      for (const { function: called } of calls as { function: { arguments: string } }[])
        if (!isObject(called.arguments)) return `${where}: arguments are no JSON object`;
    } else if (typeof message["content"] !== "string" || message["content"].trim() === "")
      return `${where}: content is required`;
    else if (message["role"] === "system" && index > 0) return `${where}: system comes first`;
  }
  return open.length > 0 ? `no response messages for ${open.join()}` : undefined;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const list = (value: unknown): readonly Members[] => (Array.isArray(value) ? (value as Members[]) : []);
