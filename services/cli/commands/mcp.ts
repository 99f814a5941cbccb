import type { PinDocument } from "../../../protocol/documents/pin.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { pinServer } from "../../runtime/mcp-pin.ts";
import { defineCommand } from "../frame/command.ts";
import { table } from "../frame/table.ts";

interface Flags {
  readonly command: readonly string[];
  readonly name: string | undefined;
  readonly env: readonly string[] | undefined;
  readonly setting: readonly string[] | undefined;
  readonly url: string | undefined;
  readonly header: readonly string[] | undefined;
}

/** A server's tools as a file that is read and committed. */
export const mcp = defineCommand({
  name: "mcp",
  summary: "pin the tools of an MCP server in a file, or check them against it",
  details:
    "pin asks the server, writes FILE and says what is new in it; without a command or --url it asks the server that FILE names.\n" +
    "An application takes the tools from the file: `await mcpTools({ pinned: new URL(FILE, import.meta.url) })`. Read it first:\n" +
    "`effect` of each tool decides what may be run twice, and a tool's own hints are not to be trusted.\n" +
    "check writes nothing; exit code 1 if the server's tools are not those of the file.",
  positionals: {
    action: { help: "pin or check", choices: ["pin", "check"] },
    file: { paths: "files", help: "the file, for example files.mcp.json" },
    command: { help: "behind --: the server's command and its arguments", multiple: true },
  },
  options: {
    name: { type: "string", hint: "NAME", help: "names the server, and begins the names of its tools" },
    env: {
      type: "string",
      hint: "VARIABLE",
      multiple: true,
      help: "a secret that the server gets from the environment; only its name is written",
    },
    setting: {
      type: "string",
      hint: "VARIABLE=VALUE",
      multiple: true,
      help: "a variable of the server's that is no secret",
    },
    url: { type: "string", hint: "URL", help: "a server that speaks streamable HTTP" },
    header: {
      type: "string",
      hint: "TEXT",
      multiple: true,
      help: "with --url, for example 'Authorization: Bearer $TOKEN'; $TOKEN is filled in by the worker",
    },
  },
  without: ["server", "data"],
  examples: [
    "sagamesh mcp pin files.mcp.json --name files -- npx -y @modelcontextprotocol/server-filesystem /srv/files",
    "sagamesh mcp check files.mcp.json",
  ],
  run: async ({ action, file, ...flags }, { output }) => {
    if (action !== "pin" && action !== "check") throw usage(`expected pin or check, got "${action}"`);
    const server = readServer(flags);
    if (action === "check" && (server !== undefined || flags.name !== undefined))
      throw usage("check asks the server that the file names");
    const document = await pinServer({ file, name: flags.name, server, write: action === "pin" });
    output.print(document, () => describe(document));
    return document.ok ? 0 : 1;
  },
});

const usage = (what: string) =>
  new MeshError("USAGE", `mcp: ${what}`, { remedy: "See sagamesh mcp --help." });

/** The server as it was typed; undefined if none was. */
function readServer({ command: words, env, setting = [], url, header = [] }: Flags): object | undefined {
  if (url !== undefined && words.length > 0) throw usage("a server has a command or a --url, not both");
  const [command, ...args] = words;
  const settings = pairs(setting, "=", "--setting", "VARIABLE=VALUE");
  const headersFrom = pairs(header, ":", "--header", "'Name: text with $VARIABLE'");
  if (url !== undefined) return { url, ...(headersFrom === undefined ? {} : { headersFrom }) };
  if (command === undefined) return undefined;
  return {
    command,
    args,
    ...(env === undefined ? {} : { env }),
    ...(settings === undefined ? {} : { settings }),
  };
}

function pairs(
  texts: readonly string[],
  separator: string,
  flag: string,
  form: string,
): Record<string, string> | undefined {
  if (texts.length === 0) return undefined;
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf(separator);
      if (at < 1) throw usage(`${flag}: expected ${form}`); // What was typed may be a secret.
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    }),
  );
}

function describe({ file, name, server, tools, written, ok }: PinDocument): string {
  const rows = tools.map(({ tool, change, effect, what, hints }) => [
    tool,
    effect,
    change,
    what ??
      (Object.entries(hints)
        .filter(([, said]) => said)
        .map(([hint]) => hint)
        .join(" ") ||
        "no hints"),
  ]);
  return [
    `${name}: ${server.name} ${server.version}, MCP ${server.protocol}`,
    "",
    table(["TOOL", "EFFECT", "IN THE FILE", "IT SAYS"], rows),
    "",
    written
      ? `${file} is written. Read it: a tool is run again after a crash if its effect says so.`
      : ok
        ? `the server's tools are those of ${file}`
        : `the server's tools are not those of ${file}: its workers refuse to call what changed`,
  ].join("\n");
}
