/**
 * Call: one attempt of one tool at its server, and what its end means.
 *
 * MC1 A call that ends without an answer may have happened, so its error is thrown as it is: in doubt for `once`. "Not
 *     performed" is said only of a call that was refused before the tool ran, or never left this process.
 * MC2 An error in the tool's answer (`isError`) is the tool's word that it failed, not that it did nothing: for `once`
 *     it is in doubt, unless the user knows better. Another attempt would be told the same, so there is none.
 */
import type { Client } from "@modelcontextprotocol/client";
import type { AnyBody, PerformContext } from "../../actors/contract/tool.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { Effect } from "../../protocol/tool.ts";
import { type Connection, connectMsDefault, notPerformed } from "./connection.ts";
import type { Ready } from "./open-client.ts";
import type { ListedTool } from "./listing.ts";
import type { McpCall, McpToolSettings } from "./settings.ts";

/** The runtime's own timeout ends a call; the library's must not come first. */
const noTimeoutMs = 2 ** 31 - 1;
const reasonCharactersMax = 4_000;
/** Under `_meta`, for servers that know it. The trace's name there is W3C's own, as the protocol has it. */
const keyName = "sagamesh/effect-key";
const metaOf = (key: string, traceparent: string | undefined) => ({
  [keyName]: key,
  ...(traceparent === undefined ? {} : { traceparent }),
});

type Answer = Awaited<ReturnType<Client["callTool"]>>;
type Input = Readonly<Record<string, Json>>;

/** The body of a server's tool. */
export function bodyOf(
  connection: Connection,
  listed: ListedTool,
  effect: Effect,
  settings: McpToolSettings,
): AnyBody {
  const { keyIn, onError = "in_doubt", probe } = settings;
  const perform = (given: unknown, context: PerformContext): Promise<Json> =>
    connection.during(async () => {
      const { key, abort, traceparent } = context;
      const progress = (note: unknown) => context.progress(note);
      const ready = await connection.ready(listed.name, abort);
      const input = { ...(given as Input), ...(keyIn === undefined ? {} : { [keyIn]: key }) };
      const answer = await ask(connection, ready, listed.name, input, { key, abort, traceparent, progress });
      if (answer.isError !== true) return outputOf(answer, listed, ready);
      const text = textOf(answer, ready);
      if (effect === "once" || effect === "probe")
        if (onError === "in_doubt" && !isRefusal(text, listed.name)) throw new MeshError("TOOL_FAILED", text);
      throw notPerformed("TOOL_FAILED", text, false); // MC2
    });
  const call =
    (abort: AbortSignal): McpCall =>
    async (tool, input) => {
      const ready = await connection.ready(tool, abort);
      const answer = await ask(connection, ready, tool, input, { abort });
      if (answer.isError === true) throw new MeshError("TOOL_FAILED", textOf(answer, ready));
      return outputOf(answer, undefined, ready);
    };
  return {
    perform,
    ...(probe === undefined
      ? {}
      : {
          probe: (key: string, input: unknown) =>
            connection.during(() => probe(key, input as Input, call(AbortSignal.timeout(connectMsDefault)))),
        }),
    serve: (log) => connection.serve(log),
    realMs: connectMsDefault,
  };
}

interface Asking {
  readonly key?: string;
  readonly abort: AbortSignal;
  readonly traceparent?: string | undefined;
  readonly progress?: PerformContext["progress"];
}

/** Aborting tells the server so. */
async function ask(
  connection: Connection,
  { client, secrets, protocolCodeOf }: Ready,
  name: string,
  input: Input,
  { key, abort, traceparent, progress }: Asking,
): Promise<Answer> {
  try {
    return await client.callTool(
      { name, arguments: { ...input }, ...(key === undefined ? {} : { _meta: metaOf(key, traceparent) }) },
      {
        signal: abort,
        timeout: noTimeoutMs,
        ...(progress === undefined
          ? {}
          : { onprogress: (note) => progress(secrets.redactJson(plainJson(note))) }),
      },
    );
  } catch (error) {
    if (abort.aborted) throw abort.reason;
    const text = `${name} of the MCP server ${connection.name}: ${secrets.redact(describeError(error))}`;
    const refused = refusalOf(error, protocolCodeOf(error));
    if (refused?.isSessionOver === true) connection.forget();
    if (refused !== undefined) throw notPerformed(refused.code, text, refused.retry);
    throw new MeshError("TOOL_FAILED", text); // MC1. A new one: the library's may hold a secret in its cause.
  }
}

interface Refusal {
  readonly code: "CALL_INVALID" | "TOOL_UNAVAILABLE";
  readonly retry: boolean;
  readonly isSessionOver?: boolean;
}

/** JSON-RPC: not read, no such method, no such tool or bad arguments. */
const neverCalled: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602]);
const notReached: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"],
  ...["NOT_CONNECTED", "NOT_INITIALIZED"],
]);

/** MC1. Whether a call ended before its tool began; undefined where that is unknown. */
function refusalOf(error: unknown, protocolCode: number | undefined): Refusal | undefined {
  if (protocolCode !== undefined)
    return neverCalled.has(protocolCode) ? { code: "CALL_INVALID", retry: false } : undefined;
  const status = statusOf(error);
  // 404 by the protocol; 400 by the servers that were written after its first library's example.
  if (status === 404 || status === 400) return { code: "TOOL_UNAVAILABLE", retry: true, isSessionOver: true };
  if (status !== undefined)
    return status >= 400 && status < 500 && status !== 408
      ? { code: "TOOL_UNAVAILABLE", retry: status === 429 }
      : undefined;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (notReached.has(String((cause as { code?: unknown }).code)) || cause.message === "Not connected")
      return { code: "TOOL_UNAVAILABLE", retry: true };
  return undefined;
}

function statusOf(error: unknown): number | undefined {
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === "number" ? status : undefined;
}

/**
 * Servers of the protocol's first library answer a call that they refuse with an error of the tool, in these words.
 * They name the tool, so a tool that passes on what another server said is not taken for one.
 */
const isRefusal = (text: string, tool: string): boolean =>
  [`Tool ${tool} not found`, `Input validation error: Invalid arguments for tool ${tool}:`].some((words) =>
    text.startsWith(`MCP error -32602: ${words}`),
  );

const plainJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

/** What the tool declared, or the blocks that it said. */
function outputOf(answer: Answer, listed: ListedTool | undefined, { secrets }: Ready): Json {
  const { structuredContent, content } = answer;
  const isStructured =
    listed === undefined ? structuredContent !== undefined : listed.outputSchema !== undefined;
  return secrets.redactJson(plainJson((isStructured ? structuredContent : content) ?? null));
}

function textOf({ content }: Answer, { secrets }: Ready): string {
  const texts = (content ?? []).map((block) => (block.type === "text" ? block.text : `[${block.type}]`));
  return secrets.redact(texts.join("\n")).slice(0, reasonCharactersMax) || "the tool failed without a word";
}
