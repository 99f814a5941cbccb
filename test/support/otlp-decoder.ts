/**
 * The OpenTelemetry Collector's own reader of requests (its module `pdata`), as a small program that is built once with Go: it takes
 * a request on stdin and prints what was read, or the reason why it cannot be.
 *
 * OTLP1 A copy enters the cache by a rename; one process builds at a time, and whoever waited uses what the other built.
 * OTLP2 Where it cannot be built the reason is returned: the test that needs it is skipped and says so.
 */
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../../protocol/errors.ts";
import { findOnPath, runCommand } from "../../services/nats/server/command.ts";
import { withFileLock } from "../../services/nats/server/file-lock.ts";
import { cacheFolder } from "../../services/nats/server/user-folders.ts";

const pdata = "go.opentelemetry.io/collector/pdata";
/** An exact version: a module mirror may have no list of versions to find the latest in. */
const version = "v1.71.0";
const buildTimeoutMs = 10 * 60_000;
const { env } = process;

/** Path of the executable, or why there is none. */
export type OtlpDecoder = { readonly path: string } | { readonly missing: string };

/** Finds the program or builds it, which takes about half a minute, once. */
export async function ensureOtlpDecoder(): Promise<OtlpDecoder> {
  const cacheDir = cacheFolder(env);
  const cached = join(cacheDir, `otlp-decoder-${version}`);
  const isThere = () =>
    stat(cached).then(
      () => true,
      () => false,
    );
  if (await isThere()) return { path: cached };
  const [go] = await findOnPath("go", env);
  if (go === undefined) return { missing: "there is no Go to build the Collector's reader with" };
  await mkdir(cacheDir, { recursive: true, mode: 0o700 });
  try {
    await withFileLock({ path: `${cached}.lock` }, async () => {
      if (!(await isThere())) await build(go, cacheDir, cached);
    });
    return { path: cached };
  } catch (error) {
    return { missing: `the Collector's reader could not be built: ${describeError(error)}` };
  }
}

const program = `package main

import (
	"fmt"
	"io"
	"os"

	"${pdata}/ptrace"
	"${pdata}/ptrace/ptraceotlp"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	body, err := io.ReadAll(os.Stdin)
	check(err)
	request := ptraceotlp.NewExportRequest()
	check(request.UnmarshalJSON(body))
	// Through the wire's own form, which holds nothing that the protocol does not define.
	bytes, err := request.MarshalProto()
	check(err)
	again := ptraceotlp.NewExportRequest()
	check(again.UnmarshalProto(bytes))
	read, err := (&ptrace.JSONMarshaler{}).MarshalTraces(again.Traces())
	check(err)
	os.Stdout.Write(read)
}
`;

async function build(go: string, cacheDir: string, target: string): Promise<void> {
  const workDir = await mkdtemp(join(cacheDir, "otlp-decoder-"));
  try {
    await writeFile(join(workDir, "go.mod"), "module scratch\n");
    await writeFile(join(workDir, "main.go"), program);
    const own = { ...env, GOFLAGS: "-mod=mod", GOWORK: "off", CGO_ENABLED: "0" };
    const run = (...args: string[]) =>
      runCommand({ file: go, args, env: own, timeoutMs: buildTimeoutMs, cwd: workDir });
    await run("get", `${pdata}@${version}`);
    await run("build", "-trimpath", "-o", "decoder", ".");
    await rename(join(workDir, "decoder"), target); // OTLP1
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}
