/**
 * Tools: the tools of an MCP server as tools of an application.
 *
 * MP1 Contract and body are apart: the contract is data, from the server or from a pinned file, and loads wherever it
 *     is needed. The body opens a connection when it first performs, so only a process that serves the tool has a
 *     server and its secrets.
 * MP2 What decides whether something may be run twice is the user's word; see effects.ts for what a hint may.
 */
import { z } from "zod";
import { defineTool, type Tool } from "../../actors/contract/tool.ts";
import { MeshError } from "../../protocol/errors.ts";
import { Effect } from "../../protocol/tool.ts";
import { askServer } from "./ask-server.ts";
import { bodyOf } from "./call.ts";
import { type Connection, connectMsDefault, createConnection } from "./connection.ts";
import { effectOf } from "./effects.ts";
import type { ListedTool } from "./listing.ts";
import { toolName } from "./names.ts";
import { readPinned } from "./pinned.ts";
import { type JsonSchema, readSchema } from "./schema.ts";
import { type McpHttpServer, type McpStdioServer, ServerConfig, ServerName } from "./server.ts";
import type { McpToolSettings } from "./settings.ts";

interface Choices {
  /** Begins the names of its tools; the server's name and `_` unless given. May be empty. */
  readonly prefix?: string;
  /** Effect classes by the server's own names of its tools. What is not named has the class that its hints give it. */
  readonly effects?: Readonly<Record<string, Effect>>;
  /** `map` (default): a tool that says it only reads is a `read`. `ignore`: everything is `once` unless named. */
  readonly hints?: "map" | "ignore";
  /** The server's own names of the tools to take; all unless given. */
  readonly allow?: readonly string[];
  /** Compensation, approval, timeout and so on, by the server's own name of the tool. */
  readonly with?: Readonly<Record<string, McpToolSettings>>;
  readonly placement?: "worker" | "host";
  /** Of every tool that has none of its own; 60 s unless given. */
  readonly timeoutMs?: number;
  /** How long a server may take until it is ready; 60 s unless given. */
  readonly connectMs?: number;
}

/** What of a pinned server is another on this machine. */
type Changed = Partial<Omit<McpStdioServer, "name"> & Omit<McpHttpServer, "name">>;

/** Which server, which of its tools, and what they do to the world. */
export type McpToolsOptions = Choices &
  (
    | McpStdioServer
    | McpHttpServer
    | ({ /** A file that `sagamesh mcp pin` wrote. */ readonly pinned: string | URL } & Changed)
  );

/** The tools of one MCP server. */
export interface McpTools extends ReadonlyArray<Tool> {
  /** One of them, by the server's own name. Throws TOOL_UNKNOWN. */
  tool(name: string): Tool;
  /** What a developer should know of these tools: what their schemas leave unchecked here, which tools were left out. */
  readonly notes: readonly string[];
}

/**
 * The tools of an MCP server, ready for an agent's `tools`.
 *
 *     const files = await mcpTools({ name: "files", command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv"] });
 *     const files = await mcpTools({ pinned: new URL("files.mcp.json", import.meta.url) });
 *
 * The first asks the server while the application loads, on every host and worker, and is for development. The second
 * reads a file and asks no server: a host needs neither server nor secrets, and every process has the same contract.
 * Either way a worker that finds a tool changed since refuses to call it: TOOL_CHANGED.
 *
 * A server that dies is started again for the next call; what a `once` was doing then is in doubt. If this process
 * dies, its server ends with its standard input, and another worker goes on with one of its own.
 *
 * Throws APP_INVALID with every fault of the options, TOOL_UNAVAILABLE if the server is asked and cannot be used.
 */
