/**
 * The model port on the Chat Completions API, of OpenAI and of the many servers that speak it: Azure, vLLM, Ollama,
 * llama.cpp, LiteLLM and other gateways.
 *
 * OA1 One call of `decide` is one request, whatever happens: the API knows no idempotency key, so a second request
 *     may be paid twice. Attempts belong to the ledger.
 * OA2 A stream is one answer. Its tokens are shown as they come, and only the complete message is returned.
 * OA3 A key goes to the server it was given for and nowhere else: OPENAI_API_KEY is read only where no address is
 *     named, no redirect is followed, and no failure repeats it.
 *
 * The awaits: the head of the response, the pieces of its body.
 */
import { createParser } from "eventsource-parser";
import type { ModelPrice } from "../../protocol/budget.ts";
import { limits } from "../../protocol/limits.ts";
import {
  ModelFailure,
  type ModelAnswer,
  type ModelContext,
  type ModelPort,
  type ModelRequest,
} from "../../protocol/model.ts";
import { oneAnswer } from "./one-answer.ts";
import {
  failureOf,
  lostConnection,
  readError,
  stopOfError,
  type FailedResponse,
  type Said,
} from "./openai-failure.ts";
import { estimateUsage, readChat, readChatUsage, sizeOf } from "./openai-reply.ts";
import { planChat, type ChatOptions } from "./openai-request.ts";
import { ChatChunk, createGathering, type Gathering } from "./openai-stream.ts";

/** Which model behind an OpenAI-compatible API, and how it is asked. */
export interface OpenAIModelOptions extends ChatOptions {
  /** What the application file calls the model; the server's name if left out. */
  readonly name?: string;
  /**
   * What the API's paths begin with, such as `http://127.0.0.1:11434/v1`; a query (`?api-version=…`) is kept.
   * Default: OpenAI's own.
   */
  readonly baseURL?: string;
  /**
   * Default: OPENAI_API_KEY from the environment where no `baseURL` is named, else none. Read at each request;
   * never recorded, never logged.
   */
  readonly apiKey?: string | undefined;
  /** Sent with each request, for example `{ "api-key": … }` for Azure; told nowhere. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * What its tokens cost, where the application's `prices` do not say; without either no dollars are known. Say
   * `cacheReadPerMillion` too where the server's discount is not a tenth of the input's price.
   */
  readonly price?: ModelPrice;
  /** How long one answer may take, from the request to its last byte. Node itself ends a silence of 300 s. */
  readonly timeoutMs?: number;
}

const openaiURL = "https://api.openai.com/v1";

/** More than any answer that a turn could hold: a server that never ends must not fill the memory. */
const answerBytesMax = 8 * limits.messageBytesMax;

/** A model port on the Chat Completions API. Makes no request and reads no key before the first decision. */
export function openaiModel(options: OpenAIModelOptions): ModelPort {
  const name = options.name ?? options.model;
  return {
    name,
    ...(options.price === undefined ? {} : { price: options.price }),
    decide: async (request, context) => {
      context.abort.throwIfAborted();
      return ask(openCall(name, options), request, context, options);
    },
  };
}

interface Call {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly failed: Omit<FailedResponse, "now">;
  readonly options: ChatOptions;
}

