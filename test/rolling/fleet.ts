/**
 * Fleet: the hosts and workers of a deployment, each the command that an operator would start, replaced one by one.
 *
 * FL1 Everything that was started is ended by `close`, whatever happened in between.
 */
import { type RunningCli, startCli } from "../support/cli.ts";
import { worldVariable } from "./office.ts";

export type Role = "host" | "worker";

/** A place in the fleet: the process there is replaced, the place stays. */
export interface Place {
  readonly role: Role;
  /** The application file that the process there serves, a name beside this file. */
  readonly serves: () => string;
  /** SIGTERM, then the same or another application in its place. Resolves when that serves. */
  replace(app: string): Promise<void>;
  /** SIGKILL, then the same application again. Resolves when it serves. */
  kill(): Promise<void>;
  /** SIGTERM and nothing in its place. Resolves with its exit code. */
  stop(): Promise<number | null>;
}

export interface Fleet {
  /** Starts a process in a place of its own. Resolves when it serves. */
  add(role: Role, app: string): Promise<Place>;
  /** Starts one that is expected to die while it starts; how it ended. */
  addBroken(role: Role, app: string): Promise<number | string | null>;
  close(): void;
}

/** A fleet on the server at the address, whose tools write into this file. */
export function createFleet(url: string, world: string): Fleet {
  const running = new Set<RunningCli>();
  const launch = (role: Role, app: string): RunningCli => {
    const cli = startCli([role, "--app", `test/rolling/${app}.ts`, "--server", url, "--json"], {
      env: { [worldVariable]: world, LOG_LEVEL: "warn" },
    });
    running.add(cli);
    void cli.ended.then(() => running.delete(cli));
    return cli;
  };
  const begin = async (role: Role, app: string): Promise<RunningCli> => {
    const cli = launch(role, app);
    await cli.says(`"role":"${role}"`);
    return cli;
  };
  return {
    add: async (role, app) => {
      let [present, serves] = [await begin(role, app), app];
      const stop = async () => {
        present.process.kill("SIGTERM");
        const { code, signal, stderr } = await present.ended;
        if (code !== 0) throw new Error(`${role} ${serves} ended with ${String(code ?? signal)}: ${stderr}`);
        return code;
      };
      return {
        role,
        serves: () => serves,
        replace: async (next) => {
          await stop();
          [present, serves] = [await begin(role, next), next];
        },
        kill: async () => {
          present.process.kill("SIGKILL");
          await present.ended;
          present = await begin(role, serves);
        },
        stop,
      };
    },
    addBroken: async (role, app) => {
      const { code, signal } = await launch(role, app).ended;
      return signal ?? code;
    },
    close: () => {
      for (const cli of running) cli.process.kill("SIGKILL");
    },
  };
}
