/**
 * Starts a process of the mesh from a file beside this one, and tells when it serves and how it ended.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface SpawnedProcess {
  /** Its incarnation, once it serves. Rejects if it ends before. */
  readonly serves: Promise<string>;
  /** The signal that ended it, or its exit code. */
  readonly ended: Promise<string>;
  isRunning(): boolean;
  kill(): void;
}

/** Starts `<name>.ts` with these variables added to the environment. It dies with this process. */
export function spawnProcess(name: string, env: Readonly<Record<string, string>>): SpawnedProcess {
  const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ["--conditions=sagamesh-source", file], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  const ended = once(child, "exit").then(([code, signal]: unknown[]) => {
    process.off("exit", kill);
    return String(signal ?? code);
  });
  return {
    serves: servesLine(child, ended),
    ended,
    kill,
    isRunning: () => child.exitCode === null && child.signalCode === null,
  };
}

function servesLine(child: ChildProcess, ended: Promise<string>): Promise<string> {
  let said = "";
  const serves = new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += chunk.toString();
      if (process.env["SAGAMESH_TEST_LOG"] !== undefined) process.stdout.write(chunk);
      const incarnation = /^serves (\S+)$/m.exec(said)?.[1];
      if (incarnation !== undefined) resolve(incarnation);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    void ended.then((how) => reject(new Error(`it ended (${how}) before it served: ${said}`)));
  });
  serves.catch(() => undefined); // Who does not wait for it need not hear that it never came.
  return serves;
}