export async function mcpTools(options: McpToolsOptions): Promise<McpTools> {
  const { name, server, listed, effects, leftOut } = await agreement(options);
  const agreed = new Map(listed.map((tool) => [tool.name, tool]));
  const faults = faultsOf(options, name, agreed);
  const connectMs = options.connectMs ?? connectMsDefault;
  const connection = createConnection({ name, server, connectMs, agreed });
  const notes = leftOut.map((reason) => `${name}: left out: ${reason}`);
  const make = maker({
    options,
    prefix: options.prefix ?? `${name}_`,
    connection,
    agreed,
    effects,
    notes,
    faults,
  });
  const taken = options.allow ?? [...agreed.keys()];
  const tools = new Map(taken.filter((own) => agreed.has(own)).map((own) => [own, make(own)]));
  const names = [...tools.values()].map((tool) => tool.name);
  for (const [index, twice] of names.entries())
    if (names.indexOf(twice) < index)
      faults.push(`two of its tools would be named "${twice}"; leave one out by allow`);
  if (faults.length > 0)
    throw new MeshError("APP_INVALID", `the MCP server ${name}: ${[...new Set(faults)].join("; ")}`);
  return Object.assign([...tools.values()], {
    notes: [...new Set(notes)],
    tool: (own: string) => {
      const tool = tools.get(own);
      if (tool !== undefined) return tool;
      throw new MeshError(
        "TOOL_UNKNOWN",
        `the MCP server ${name} has no tool "${own}"; it has ${[...tools.keys()].join(", ")}`,
      );
    },
  });
}

interface Agreement {
  readonly name: string;
  readonly server: ServerConfig;
  readonly listed: readonly ListedTool[];
  /** What the pinned file says, which a person has read. */
  readonly effects: ReadonlyMap<string, Effect>;
  readonly leftOut: readonly string[];
}

