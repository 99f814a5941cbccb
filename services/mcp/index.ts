/**
 * What an application imports as `sagamesh/mcp`.
 */
export type { McpEnvironment, McpHttpServer, McpServer, McpStdioServer } from "./server.ts";
export type { McpCall, McpToolSettings } from "./settings.ts";
export { mcpTools, type McpTools, type McpToolsOptions } from "./tools.ts";