/** Where the request goes and with what. Throws ModelFailure for an address that is none and a key that is missing. */
function openCall(name: string, options: OpenAIModelOptions): Call {
  const { baseURL = openaiURL, headers = {} } = options;
  const url = URL.parse(baseURL);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ModelFailure("fail", `model ${name}: baseURL is no http address`);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/chat/completions`;
  const key = options.apiKey ?? (options.baseURL === undefined ? process.env["OPENAI_API_KEY"] : undefined);
  if (options.baseURL === undefined && !key)
    throw new ModelFailure(
      "fail",
      `model ${name} has no API key: set OPENAI_API_KEY, or give openaiModel an apiKey`,
    );
  const isOpenAI = /(^|\.)(openai|azure)\.com$/.test(url.hostname);
  return {
    url,
    headers: {
      "content-type": "application/json",
      accept: options.stream === false ? "application/json" : "text/event-stream, application/json",
      ...(key ? { authorization: `Bearer ${key}` } : {}),
      ...headers,
    },
    failed: {
      server: url.host,
      secrets: [key ?? "", url.username, url.password, url.search, ...Object.values(headers)],
    },
    options: {
      ...options,
      maxTokensMember: options.maxTokensMember ?? (isOpenAI ? "max_completion_tokens" : "max_tokens"),
    },
  };
}

async function ask(
  call: Call,
  request: ModelRequest,
  context: ModelContext,
  options: OpenAIModelOptions,
): Promise<ModelAnswer> {
  const { body, prefix } = planChat(request, call.options);
  const text = JSON.stringify(body);
  const requestBytes = Buffer.byteLength(text);
  const origin = { model: options.model, prefix };
  const gathering = createGathering();
  const answer = async (signal: AbortSignal): Promise<ModelAnswer> => {
    const { url, headers } = call;
    const response = await fetch(url, { method: "POST", headers, body: text, redirect: "manual", signal });
    if (!response.ok) return stoppedBy(await errorIn(response), response, call, origin.model);
    try {
      await gather(response, gathering, context, call);
    } finally {
      // What the server began to answer has a price, whether it comes to an end or not.
      const soFar = gathering.completion();
      context.spent(readChatUsage(soFar.usage) ?? estimateUsage(requestBytes, sizeOf(soFar)));
    }
    return readChat(gathering.completion(), { origin, requestBytes });
  };
  return oneAnswer(context, options.timeoutMs, answer, (error) =>
    lostConnection(error, { ...call.failed, now: Date.now() }),
  );
}

/** A body of an error that is longer is cut off: what helps stands at its beginning. */
const errorBytesMax = 64 * 1024;

async function errorIn(response: Response): Promise<Said> {
  if (response.status < 400)
    return {
      status: response.status,
      codes: [],
      words: "the server sends on to another address: correct baseURL",
    };
  let text = "";
  for await (const piece of piecesOf(response)) {
    text += piece;
    if (text.length > errorBytesMax) break;
  }
  return readError(parse(text) ?? text, response.status);
}

/** The answer that an error is, if it is one; else throws it. */
function stoppedBy(said: Said, response: Response, call: Call, model: string): ModelAnswer {
  const stop = stopOfError(said);
  const failure = failureOf(said, { ...call.failed, headers: response.headers, now: Date.now() });
  if (stop === undefined) throw failure;
  return { calls: [], stop, reason: failure.message, model };
}

/** Reads the answer, streamed or whole: some servers never stream, whatever they are asked for. */
async function gather(
  response: Response,
  gathering: Gathering,
  context: ModelContext,
  call: Call,
): Promise<void> {
  const take = (data: string) => {
    const chunk = ChatChunk.safeParse(parse(data));
    if (!chunk.success) throw new ModelFailure("retry", `${call.failed.server} sent what is no answer`);
    if (chunk.data.error !== undefined && chunk.data.error !== null)
      throw failureOf(readError(chunk.data), { ...call.failed, headers: response.headers, now: Date.now() });
    const shown = gathering.take(chunk.data);
    if (shown.text !== undefined || shown.thinking !== undefined) context.live(shown);
  };
  const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  const events: string[] = [];
  const reader = createParser({
    onEvent: ({ data }) => {
      if (data !== "") events.push(data);
    },
  });
  let whole = "";
  let size = 0;
  for await (const piece of piecesOf(response)) {
    size += piece.length;
    if (size > answerBytesMax)
      throw new ModelFailure("fail", `${call.failed.server} sent more than ${answerBytesMax} bytes`);
    if (!isStream) whole += piece;
    else reader.feed(piece);
    for (const data of events.splice(0))
      if (data === endOfStream)
        return; // A server may keep the connection: its end is not waited for.
      else take(data);
  }
  if (!isStream) return take(whole);
  reader.feed("\n\n"); // A last event may lack the empty line behind it.
  for (const data of events) if (data !== endOfStream) take(data);
}

const endOfStream = "[DONE]";

async function* piecesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  for await (const bytes of response.body) yield decoder.decode(bytes as Uint8Array, { stream: true });
}

/** The value of a JSON text; undefined where it is none. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
