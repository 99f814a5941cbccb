/**
 * What the strict server of the Messages API refuses, rule by rule. Pure, but for the thinking it remembers.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";

export type Json = { readonly [key: string]: unknown };
export type Block = Json & { readonly type: string };

export interface ScriptedError {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly headers?: { readonly [name: string]: string };
}

/** Thinking that the server gave out: the block's text to the model and the prefix it is bound to. */
export type Issued = Map<string, { readonly model: unknown; readonly prefix: string }>;

const invalid = (message: string): ScriptedError => ({ status: 400, type: "invalid_request_error", message });

export function findFault(request: IncomingMessage, body: Json, issued: Issued): ScriptedError | undefined {
  if (request.method !== "POST" || request.url !== "/v1/messages")
    return { status: 404, type: "not_found_error", message: "Not Found" };
  const key = request.headers["authorization"] ?? request.headers["x-api-key"];
  if (key !== "Bearer sk-test" && key !== "sk-test")
    return { status: 401, type: "authentication_error", message: "invalid key" };
  if (request.headers["anthropic-version"] !== "2026-10-21") return invalid("anthropic-version: unknown");
  const unknown = Object.keys(body).find((name) => !parameters.has(name));
  if (unknown !== undefined) return invalid(`${unknown}: Extra inputs are not permitted`);
  if (typeof body["model"] !== "string") return invalid("model: Field required");
  if (!Number.isInteger(body["max_tokens"])) return invalid("max_tokens: Field required");
  const fault =
    findToolFault(list(body["tools"])) ??
    findMessageFault(list(body["messages"])) ??
    findThinkingFault(body, issued);
  return fault === undefined ? undefined : invalid(fault);
}

const parameters = new Set([
  ...["model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config"],
  ...["cache_control", "stream", "metadata", "stop_sequences", "service_tier", "diagnostics"],
]);

function findToolFault(tools: readonly Json[]): string | undefined {
  for (const [index, tool] of tools.entries()) {
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(tool["name"])))
      return `tools.${index}.name: String should match pattern`;
    const schema = (tool["input_schema"] ?? {}) as Json;
    if (schema["type"] !== "object") return `tools.${index}.input_schema.type: Input should be 'object'`;
    if (["anyOf", "oneOf", "allOf"].some((word) => word in schema))
      return `tools.${index}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
    if (JSON.stringify(schema).includes(String(Number.MAX_SAFE_INTEGER)))
      return `tools.${index}.input_schema: bound out of range`;
  }
  if (new Set(tools.map((tool) => tool["name"])).size !== tools.length)
    return "tools: Tool names must be unique";
  return undefined;
}

export function findMessageFault(messages: readonly Json[]): string | undefined {
  if (messages[0]?.["role"] !== "user") return "messages: first message must use the user role";
  for (const [index, message] of messages.entries()) {
    const content = blocksOf(message);
    if (content.length === 0) return `messages.${index}: content must be non-empty`;
    if (content.some((block) => block.type === "text" && String(block["text"]).trim() === ""))
      return "messages: text content blocks must contain non-whitespace text";
  }
  return findPairingFault(combine(messages));
}

/** Turns after neighbours of one role were made one, as the API does. */
export function combine(messages: readonly Json[]): readonly { role: unknown; content: readonly Block[] }[] {
  const turns: { role: unknown; content: Block[] }[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last?.role === message["role"]) last?.content.push(...blocksOf(message));
    else turns.push({ role: message["role"], content: [...blocksOf(message)] });
  }
  return turns;
}

function findPairingFault(
  turns: readonly { role: unknown; content: readonly Block[] }[],
): string | undefined {
  const seen = new Set<unknown>();
  let open: unknown[] = [];
  for (const [index, { role, content }] of turns.entries()) {
    const results = content
      .filter((block) => block.type === "tool_result")
      .map((block) => block["tool_use_id"]);
    if (role === "assistant") {
      if (results.length > 0) return `messages.${index}: tool_result in an assistant turn`;
      open = content.filter((block) => block.type === "tool_use").map((block) => block["id"]);
      for (const id of open) {
        if (typeof id !== "string" || !/^[a-zA-Z0-9_-]+$/.test(id))
          return `messages.${index}: tool_use.id: String should match pattern`;
        if (seen.has(id)) return `messages.${index}: \`tool_use\` ids must be unique`;
        seen.add(id);
      }
      if (content.at(-1)?.type === "thinking")
        return `messages.${index}: the final block of a turn cannot be thinking`;
      continue;
    }
    const missing = open.filter((id) => !results.includes(id));
    if (missing.length > 0)
      return `messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks: ${missing.join()}`;
    if (results.some((id) => !open.includes(id)))
      return `messages.${index}: unexpected \`tool_use_id\` in \`tool_result\` blocks`;
    if (new Set(results).size !== results.length)
      return `messages.${index}: each tool_use must have a single result`;
    if (content.slice(0, results.length).some((block) => block.type !== "tool_result"))
      return `messages.${index}: \`tool_result\` blocks must come first`;
    open = [];
  }
  return open.length > 0 ? "messages: `tool_use` ids were found without `tool_result` blocks" : undefined;
}

function findThinkingFault(body: Json, issued: Issued): string | undefined {
  const before: [unknown, Block][] = [];
  for (const turn of combine(list(body["messages"])))
    for (const block of turn.content) {
      if (isThinking(block)) {
        const origin = issued.get(JSON.stringify(block));
        if (origin === undefined) return "thinking blocks cannot be modified";
        if (origin.model !== body["model"]) return "thinking block was written by another model";
        if (origin.prefix !== prefixOf(body, before)) return "thinking block is bound to another prefix";
      }
      before.push([turn.role, block]);
    }
  return undefined;
}

export const isThinking = (block: Block): boolean =>
  block.type === "thinking" || block.type === "redacted_thinking";

/** Hash of what stands before a block; cache marks and blank text do not count. */
export const prefixOf = (body: Json, before: readonly [unknown, Block][]): string =>
  createHash("sha256")
    .update(
      JSON.stringify([
        body["system"],
        body["tools"],
        before.filter(([, block]) => block.type !== "text" || String(block["text"]).trim() !== ""),
      ]),
    )
    .digest("hex");

export const blocksOf = (message: Json): readonly Block[] =>
  typeof message["content"] === "string"
    ? [{ type: "text", text: message["content"] }]
    : (list(message["content"]) as readonly Block[]);

export const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : []);
