/**
 * Server: where an MCP server is and what it is given, as an application or a pinned file says it.
 *
 * MR1 A secret is named, never written: what stands here may be committed, shown and logged.
 */
import { z } from "zod";
import { Name } from "../../protocol/ids.ts";

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "not a variable's name");

/** Names of variables of the worker's environment, or the server's name of each by ours. */
const Environment = z.union([z.array(variable), z.record(variable, variable)]);
/** Variables that a server is given: names in this process's environment, or the server's names with those. */
export type McpEnvironment = readonly string[] | Readonly<Record<string, string>>;

const StdioServer = z.strictObject({
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  cwd: z.string().optional(),
  env: Environment.optional(),
  settings: z.record(variable, z.string()).optional(),
});

const HttpServer = z.strictObject({
  url: z.string().regex(/^https?:\/\/\S+$/, "expected http://… or https://…"),
  headersFrom: z
    .record(
      z.string(),
      z.string().regex(/\$[A-Za-z_]/, "name a variable as $NAME; a secret is never written here"),
    )
    .optional(),
});

/** As a pinned file holds it. */
export const ServerConfig = z.union([StdioServer, HttpServer]);
export type ServerConfig = z.infer<typeof ServerConfig>;

/** A server that each worker process runs for itself, and speaks to by standard input and output. */
export interface McpStdioServer {
  /** Names the server in errors and logs, and begins its tools' names. */
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /**
   * Secrets: names of variables that the server gets from the worker's environment, or `{ ITS_NAME: "OUR_NAME" }`.
   * Their values are kept out of everything the server says. Of the rest of the environment it gets only PATH, HOME,
   * USER, LOGNAME, SHELL and TERM.
   */
  readonly env?: McpEnvironment;
  /** Variables with their values, for what is no secret. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A server that is spoken to by streamable HTTP. */
export interface McpHttpServer {
  readonly name: string;
  /** May name secrets as $NAME. */
  readonly url: string;
  /** By header: text that names secrets as $NAME, for example `{ Authorization: "Bearer $GITHUB_TOKEN" }`. */
  readonly headersFrom?: Readonly<Record<string, string>>;
}

/** An MCP server: a program that is started, or one that is reached over HTTP. */
export type McpServer = McpStdioServer | McpHttpServer;

/** Short, because it begins the names of tools. */
export const ServerName = Name.max(32);
