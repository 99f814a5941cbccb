/**
 * MCP pin: a server's tools beside the file that says what was agreed to.
 */
import { existsSync, writeFileSync } from "node:fs";
import type { PinDocument } from "../../protocol/documents/pin.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { pin, type PinnedFile, readPinned } from "../mcp/pinned.ts";
import { ServerConfig, ServerName } from "../mcp/server.ts";

export interface PinOrder {
  readonly file: string;
  /** Else the file's own. */
  readonly name: string | undefined;
  /** As a pinned file holds it; else the file's own. */
  readonly server: object | undefined;
  /** Write the file as the server's tools are now; else only look. */
  readonly write: boolean;
}

/**
 * Asks the server and compares, and writes the file if told to. Throws USAGE for an order that cannot be, APP_INVALID
 * for a file that is no pinned server, TOOL_UNAVAILABLE for a server that cannot be asked.
 */
export async function pinServer({ file, write, ...order }: PinOrder): Promise<PinDocument> {
  const before = existsSync(file) ? readPinned(file) : undefined;
  const given = order.server ?? before?.server;
  if (given === undefined)
    throw usage(`there is no ${file} yet: name the server's command behind --, or its --url`);
  const name = order.name ?? before?.name;
  if (name === undefined) throw usage("--name NAME is missing");
  if (!ServerName.safeParse(name).success)
    throw usage(`"${name}" is not a server's name: a letter, then up to 31 letters, digits, _ or -`);
  const server = ServerConfig.safeParse(given);
  // What was typed is not repeated: it may be a secret.
  if (!server.success)
    throw usage(
      "the server cannot be so: a variable is named by letters, digits and _, a header names its secret as $VARIABLE, a URL begins with http:// or https://",
    );
  const { askServer } = await import("../mcp/ask-server.ts"); // A command's help needs no client.
  const { file: pinned, changes } = pin(name, server.data, await askServer(name, server.data), before);
  if (write) writeFile(file, pinned);
  return {
    file,
    name,
    server: pinned.listed,
    ok: write || changes.every(({ change }) => change === "same"),
    written: write,
    tools: changes.map((change) => ({ ...change, hints: pinned.tools[change.tool]?.annotations ?? {} })),
  };
}

const usage = (what: string) =>
  new MeshError("USAGE", `mcp: ${what}`, { remedy: "See sagamesh mcp --help." });

function writeFile(file: string, pinned: PinnedFile): void {
  try {
    writeFileSync(file, `${JSON.stringify(pinned, null, 2)}\n`);
  } catch (error) {
    throw usage(`${file} cannot be written: ${describeError(error)}`);
  }
}
