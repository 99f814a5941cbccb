/**
 * Goal: a nats-server is found or got once, and nothing unproven is ever kept.
 * Method: real folders, real processes and real downloads from a server of the test; the binaries are
 * scripts that tell a version.
 */
import { execFileSync, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isMeshError } from "../../../../protocol/errors.ts";
import { ensureServerBinary } from "../../../../services/nats/server/binary.ts";
import { createReleaseWay } from "../../../../services/nats/server/release.ts";
import type { ServerWay } from "../../../../services/nats/server/way.ts";

let root: string;
let cacheDir: string;
let lines: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sagamesh-binary-"));
  cacheDir = join(root, "cache");
  lines = [];
});
afterEach(() => rm(root, { recursive: true, force: true }));

const report = (line: string) => void lines.push(line);

const writeServer = async (folder: string, version: string): Promise<string> => {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "nats-server");
  await writeFile(path, `#!/bin/sh\necho "nats-server: v${version}"\n`);
  await chmod(path, 0o755);
  return path;
};

/** A way that brings a script of this version, and counts how often it was asked. */
const createWay = (version: string, name = "a cheap way") => {
  const way = {
    name,
    calls: 0,
    get: ({ workDir }: { workDir: string }) => {
      way.calls += 1;
      return writeServer(workDir, version);
    },
  };
  return way;
};

const failingWay = (name: string, reason: string): ServerWay => ({
  name,
  get: () => Promise.reject(new Error(reason)),
});

/** Only what is named is on this PATH; the scripts' own shell has an absolute path. */
const onPath = (...folders: string[]) => ({ PATH: folders.join(":") });

describe("the PATH", () => {
  test("a new enough nats-server on the PATH is taken and nothing is got", async () => {
    const path = await writeServer(join(root, "bin"), "2.15.2");
    const way = createWay("2.14.5");
    const env = onPath(join(root, "bin"));
    const binary = await ensureServerBinary({ report, cacheDir, env, ways: [way] });
    expect(binary).toEqual({ path, version: "2.15.2", from: "PATH" });
    expect(way.calls).toBe(0);
  });

  test("an old nats-server on the PATH is passed over, with a line that names its version", async () => {
    await writeServer(join(root, "bin"), "2.9.10");
    const env = onPath(join(root, "bin"));
    const binary = await ensureServerBinary({ report, cacheDir, env, ways: [createWay("2.14.5")] });
    expect(binary.from).toBe("a cheap way");
    expect(lines.join("\n")).toContain("2.9.10");
  });

  test("a new enough one behind an old one on the PATH is found", async () => {
    await writeServer(join(root, "old"), "2.9.10");
    const path = await writeServer(join(root, "new"), "2.14.5");
    const env = onPath(join(root, "old"), join(root, "new"));
    expect((await ensureServerBinary({ report, cacheDir, env, ways: [] })).path).toBe(path);
  });
});

