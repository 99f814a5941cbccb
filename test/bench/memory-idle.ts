/**
 * The resident size of an idle `sagamesh host`, started as its users start it, for memory.ts: from the sources
 * and from the build, each without and with a compile cache of an earlier start.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../services/runtime/system.ts";

const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const built = pathOf("dist/services/cli/main.js");
/** As in the first line of services/cli/main.ts and in the script `sagamesh` of package.json. */
const flags = ["--max-semi-space-size=16"];
const env = { ...process.env, MALLOC_ARENA_MAX: "2", LOG_LEVEL: "warn" };
const settleMs = 6_000;

interface IdleHost {
  readonly host: string;
  /** Bytes, one a start. */
  readonly rss: readonly number[];
}

/** Linux only: it reads the size where the system tells it. The build is left out where there is none. */
export async function measureIdle(url: string, starts: number): Promise<IdleHost[]> {
  const ways = [
    { way: "sources", args: ["--conditions=sagamesh-source", pathOf("services/cli/main.ts")] },
    ...(existsSync(built) ? [{ way: "build", args: [built] }] : []),
  ];
  const hosts: IdleHost[] = [];
  for (const { way, args } of ways) {
    const cold: number[] = [];
    const warm: number[] = [];
    for (let start = 0; start < starts; start++) {
      const cache = await mkdtemp(join(tmpdir(), "sagamesh-bench-"));
      cold.push(await startIdle(args, url, cache));
      warm.push(await startIdle(args, url, cache));
      await rm(cache, { recursive: true });
    }
    hosts.push({ host: `idle, ${way}, cold`, rss: cold }, { host: `idle, ${way}, warm`, rss: warm });
  }
  return hosts;
}

async function startIdle(args: readonly string[], url: string, cache: string): Promise<number> {
  const words = [...flags, ...args, "host", "--app", pathOf("test/bench/idle-app.js"), "--server", url];
  const child = spawn(process.execPath, words, {
    env: { ...env, NODE_COMPILE_CACHE: cache },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), ended]);
  await systemClock.sleep(settleMs);
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  child.kill("SIGTERM"); // Ended so, it writes its compile cache.
  await ended;
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}
