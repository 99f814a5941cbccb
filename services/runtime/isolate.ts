/**
 * Isolate: starts a process for suspects, and hears how it ended.
 *
 * IO1 It has the options and the environment of its parent, so what kills one kills the other.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { MeshError } from "../../protocol/errors.ts";
import { ownFile } from "../process/own-file.ts";
import type { FromChild, Isolate, ToChild } from "../suspects/child.ts";
import type { GatewayConfig, LogLevel } from "./config.ts";

/** What the process is told first. The server's address may hold a password, so it is no argument. */
export interface IsolateOrder {
  readonly role: "host" | "worker";
  readonly appFile: string;
  readonly servers: string;
  readonly logLevel: LogLevel;
  /** Its secret is no argument either. */
  readonly gateway: GatewayConfig;
}

/** What the process says once it serves, before anything else. */
export interface Serves {
  readonly type: "serves";
}

const entry = fileURLToPath(ownFile("services/runtime/isolated-process"));

export const forkIsolated =
  (order: IsolateOrder): Isolate =>
  (hear) =>
    new Promise((resolve, reject) => {
      const child = fork(entry, [String(process.pid)], {
        serialization: "advanced",
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      const ended = new Promise<string>((end) => {
        child.once("exit", (code, signal) => end(String(signal ?? code)));
        child.once("error", (error) => end(error.message));
      });
      // A message that does not get through is followed by the child's end.
      const send = (message: ToChild | IsolateOrder) => void child.send(message, () => undefined);
      void ended.then((how) =>
        reject(new MeshError("UNAVAILABLE", `a process for suspects ended (${how}) before it served`)),
      );
      child.on("message", (message) => {
        const said = message as FromChild | Serves; // Proof: the process is isolated-process.ts of this package.
        if (said.type !== "serves") return hear(said);
        resolve({ pid: child.pid ?? 0, send, end: () => void child.kill("SIGKILL"), ended });
      });
      send(order);
    });
