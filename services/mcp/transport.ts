/**
 * Transport: opens the way to a server, with its secrets, and nothing else of this process's environment.
 */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import {
  Client,
  ProtocolError,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Secrets } from "./secrets.ts";
import type { ServerConfig } from "./server.ts";

const lineCharactersMax = 2_000;

/**
 * The library looks at the protocol's version with a second process, unless it is given a transport that is not its own. A
 * server that is started twice may do twice what it does at its start.
 */
class OneProcess extends StdioClientTransport {}

/** From a stream's end to the answer that it brought; also the JSON-RPC code of an answer that did not come. */
const answerMs = 1_000;
const noAnswer = -32_000;

/**
 * By HTTP a request has a stream of its own, and the library waits on for its answer when that is over and cannot be
 * resumed. Here it is answered: that there is none. An answer that did come was first.
 */
class AnsweringHttp extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<StreamableHTTPClientTransport["send"]>): Promise<void> {
    if (Array.isArray(message) || !("method" in message) || !("id" in message))
      return super.send(message, options);
    const { id } = message;
    const error = { code: noAnswer, message: "the server ended the call without an answer" };
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      setTimeout(() => this.onmessage?.({ jsonrpc: "2.0", id, error }), answerMs).unref();
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

/** A client that has not connected yet. It offers a server nothing: no files, no model, no person to ask. */
export const newClient = (mode: "auto" | "legacy", probeMs: number): Client =>
  new Client(
    { name: "sagamesh", version: "1" },
    {
      capabilities: {},
      versionNegotiation: { mode, probe: { timeoutMs: probeMs } },
      // An output is judged where it is recorded; the library would throw it away after the effect.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    },
  );

/** `say` hears the lines of the server's standard error, without secrets. */
export function openTransport(
  server: ServerConfig,
  secrets: Secrets,
  say: (line: string) => void,
): Transport {
  if ("url" in server) {
    const headers = Object.entries(server.headersFrom ?? {}).map(([name, text]) => [
      name,
      secrets.fill(text),
    ]);
    return new AnsweringHttp(new URL(secrets.fill(server.url)), {
      requestInit: { headers: Object.fromEntries(headers) as Record<string, string> },
    });
  }
  const { command, args = [], cwd, settings = {} } = server;
  const transport = new OneProcess({
    command,
    args: [...args],
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...settings, ...secrets.variables },
    stderr: "pipe",
  });
  const lines = createInterface({ input: transport.stderr as Readable }); // With "pipe" it is a PassThrough.
  lines.on("line", (line) => say(secrets.redact(line).slice(0, lineCharactersMax)));
  return transport;
}

/** The code of an error that the server answered by JSON-RPC; undefined for any other. */
export const protocolCodeOf = (error: unknown): number | undefined =>
  ProtocolError.isInstance(error) ? error.code : undefined;
