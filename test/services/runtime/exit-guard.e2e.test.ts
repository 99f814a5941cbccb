/**
 * Goal: a process of ours that was to exit does, with its code, whatever holds it.
 * Method: processes of Node alone whose exit is held: by a handler that never returns, and by one that blocks the thread
 * below JavaScript, as V8 does when it hangs. What is checked is how they ended, and what is left of them.
 */
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { until } from "../../support/real-mesh.ts";

const guard = new URL("../../../services/runtime/exit-guard.ts", import.meta.url).href;

interface Ended {
  readonly pid: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** A process that guards its exit, hears no SIGTERM, and does this. Told SIGTERM each 100 ms, as by an impatient system. */
function end(script: string): Promise<Ended> {
  const whole = `import { guardExit } from ${JSON.stringify(guard)};
guardExit();
process.on("SIGTERM", () => undefined);
${script}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", whole], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const { pid = 0, stderr } = child;
  let said = "";
  stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const asking = setInterval(() => said.includes("ends") && child.kill("SIGTERM"), 100);
  return new Promise((resolve) =>
    child.once("close", (code, signal) => {
      clearInterval(asking);
      resolve({ pid, code, signal, stderr: said });
    }),
  );
}

/** The guards of this process that run. */
async function guardsOf(pid: number): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "args="]);
  return stdout.split("\n").filter((line) => line.includes(`sagamesh-exit-guard ${pid} `));
}

const noneLeft = (pid: number) => until("no guard is left", async () => (await guardsOf(pid)).length === 0);

test("an exit that is held by a handler is forced, and the line says which code it would have had", async () => {
  const { pid, code, signal, stderr } = await end(`
    process.on("exit", () => { for (;;); });
    console.error("ends");
    process.exit(7);`);
  expect({ code, signal }).toEqual({ code: null, signal: "SIGKILL" });
  expect(stderr).toBe("ends\nit had ended with code 7, and did not exit within 2 s: killed\n");
  await noneLeft(pid);
});

test("an exit whose thread is blocked below JavaScript is forced", async () => {
  const { pid, signal } = await end(`
    process.on("exit", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    console.error("ends");
    process.exit(0);`);
  expect(signal).toBe("SIGKILL");
  await noneLeft(pid);
});

test.each([
  ["process.exit", "process.exit(3);", 3],
  ["the end of what there is to do", "process.exitCode = 4;", 4],
  ["an exception that is not caught", `setTimeout(() => { throw new Error("odd"); });`, 1],
])("by %s a process ends with its own code, and its guard with it", async (_, script, expected) => {
  const { pid, code, signal, stderr } = await end(script);
  expect({ code, signal }).toEqual({ code: expected, signal: null });
  expect(stderr).not.toContain("killed");
  await noneLeft(pid);
});

test("where no process can be started, a process exits all the same", async () => {
  const { code, signal } = await end(`
    process.getBuiltinModule("node:child_process").spawn = () => { throw new Error("EAGAIN"); };
    process.exit(5);`);
  expect({ code, signal }).toEqual({ code: 5, signal: null });
});
