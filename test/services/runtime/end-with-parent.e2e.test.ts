/**
 * A process for suspects ends with its parent, by SIGKILL too, while it holds its own loop for ever.
 *
 * Method: a process that starts one as a host does, whose application spins as it is loaded; the parent is killed.
 */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { until } from "../../support/real-mesh.ts";

const entry = fileURLToPath(new URL("../../support/isolating-process.ts", import.meta.url));

/** Neither gone nor a dead one that its new parent has not looked at. */
const isRunning = async (pid: number): Promise<boolean> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat !== undefined && !/\) Z /.test(stat);
};

test.skipIf(process.platform !== "linux")(
  "a child that holds its loop for ever is gone soon after its parent was killed (JH1)",
  async () => {
    const parent = spawn(process.execPath, ["--conditions=sagamesh-source", entry], { stdio: "pipe" });
    let said = "";
    parent.stderr.on("data", (text: Buffer) => (said += text.toString()));
    const spins = () => Number(/spins (\d+)/.exec(said)?.[1] ?? 0);
    try {
      await until("its child spins", () => spins() > 0, 60_000);
      expect(await isRunning(spins())).toBe(true);
      parent.kill("SIGKILL");
      await until("the child is gone", async () => !(await isRunning(spins())), 30_000);
    } finally {
      parent.kill("SIGKILL");
      if (spins() > 0 && (await isRunning(spins()))) process.kill(spins(), "SIGKILL");
    }
  },
);
