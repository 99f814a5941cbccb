/** Whether a process of this machine has ended, by what its entry says of it; asked of real processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ProcessMark } from "../../../protocol/host-entry.ts";
import { openProcesses } from "../../../services/runtime/processes.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

describe.skipIf(!existsSync("/proc/self/ns/pid"))("a process of this machine", () => {
  const tellMark = `
    const { openProcesses } = await import("./services/runtime/processes.ts");
    process.stdout.write(JSON.stringify(openProcesses().own));
    setInterval(() => undefined, 1_000);`;

  test("has ended once it was killed, and not before", async () => {
    const { hasEnded } = openProcesses()!;
    const child = spawn(
      process.execPath,
      ["--conditions=sagamesh-source", "--input-type=module", "-e", tellMark],
      { cwd: root, stdio: ["ignore", "pipe", "inherit"] },
    );
    try {
      const [said] = (await once(child.stdout, "data")) as [Buffer];
      const mark = ProcessMark.parse(JSON.parse(said.toString()));
      expect(mark.pid).toBe(child.pid);
      expect(hasEnded(mark)).toBe(false);
      child.kill("SIGSTOP");
      expect(hasEnded(mark)).toBe(false);
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      expect(hasEnded(mark)).toBe(true);
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("has ended where another one has its number, and is not spoken of where it is of another machine", () => {
    const { own, hasEnded } = openProcesses()!;
    expect(hasEnded(own)).toBe(false);
    expect(hasEnded({ ...own, began: "1" })).toBe(true); // KX1
    expect(hasEnded({ ...own, began: "1", machine: "another" })).toBe(false);
    expect(hasEnded({ ...own, pid: 1, began: "?" })).toBe(true);
  });
});
