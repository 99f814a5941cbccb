/**
 * The `nats` command line for tests: the one on the PATH, else a copy built once with Go into the cache folder.
 *
 * N1 A copy enters the cache by a rename, after it ran; one process builds at a time, and whoever waited uses
 *    what the other built.
 * N2 Where it can neither be found nor built, the reason is returned: the test that needs it is skipped and
 *    says so.
 */
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../../protocol/errors.ts";
import { findOnPath, runCommand } from "../../services/nats/server/command.ts";
import { withFileLock } from "../../services/nats/server/file-lock.ts";
import { cacheFolder } from "../../services/nats/server/user-folders.ts";

const natscli = "github.com/nats-io/natscli";
/** An exact version: a module mirror may have no list of versions to find the latest in. */
const version = "v0.4.0";
const buildTimeoutMs = 10 * 60_000;
const { env } = process;

/** Path of the executable, or why there is none. */
export type NatsCli = { readonly path: string } | { readonly missing: string };

/** Finds the command line or builds it, which takes about a minute, once. */
export async function ensureNatsCli(): Promise<NatsCli> {
  const [onPath] = await findOnPath("nats", env);
  if (onPath !== undefined && (await runs(onPath))) return { path: onPath };
  const cacheDir = cacheFolder(env);
  const cached = join(cacheDir, `nats-${version}`);
  if (await runs(cached)) return { path: cached };
  const [go] = await findOnPath("go", env);
  if (go === undefined) return { missing: "there is no `nats` on the PATH, and no Go to build it with" };
  await mkdir(cacheDir, { recursive: true, mode: 0o700 });
  try {
    await withFileLock({ path: `${cached}.lock` }, async () => {
      if (!(await runs(cached))) await build(go, cacheDir, cached);
    });
    return { path: cached };
  } catch (error) {
    return {
      missing: `there is no \`nats\` on the PATH, and it could not be built: ${describeError(error)}`,
    };
  }
}

const runs = (path: string): Promise<boolean> =>
  runCommand({ file: path, args: ["--version"], env, timeoutMs: 10_000 }).then(
    () => true,
    () => false,
  );

async function build(go: string, cacheDir: string, target: string): Promise<void> {
  const workDir = await mkdtemp(join(cacheDir, "nats-cli-"));
  try {
    // A module of its own that needs the command's package: `go install` would ask the mirror for a list.
    await writeFile(join(workDir, "go.mod"), "module scratch\n");
    await writeFile(
      join(workDir, "main.go"),
      `package main\n\nimport _ "${natscli}/cli"\n\nfunc main() {}\n`,
    );
    const own = { ...env, GOFLAGS: "-mod=mod", GOWORK: "off", CGO_ENABLED: "0" };
    const run = (...args: string[]) =>
      runCommand({ file: go, args, env: own, timeoutMs: buildTimeoutMs, cwd: workDir });
    await run("get", `${natscli}@${version}`);
    await run("mod", "tidy");
    await run("build", "-trimpath", "-o", "nats", `${natscli}/nats`);
    const built = join(workDir, "nats");
    await runCommand({ file: built, args: ["--version"], env, timeoutMs: 10_000 });
    await rename(built, target); // N1
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}
