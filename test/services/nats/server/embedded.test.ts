/**
 * Goal: one data folder has at most one server; whoever comes finds it; it ends when the last one leaves and
 * not before. Method: the real nats-server, real processes, SIGKILL.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type EmbeddedServer,
  findRunningServer,
  startEmbeddedServer,
  stopEmbeddedServer,
} from "../../../../services/nats/server/embedded.ts";
import { startTestServer } from "../../../support/nats-server.ts";

let dataDir: string;
const report = () => {};

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "sagamesh embedded-"));
});
afterEach(async () => {
  await stopEmbeddedServer(dataDir);
  await rm(dataDir, { recursive: true, force: true });
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** A process, and group of processes, of its own that is ready to start the server when `begin` is called. */
const prepareElsewhere = async () => {
  const program = join(dataDir, "start.ts");
  const source = new URL("../../../../services/nats/server/embedded.ts", import.meta.url).href;
  await writeFile(
    program,
    `import { startEmbeddedServer } from ${JSON.stringify(source)};
     setInterval(() => {}, 1000);
     process.once("message", async () => {
       process.send({ ...(await startEmbeddedServer({ dataDir: ${JSON.stringify(dataDir)}, report: () => {} })) });
     });
     process.send("ready");`,
  );
  const child = fork(program, { detached: true });
  await once(child, "message");
  const begin = async (): Promise<EmbeddedServer> => {
    const answer = once(child, "message");
    child.send("begin");
    return ((await answer) as [EmbeddedServer])[0];
  };
  return { child, begin };
};

/** As a terminal does when it is closed, and harder: nothing of the group can clean up. */
const killGroup = async (child: ChildProcess): Promise<void> => {
  const exited = once(child, "exit");
  process.kill(-child.pid!, "SIGKILL");
  await exited;
};

test("a server is started once, reused while it runs, and ended by whoever leaves last", async () => {
  const first = await startEmbeddedServer({ dataDir, report });
  const second = await startEmbeddedServer({ dataDir, report });
  expect([first.started, second.started]).toEqual([true, false]);
  expect(second.url).toBe(first.url);
  await first.stop();
  await first.stop();
  expect(await findRunningServer(dataDir)).toMatchObject({ pid: first.pid, url: first.url });
  await second.stop();
  await expect.poll(() => isAlive(first.pid)).toBe(false);
  expect(await findRunningServer(dataDir)).toBeUndefined();
});

test("a server that was stopped comes back on its port, on another if that one is taken", async () => {
  const first = await startEmbeddedServer({ dataDir, report });
  await first.stop();
  const second = await startEmbeddedServer({ dataDir, report });
  expect(second.url).toBe(first.url);
  await second.stop();
  const stranger = createServer().listen(Number(new URL(first.url).port), "127.0.0.1");
  try {
    await once(stranger, "listening");
    const third = await startEmbeddedServer({ dataDir, report });
    expect(third.url).not.toBe(first.url);
  } finally {
    stranger.close();
  }
});

test("of those who lost the server one starts it again, and both are on it", async () => {
  const [one, other] = [
    await startEmbeddedServer({ dataDir, report }),
    await startEmbeddedServer({ dataDir, report }),
  ];
  process.kill(one.pid, "SIGKILL");
  await expect.poll(() => isAlive(one.pid)).toBe(false);
  const revived = await Promise.all([one.revive(), other.revive()]);
  expect(new Set(revived.map(({ pid }) => pid)).size).toBe(1);
  expect(revived[0].pid).not.toBe(one.pid);
  expect(revived.map(({ url }) => url)).toEqual([one.url, one.url]);
});

test("a stopped server shut down cleanly and left no record", async () => {
  const server = await startEmbeddedServer({ dataDir, report });
  await server.stop();
  expect(await readFile(join(dataDir, "server.log"), "utf8")).toContain("Server Exiting");
  await expect(access(join(dataDir, "server.json"))).rejects.toThrow();
});

test("a record of a server that is gone is ignored, and the new one takes the old port", async () => {
  const first = await startEmbeddedServer({ dataDir, report });
  process.kill(first.pid, "SIGKILL");
  await expect.poll(() => findRunningServer(dataDir)).toBeUndefined();
  const second = await startEmbeddedServer({ dataDir, report });
  expect(second.started).toBe(true);
  expect(second.pid).not.toBe(first.pid);
  expect(second.url).toBe(first.url);
});

test("a record that names another server's port is ignored, and that server is left alone", async () => {
  const other = await startTestServer();
  try {
    const record = { pid: other.pid, nonce: "somebody-else", url: other.url, syncAlways: false };
    await writeFile(join(dataDir, "server.json"), JSON.stringify(record));
    expect(await findRunningServer(dataDir)).toBeUndefined();
    expect(await stopEmbeddedServer(dataDir)).toBe(false);
    const server = await startEmbeddedServer({ dataDir, report });
    expect(server.url).not.toBe(other.url);
    expect(isAlive(other.pid)).toBe(true);
  } finally {
    await other.stop();
  }
});

test("a damaged record is ignored", async () => {
  await writeFile(join(dataDir, "server.json"), '{"pid":');
  expect((await startEmbeddedServer({ dataDir, report })).started).toBe(true);
});

test("the server survives the SIGKILL of its starter's process group; the next one reuses it and ends it", async () => {
  const { child, begin } = await prepareElsewhere();
  const server = await begin();
  await killGroup(child);
  const next = await startEmbeddedServer({ dataDir, report });
  expect(next).toMatchObject({ started: false, pid: server.pid, url: server.url });
  await next.stop();
  expect(await findRunningServer(dataDir)).toBeUndefined();
  expect(await readdir(join(dataDir, "users"))).toEqual([]);
});