/** MP1. What the tools are: by the file, or by the server. */
async function agreement(options: McpToolsOptions): Promise<Agreement> {
  const { command, args, cwd, env, settings, url, headersFrom } = options as Changed;
  const given = Object.fromEntries(
    Object.entries({ command, args, cwd, env, settings, url, headersFrom }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  if ("pinned" in options) {
    const pinned = readPinned(options.pinned);
    const server = readServer(pinned.name, { ...pinned.server, ...given });
    const tools = Object.entries(pinned.tools);
    return {
      name: pinned.name,
      server,
      listed: tools.map(([name, { effect: _, ...tool }]) => ({ name, ...tool })),
      effects: new Map(tools.map(([name, { effect }]) => [name, effect])),
      leftOut: [],
    };
  }
  const { name, connectMs } = options;
  const server = readServer(name, given);
  const { tools, leftOut } = await askServer(name, server, connectMs); // And closed: a host goes on without a server.
  return { name, server, listed: tools, effects: new Map(), leftOut };
}

function readServer(name: string, given: object): ServerConfig {
  const faults: string[] = [];
  if (!ServerName.safeParse(name).success)
    faults.push(`"${name}" is not a server's name: a letter, then up to 31 letters, digits, _ or -`);
  const server = ServerConfig.safeParse(given);
  if (!server.success)
    faults.push(
      `give either command, args, env, settings and cwd, or url and headersFrom: ${z.prettifyError(server.error)}`,
    );
  if (faults.length > 0 || !server.success)
    throw new MeshError("APP_INVALID", `the MCP server ${name}: ${faults.join("; ")}`);
  return server.data;
}

/** A tool's name that the server does not have is a typing error, and would change nothing in silence. */
function faultsOf(options: Choices, name: string, agreed: ReadonlyMap<string, ListedTool>): string[] {
  const { effects = {}, allow = [], with: settings = {}, prefix } = options;
  const unknown = (where: string, names: readonly string[]) =>
    names.filter((own) => !agreed.has(own)).map((own) => `${where} names "${own}", which it does not have`);
  return [
    ...unknown("effects", Object.keys(effects)),
    ...unknown("allow", allow),
    ...unknown("with", Object.keys(settings)),
    ...Object.entries(effects)
      .filter(([, effect]) => !Effect.safeParse(effect).success)
      .map(([own, effect]) => `the effect of "${own}" is "${effect}"`),
    ...(prefix === undefined || /^([a-zA-Z][a-zA-Z0-9_-]{0,31})?$/.test(prefix)
      ? []
      : [`"${prefix}" cannot begin a name`]),
    ...(agreed.size === 0 ? [`${name} has no tool that can be called`] : []),
  ];
}

interface Making {
  readonly options: Choices;
  readonly prefix: string;
  readonly connection: Connection;
  readonly agreed: ReadonlyMap<string, ListedTool>;
  readonly effects: ReadonlyMap<string, Effect>;
  readonly notes: string[];
  readonly faults: string[];
}

/** Makes a tool by the server's own name, each once: a compensation is the same tool that the model may have. */
function maker({
  options,
  prefix,
  connection,
  agreed,
  effects,
  notes,
  faults,
}: Making): (own: string) => Tool {
  const made = new Map<string, Tool | undefined>();
  const make = (own: string): Tool => {
    const known = made.get(own);
    if (known !== undefined) return known;
    const listed = agreed.get(own) as ListedTool; // Its callers have looked.
    const settings = options.with?.[own] ?? {};
    const effect =
      options.effects?.[own] ?? effects.get(own) ?? effectOf(listed.annotations, options.hints ?? "map");
    if (effect === "probe" && settings.probe === undefined)
      faults.push(`${own} is "probe" and has no probe: give one under with`);
    made.set(own, undefined);
    const name = toolName(prefix, own);
    const tool = defineTool({
      ...plain(settings),
      name,
      description: settings.description ?? listed.description ?? listed.title ?? own,
      effect,
      placement: options.placement ?? "worker",
      ...((settings.timeoutMs ?? options.timeoutMs)
        ? { timeoutMs: settings.timeoutMs ?? options.timeoutMs }
        : {}),
      ...schemasOf(listed, settings, name, notes, faults),
      compensation: compensationOf(own, settings, { made, make, agreed, faults }) as never, // Of this tool's own types.
    } as Parameters<typeof defineTool>[0]);
    const whole: Tool = { ...tool, body: bodyOf(connection, listed, effect, settings) };
    made.set(own, whole);
    return whole;
  };
  return make;
}

const plain = ({ retry, onDoubt, concurrencyMax, perSecondMax, approval }: McpToolSettings) => ({
  ...(retry === undefined ? {} : { retry }),
  ...(onDoubt === undefined ? {} : { onDoubt }),
  ...(concurrencyMax === undefined ? {} : { concurrencyMax }),
  ...(perSecondMax === undefined ? {} : { perSecondMax }),
  ...(approval === undefined ? {} : { approval }),
});

function schemasOf(
  { name: own, inputSchema, outputSchema }: ListedTool,
  { keyIn }: McpToolSettings,
  name: string,
  notes: string[],
  faults: string[],
): { input: z.ZodType; output: z.ZodType } {
  if (keyIn !== undefined && !Object.hasOwn((inputSchema["properties"] ?? {}) as object, keyIn))
    faults.push(`with: ${own} has no parameter "${keyIn}" for a key`);
  const input = readSchema(keyIn === undefined ? inputSchema : withoutProperty(inputSchema, keyIn));
  const output = outputSchema === undefined ? undefined : readSchema(outputSchema);
  for (const [side, read] of [
    ["input", input],
    ["output", output],
  ] as const)
    if (read !== undefined && read.unchecked.length > 0)
      notes.push(`${name}: of its ${side} the server alone checks ${read.unchecked.join(", ")}`);
  // Without a declared output: what the tool said, block by block.
  return { input: input.schema, output: output?.schema ?? z.array(z.looseObject({ type: z.string() })) };
}

/** What the runtime gives, the model need not. */
function withoutProperty(schema: JsonSchema, name: string): JsonSchema {
  const { [name]: _gone, ...properties } = (schema["properties"] ?? {}) as Record<string, unknown>;
  const required = ((schema["required"] ?? []) as string[]).filter((one) => one !== name);
  return { ...schema, properties, required };
}

function compensationOf(
  own: string,
  { compensation }: McpToolSettings,
  {
    made,
    make,
    agreed,
    faults,
  }: Pick<Making, "agreed" | "faults"> & {
    made: ReadonlyMap<string, Tool | undefined>;
    make: (own: string) => Tool;
  },
): unknown {
  if (compensation === undefined || compensation === "point_of_no_return") return compensation;
  const { tool, input } = compensation;
  if (typeof tool !== "string") return { tool, input };
  if (!agreed.has(tool)) faults.push(`the compensation of ${own} is "${tool}", which it does not have`);
  else if (made.has(tool) && made.get(tool) === undefined)
    faults.push(`${own} and "${tool}" compensate each other`);
  else return { tool: make(tool), input };
  return undefined;
}
