/** An agent that has tools of a pinned MCP server and may run code: what a host loads of them is nothing. */
import { defineAgent, defineApp } from "sagamesh";
import type { ModelPort } from "sagamesh/models";
import { mcpTools } from "sagamesh/mcp";
import { runCode } from "sagamesh/sandbox";
import { z } from "zod";

const files = await mcpTools({ pinned: new URL("../examples/file-clerk.mcp.json", import.meta.url) });
const silent: ModelPort = { name: "silent", decide: () => Promise.reject(new Error("nobody asks it")) };

const tooled = defineAgent({
  name: "tooled",
  version: 1,
  description: "Has tools.",
  model: "silent",
  instructions: "None.",
  input: z.object({}),
  output: z.string(),
  signals: {},
  tools: [...files, runCode()],
});

export default defineApp({ sagas: [tooled], models: { silent } });