describe("the cache", () => {
  test("the second call uses the cached copy and gets nothing", async () => {
    const way = createWay("2.14.5");
    const first = await ensureServerBinary({ report, cacheDir, env: onPath(), ways: [way] });
    const second = await ensureServerBinary({ report, cacheDir, env: onPath(), ways: [way] });
    expect(second).toEqual({ ...first, from: "cache" });
    expect(way.calls).toBe(1);
  });

  test("a cached copy that is too old is replaced", async () => {
    await writeServer(cacheDir, "2.12.0");
    const binary = await ensureServerBinary({ report, cacheDir, env: onPath(), ways: [createWay("2.14.5")] });
    expect(binary.version).toBe("2.14.5");
  });

  test("two calls at a time get one binary once", async () => {
    const way = createWay("2.14.5");
    const options = { report, cacheDir, env: onPath(), ways: [way] };
    const both = await Promise.all([ensureServerBinary(options), ensureServerBinary(options)]);
    expect(new Set(both.map((binary) => binary.path)).size).toBe(1);
    expect(way.calls).toBe(1);
    expect(lines.filter((line) => line.includes("waiting"))).toHaveLength(1);
  });

  test("two processes at a time get one binary once", async () => {
    const program = join(root, "get.ts");
    const source = new URL("../../../../services/nats/server/binary.ts", import.meta.url).href;
    await writeFile(
      program,
      `import { appendFile, chmod, writeFile } from "node:fs/promises";
       import { join } from "node:path";
       import { ensureServerBinary } from ${JSON.stringify(source)};
       const way = { name: "slow", get: async ({ workDir }) => {
         await appendFile(${JSON.stringify(join(root, "calls"))}, "x");
         await new Promise((done) => setTimeout(done, 300));
         const path = join(workDir, "nats-server");
         await writeFile(path, "#!/bin/sh\\necho nats-server: v2.14.5\\n");
         return path;
       } };
       const cacheDir = ${JSON.stringify(cacheDir)};
       await ensureServerBinary({ report: () => {}, cacheDir, env: { PATH: "" }, ways: [way] });`,
    );
    const children = [fork(program), fork(program)];
    const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0] as number));
    expect(codes).toEqual([0, 0]);
    expect(await readFile(join(root, "calls"), "utf8")).toBe("x");
    expect(await readdir(cacheDir)).toEqual(["nats-server"]);
  });

  test("what a killed process left behind neither blocks the next one nor stays", async () => {
    await mkdir(join(cacheDir, "work-abandoned"), { recursive: true });
    const lock = join(cacheDir, "nats-server.lock");
    const deadPid = Number(execFileSync("sh", ["-c", "echo $$"]).toString());
    await writeFile(lock, JSON.stringify({ pid: deadPid, token: "x" }));
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock, longAgo, longAgo);
    await ensureServerBinary({ report, cacheDir, env: onPath(), ways: [createWay("2.14.5")] });
    expect(await readdir(cacheDir)).toEqual(["nats-server"]);
  });
});

test("a cache folder that cannot be written to is SERVER_MISSING with SAGAMESH_CACHE as the remedy", async () => {
  await writeFile(join(root, "file"), "");
  const options = {
    report,
    cacheDir: join(root, "file", "cache"),
    env: onPath(),
    ways: [createWay("2.14.5")],
  };
  await expect(ensureServerBinary(options)).rejects.toMatchObject({
    code: "SERVER_MISSING",
    remedy: expect.stringContaining("SAGAMESH_CACHE"),
  });
});

describe("the ways", () => {
  test("the next way is used when one fails, or brings a binary that is old or does not run", async () => {
    const broken: ServerWay = {
      name: "broken",
      get: async ({ workDir }) => {
        await writeFile(join(workDir, "nats-server"), "half a bin");
        return join(workDir, "nats-server");
      },
    };
    const ways = [
      failingWay("first", "no network"),
      createWay("2.9.10", "old"),
      broken,
      createWay("2.14.6", "last"),
    ];
    const binary = await ensureServerBinary({ report, cacheDir, env: onPath(), ways });
    expect(binary).toMatchObject({ version: "2.14.6", from: "last" });
    expect(await readdir(cacheDir)).toEqual(["nats-server"]);
  });

  test("when all fail there is one SERVER_MISSING that gives each way's reason, and nothing is kept", async () => {
    const ways = [failingWay("first", "no network"), failingWay("second", "no compiler")];
    const error = await ensureServerBinary({ report, cacheDir, env: onPath(), ways }).catch(
      (thrown: unknown) => thrown,
    );
    expect(isMeshError(error, "SERVER_MISSING")).toBe(true);
    expect(String(error)).toMatch(/first: no network[^]*second: no compiler/);
    expect(await readdir(cacheDir)).toEqual([]);
  });

  test("an abort ends the search at once, without trying the next way, and leaves nothing", async () => {
    const abort = new AbortController();
    const endless: ServerWay = {
      name: "endless",
      get: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
          abort.abort(new Error("enough"));
        }),
    };
    const next = createWay("2.14.5");
    const options = { report, cacheDir, env: onPath(), ways: [endless, next], signal: abort.signal };
    await expect(ensureServerBinary(options)).rejects.toThrow("enough");
    expect(next.calls).toBe(0);
    expect(await readdir(cacheDir)).toEqual([]);
  });
});