test("a server that another process uses outlives its starter's stop", async () => {
  const here = await startEmbeddedServer({ dataDir, report });
  const { child, begin } = await prepareElsewhere();
  const there = await begin();
  expect(there).toMatchObject({ started: false, pid: here.pid });
  await here.stop();
  expect(await findRunningServer(dataDir)).toMatchObject({ pid: here.pid });
  await killGroup(child);
});

test("a user whose number another process has by now is none any more", async () => {
  const server = await startEmbeddedServer({ dataDir, report });
  const [own = ""] = await readdir(join(dataDir, "users"));
  const [pid, start, ...rest] = own.split(".");
  await writeFile(join(dataDir, "users", [pid, `${start}1`, ...rest].join(".")), "");
  await server.stop();
  await expect.poll(() => isAlive(server.pid), { timeout: 5_000 }).toBe(false);
});

test("a user in another space of process ids cannot be asked after, and keeps the server", async () => {
  const server = await startEmbeddedServer({ dataDir, report });
  const [own = ""] = await readdir(join(dataDir, "users"));
  const [pid, , space, token] = own.split(".");
  await writeFile(join(dataDir, "users", [pid, "1", `${space}1`, token].join(".")), "");
  await server.stop();
  expect(isAlive(server.pid)).toBe(true);
});

test("stopping by force ends a server that is in use, once", async () => {
  await startEmbeddedServer({ dataDir, report });
  expect(await stopEmbeddedServer(dataDir)).toBe(true);
  expect(await stopEmbeddedServer(dataDir)).toBe(false);
});

test("a server whose starter died before it wrote the address is waited for, not started beside", async () => {
  const server = await startEmbeddedServer({ dataDir, report });
  const path = join(dataDir, "server.json");
  const { url: _lost, ...unfinished } = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
  await writeFile(path, JSON.stringify(unfinished));
  expect(await startEmbeddedServer({ dataDir, report })).toMatchObject({ started: false, pid: server.pid });
  expect(await findRunningServer(dataDir)).toMatchObject({ url: server.url });
});

test("four calls in three processes at the same time end up on one server, started by one", async () => {
  const elsewhere = await Promise.all([prepareElsewhere(), prepareElsewhere()]);
  const here = () => startEmbeddedServer({ dataDir, report });
  const servers = await Promise.all([here(), here(), ...elsewhere.map(({ begin }) => begin())]);
  await Promise.all(elsewhere.map(({ child }) => killGroup(child)));
  const pids = new Set(servers.map(({ pid }) => pid));
  // A second server would be on the store with the first: end it before the assertion, so that none is left.
  for (const pid of pids) if (pids.size > 1) process.kill(pid, "SIGKILL");
  expect(pids.size).toBe(1);
  expect(servers.filter(({ started }) => started)).toHaveLength(1);
});

test("a server that flushes lazily is refused to a caller who asks for sync_interval: always", async () => {
  await startEmbeddedServer({ dataDir, report });
  await expect(startEmbeddedServer({ dataDir, report, syncAlways: true })).rejects.toThrow(
    "SERVER_MISCONFIGURED",
  );
});

test("with syncAlways the running server reports that it syncs always, without it that it does not", async () => {
  expect(await readsSyncAlways(false)).toBe(false);
  expect(await readsSyncAlways(true)).toBe(true);
});

/** What a server started this way says of itself on its monitoring port. */
const readsSyncAlways = async (syncAlways: boolean): Promise<boolean> => {
  const extraConfig = `http: "127.0.0.1:-1"`;
  const server = await startEmbeddedServer({ dataDir, report, syncAlways, extraConfig });
  const path = join(dataDir, "ports", `nats-server_${server.pid}.ports`);
  const { monitoring } = JSON.parse(await readFile(path, "utf8")) as { monitoring: [string] };
  const answer = await fetch(`${monitoring[0]}/varz`);
  const { jetstream } = (await answer.json()) as { jetstream: { config: { sync_always?: boolean } } };
  await server.stop();
  expect(server.syncAlways).toBe(syncAlways);
  return jetstream.config.sync_always ?? false;
};

test("a server that refuses its configuration is UNAVAILABLE with the server's own words", async () => {
  const started = startEmbeddedServer({ dataDir, report, extraConfig: "no_such_option: 1" });
  await expect(started).rejects.toThrow(/UNAVAILABLE.*no_such_option/s);
  expect(await findRunningServer(dataDir)).toBeUndefined();
});

test("a folder that cannot be made is refused at once, wherever it would be", async () => {
  const file = join(dataDir, "file");
  await writeFile(file, "");
  for (const path of [join(file, "below"), file, "/proc/sagamesh/server"])
    await expect(startEmbeddedServer({ dataDir: path, report })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      remedy: expect.stringContaining("SAGAMESH_DATA"),
    });
});

test("an aborted start leaves no server", async () => {
  const abort = new AbortController();
  const started = startEmbeddedServer({ dataDir, report, signal: abort.signal });
  const record = join(dataDir, "server.json");
  await expect
    .poll(
      () =>
        access(record).then(
          () => true,
          () => false,
        ),
      { interval: 1 },
    )
    .toBe(true);
  const { pid } = JSON.parse(await readFile(record, "utf8")) as { pid: number };
  abort.abort(new Error("enough"));
  const outcome = await started.then(() => "started", String);
  // The start may have been a moment ahead of the abort; then it stands, and is stopped after the test.
  if (outcome !== "started") {
    expect(outcome).toContain("enough");
    await expect.poll(() => isAlive(pid)).toBe(false);
  }
});
