/**
 * A test's server ends with its test's process, by SIGKILL too: what a killed run leaves takes the next one's memory.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { until } from "./real-mesh.ts";

const entry = fileURLToPath(new URL("./server-process.ts", import.meta.url));

const lives = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a server whose test was killed is gone soon", async () => {
  const killed = spawn(process.execPath, ["--conditions=sagamesh-source", entry], { stdio: "pipe" });
  let said = "";
  killed.stdout.on("data", (text: Buffer) => (said += text.toString()));
  const pid = () => Number(/server (\d+)/.exec(said)?.[1] ?? 0);
  try {
    await until("it has a server", () => pid() > 0, 60_000);
    expect(lives(pid())).toBe(true);
    killed.kill("SIGKILL");
    await until("the server is gone", () => !lives(pid()), 30_000);
  } finally {
    killed.kill("SIGKILL");
    if (pid() > 0 && lives(pid())) process.kill(pid(), "SIGKILL");
  }
});