describe("the official release", () => {
  const env = { PATH: process.env.PATH };
  const platform = "linux-amd64";
  const folder = `nats-server-v2.14.5-${platform}`;

  const packArchive = async (): Promise<Buffer> => {
    const path = await writeServer(join(root, folder), "2.14.5");
    execFileSync("tar", ["-czf", join(root, "a.tar.gz"), "-C", root, `${folder}/nats-server`]);
    // The script must not be found on the PATH by accident: only the archive keeps it.
    await rm(path);
    return readFile(join(root, "a.tar.gz"));
  };

  const serve = async (listener: RequestListener, use: (baseUrl: string) => Promise<void>): Promise<void> => {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  };
  const get = async (way: ServerWay) => {
    const workDir = await mkdtemp(join(root, "work-"));
    return way.get({ workDir, report, env, signal: undefined });
  };

  test("an archive with the pinned checksum is unpacked", async () => {
    const archive = await packArchive();
    const sha256 = createHash("sha256").update(archive).digest("hex");
    await serve(
      (_request, response) => response.end(archive),
      async (baseUrl) => {
        const path = await get(createReleaseWay({ baseUrl, platform, sha256 }));
        expect(execFileSync(path).toString()).toContain("2.14.5");
      },
    );
  });

  test("an archive with another checksum is refused and not unpacked", async () => {
    const archive = await packArchive();
    await serve(
      (_request, response) => response.end(archive),
      async (baseUrl) => {
        await expect(get(createReleaseWay({ baseUrl, platform }))).rejects.toThrow("not the pinned one");
      },
    );
    const work = (await readdir(root)).find((name) => name.startsWith("work-"));
    expect(await readdir(join(root, work ?? ""))).toEqual(["release.tar.gz"]);
  });

  test("a server that takes the connection and says nothing is given up within seconds", async () => {
    await serve(
      () => {},
      async (baseUrl) => {
        const startedAt = performance.now();
        await expect(get(createReleaseWay({ baseUrl, platform }))).rejects.toThrow("no answer");
        expect(performance.now() - startedAt).toBeLessThan(60_000);
      },
    );
  }, 15_000);

  test("a platform without a pinned checksum downloads nothing", async () => {
    await expect(get(createReleaseWay({ platform: "plan9-mips" }))).rejects.toThrow("no checksum is pinned");
  });
});

/** The folders of a process with this environment and no other, as it prints them. */
function foldersWith(env: Record<string, string>): string[] {
  const source = new URL("../../../../services/nats/server/user-folders.ts", import.meta.url);
  const script = `import { cacheFolder, dataFolder } from ${JSON.stringify(source.href)};
    console.log(cacheFolder(process.env) + " " + dataFolder(process.env));`;
  const args = ["--input-type=module", "--eval", script];
  return execFileSync(process.execPath, args, { env, encoding: "utf8" }).trim().split(" ");
}

test("the folders follow the override, then the platform's habit", () => {
  const own = { SAGAMESH_CACHE: "/c", SAGAMESH_DATA: "/d", XDG_CACHE_HOME: "/x", HOME: "/h" };
  expect(foldersWith(own)).toEqual(["/c", "/d"]);
});

test.runIf(process.platform === "linux")(
  "on Linux they follow the XDG variables, then the home folder",
  () => {
    expect(foldersWith({ XDG_CACHE_HOME: "/x", XDG_DATA_HOME: "/y", HOME: "/h" })).toEqual([
      "/x/sagamesh",
      "/y/sagamesh",
    ]);
    expect(foldersWith({ HOME: "/h" })).toEqual(["/h/.cache/sagamesh", "/h/.local/share/sagamesh"]);
  },
);
