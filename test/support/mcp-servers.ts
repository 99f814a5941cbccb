/**
 * MCP servers for tests: the reference servers as their packages bring them, and one that misbehaves.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "./free-port.ts";

const packages = new URL("../../node_modules/@modelcontextprotocol/", import.meta.url);
const mainOf = (name: string): string => fileURLToPath(new URL(`server-${name}/dist/index.js`, packages));

/** How a reference server is started, by this process's own node. */
export const referenceServer = (name: "filesystem" | "memory" | "everything", ...args: string[]) => ({
  command: process.execPath,
  args: [mainOf(name), ...args],
});

/** The server that misbehaves; its effects are lines of `file`. */
export function oddServer(folder: string, settings: Readonly<Record<string, string>> = {}) {
  const file = join(folder, "effects");
  return {
    file,
    toolsFile: join(folder, "tools.json"),
    /** Its effects so far. */
    lines: () => readFileSync(file, "utf8").trim().split("\n"),
    server: {
      name: "odd",
      command: process.execPath,
      args: [fileURLToPath(new URL("odd-mcp-server.ts", import.meta.url))],
      settings: { ODD_FILE: file, ODD_TOOLS: join(folder, "tools.json"), ...settings },
    },
  };
}

export interface HttpServer {
  readonly url: string;
  kill(): Promise<void>;
}

/** The reference server "everything" by streamable HTTP. */
export async function startEverything(port?: number): Promise<HttpServer> {
  const own = port ?? (await freePort());
  const child = spawn(process.execPath, [mainOf("everything"), "streamableHttp"], {
    env: { ...process.env, PORT: String(own) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  await heard(child, /listening on port/);
  return {
    url: `http://127.0.0.1:${own}/mcp`,
    kill: async () => {
      process.off("exit", kill);
      const ended = once(child, "exit");
      kill();
      await ended;
    },
  };
}

async function heard(child: ChildProcess, words: RegExp): Promise<void> {
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (words.test(said)) resolve();
    });
    child.once("exit", (code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
}
