/**
 * A file clerk on the tools of an MCP server: reads the letters in a folder and writes one answer.
 *
 * The tools come from a pinned file, so this file loads on a host without the server. Writing is `once`: whoever dies
 * in the middle of it leaves a doubt, and the clerk looks before it says anything. Made with
 *
 *     sagamesh mcp pin test/examples/file-clerk.mcp.json --name files -- \
 *       node node_modules/@modelcontextprotocol/server-filesystem/dist/index.js .
 */
import { defineAgent, defineApp } from "sagamesh";
import type { ModelRequest } from "sagamesh/models";
import { mcpTools } from "sagamesh/mcp";
import { scriptedModel } from "sagamesh/testing";
import { z } from "zod";

const files = await mcpTools({
  pinned: new URL("file-clerk.mcp.json", import.meta.url),
  // The folder is another one on each machine.
  args: [
    "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
    process.env["CLERK_FOLDER"] ?? "letters",
  ],
  allow: ["list_directory", "read_text_file", "write_file"],
  with: { write_file: { onDoubt: "model", timeoutMs: 2_000, compensation: "point_of_no_return" } },
});

const Output = z.object({ read: z.number(), answered: z.boolean(), note: z.string() });

export const clerk = defineAgent({
  name: "file-clerk",
  version: 1,
  description: "Reads the letters in a folder and answers them in one file.",
  model: "clerk",
  instructions:
    "Read every letter. Write one answer to answer.txt. If a write is in doubt, read the file to find out.",
  input: z.object({ folder: z.string() }),
  output: Output,
  signals: {},
  tools: files,
});

/** What a model would do; a real one takes its place by `anthropicModel({ model: … })`. */
function decide({ messages }: ModelRequest) {
  const [first] = messages;
  const prompt = first?.role === "user" && first.parts[0]?.type === "text" ? first.parts[0].text : "{}";
  const { folder } = JSON.parse(prompt) as { folder: string };
  const told = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  const results = told.filter((part) => part.type === "result");
  const of = (tool: string) => results.filter((part) => part.tool === tool);
  const listed = of("files_list_directory")[0];
  if (listed === undefined) return { calls: [{ tool: "files_list_directory", input: { path: folder } }] };
  const letters = [...contentOf(listed).matchAll(/^\[FILE\] (letter.*)$/gm)].map(
    ([, name]) => `${folder}/${name ?? ""}`,
  );
  const read = of("files_read_text_file");
  if (read.length === 0)
    return { calls: letters.map((path) => ({ tool: "files_read_text_file", input: { path } })) };
  const path = `${folder}/answer.txt`;
  const content = `Thank you for: ${read.slice(0, letters.length).map(contentOf).join("; ")}`;
  const written = of("files_write_file").at(-1);
  if (written === undefined) return { calls: [{ tool: "files_write_file", input: { path, content } }] };
  if (written.outcome === "succeeded") return finish(letters.length, true, "written");
  const look = read[letters.length];
  if (look === undefined) return { calls: [{ tool: "files_read_text_file", input: { path } }] };
  return contentOf(look) === content
    ? finish(letters.length, true, "it was in doubt, and is there")
    : finish(letters.length, false, "it was in doubt, and is not there");
}

const contentOf = ({ output }: { readonly output?: unknown }): string =>
  String((output as { content?: unknown } | undefined)?.content);
const finish = (read: number, answered: boolean, note: string) => ({
  calls: [{ tool: "finish", input: { output: { read, answered, note } } }],
});

export default defineApp({ sagas: [clerk], models: { clerk: scriptedModel("clerk", decide) } });
