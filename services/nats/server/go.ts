/**
 * A nats-server built from its own source by the Go toolchain that is installed here.
 *
 * Owns: the call of `go install`. The Go checksum database and go.sum vouch for what is built.
 *
 * GB1 The module is asked for first, with a short limit, so that a missing network is noticed within seconds.
 */
import { join } from "node:path";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import { findOnPath, runCommand } from "./command.ts";
import { withProgress } from "../progress.ts";
import type { ServerWay, WayContext } from "./way.ts";
import { serverVersionFloor } from "../server-check.ts";

const goModule = "github.com/nats-io/nats-server/v2";
const askTimeoutMs = 15_000;
const buildTimeoutMs = 15 * 60_000;

export const goWay: ServerWay = {
  name: "go install",
  get: async ({ workDir, report, env, signal }: WayContext) => {
    const [go] = await findOnPath("go", env);
    if (go === undefined)
      throw new MeshError("SERVER_MISSING", "there is no Go toolchain on the PATH", {
        remedy: "Install Go 1.25 or newer to use this way.",
      });
    const target = `${goModule}@v${serverVersionFloor}`;
    const own = {
      ...env,
      GOBIN: workDir,
      GOFLAGS: "",
      GOWORK: "off",
      CGO_ENABLED: "0",
      GOOS: "",
      GOARCH: "",
    };
    const run = (args: string[], timeoutMs: number) =>
      runCommand({ file: go, args, env: own, timeoutMs, cwd: workDir, signal });

    await run(["list", "-m", target], askTimeoutMs).catch((error: unknown) => {
      throw new MeshError("SERVER_MISSING", describeError(error), {
        cause: error,
        remedy: "Let Go reach a module proxy (`go env GOPROXY`), or bring its version up to date.",
      });
    }); // GB1
    report(`Building nats-server ${serverVersionFloor} with go install (about half a minute, once).`);
    await withProgress(
      report,
      (seconds) => `  building nats-server: ${seconds} s`,
      () => run(["install", "-trimpath", "-ldflags=-s -w", target], buildTimeoutMs),
    );
    return join(workDir, "nats-server");
  },
};
