/**
 * Several hosts as processes on a real server: they join, drain, die by SIGKILL, stand still by SIGSTOP, are
 * replaced one after the other, and both believe to own everything. Sagas run meanwhile, and all end.
 *
 * Method: `sagamesh host` as a person starts it. The outside's account is a file that every process appends a line
 * to, for each model request and each effect; it is held against the ledgers. What is checked is what happened and
 * how often, never how fast: test/bench/recovery.ts measures.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { decodeHostEntry, type HostEntry } from "../../protocol/host-entry.ts";
import type { Turn } from "../../protocol/turn.ts";
import { type RunningCli, runHere, startCli } from "../support/cli.ts";
import { checkAccount, checkEffects, type Line, linesOf, longAgent } from "../support/long-agent.ts";
import { ownOfFile } from "../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";
import { type SpawnedProcess, spawnProcess } from "../support/spawn-process.ts";

const own = ownOfFile("hosts", 12);

let runs = 0;

interface Run {
  readonly mesh: RealMesh;
  /** Starts `sagamesh host`, with these words more; resolves when it serves. */
  host(...words: string[]): Promise<RunningCli>;
  /** Starts a host that hears of no other. */
  lonelyHost(): Promise<SpawnedProcess>;
  /** Starts so many more sagas, and gives their ids. */
  start(count: number): Promise<string[]>;
  lines(): Promise<Line[]>;
}

async function withRun<T>(steps: number, thinkMs: number, work: (run: Run) => Promise<T>): Promise<T> {
  const world = join(own.folder, `world-${runs++}`);
  await writeFile(world, "");
  const mesh = await openRealMesh(own.server.nextUrl());
  const env = { MESH_WORLD: world, LONG_STEPS: String(steps), LONG_THINK_MS: String(thinkMs) };
  const { agent, app } = longAgent({
    by: "worker",
    steps,
    note: (line) => void writeFile(world, `${JSON.stringify(line)}\n`, { flag: "a" }),
    fails: () => false,
    think: async () => undefined,
  });
  await mesh.worker(app);
  const running: { kill(): void }[] = [];
  let begun = 0;
  try {
    return await work({
      mesh,
      host: async (...words) => {
        const command = ["host", "--app", "test/apps/marathon.ts", "--server", mesh.url, "--json", ...words];
        const cli = startCli(command, { env: { ...env, LOG_LEVEL: "info" } });
        running.push({ kill: () => cli.process.kill("SIGKILL") });
        await cli.says('"role":"host"');
        return cli;
      },
      lonelyHost: async () => {
        const more = { MESH_URL: mesh.url, LONG_ROLE: "host", LONG_ALONE: "yes" };
        const host = spawnProcess("long-process", { ...env, ...more });
        running.push(host);
        await host.serves;
        return host;
      },
      start: async (count) => {
        const ids = Array.from({ length: count }, () => `run-${begun++}`);
        await Promise.all(ids.map((id) => mesh.client.start(agent, {}, { id })));
        await until("all have begun", async () => {
          const heads = await Promise.all(ids.map((id) => mesh.head(id)));
          return heads.every((head) => head > 0);
        });
        return ids;
      },
      lines: async () =>
        (await readFile(world, "utf8"))
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as Line),
    });
  } finally {
    for (const one of running) one.kill();
    await mesh.close();
  }
}

interface Listed extends HostEntry {
  readonly host: string;
}

const list = async ({ ports }: RealMesh): Promise<Listed[]> =>
  (await ports.membership.hosts()).flatMap(({ host, data }) => {
    const entry = decodeHostEntry(data);
    return entry === undefined ? [] : [{ host, ...entry }];
  });

/** The process behind an incarnation, as its name tells. */
const pidOf = (incarnation: string): string =>
  /-(\d+)-[0-9a-f]{6}(-\d+)?$/.exec(incarnation)?.[1] ?? incarnation;
const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);

/** Waits until these hosts and no others have all partitions, each its share; what each has, by process. */
async function settled(mesh: RealMesh, hosts: readonly RunningCli[]): Promise<Map<string, number[]>> {
  const pids = hosts.map((host) => String(host.process.pid)).sort();
  const holdings = new Map<string, number[]>();
  await until("the partitions are shared evenly", async () => {
    holdings.clear();
    const listed = await list(mesh);
    for (const { host, partitions } of listed) holdings.set(pidOf(host), sorted(partitions));
    // Of one weight, unless one of them has too little of its machine.
    const all = listed.reduce((sum, { weight }) => sum + (weight?.now ?? 0), 0);
    const exact = (now = 0) => (mesh.ports.inbox.partitions * now) / all;
    const held = sorted([...holdings.values()].flat());
    return (
      String([...holdings.keys()].sort()) === String(pids) &&
      held.length === mesh.ports.inbox.partitions &&
      new Set(held).size === held.length &&
      listed.every(({ partitions: own, weight }) => Math.abs(own.length - exact(weight?.now)) < 1)
    );
  });
  return holdings;
}

/** How many partitions have another process than before. */
const moved = (
  before: ReadonlyMap<string, readonly number[]>,
  after: ReadonlyMap<string, readonly number[]>,
) =>
  [...after].flatMap(([pid, own]) => own.filter((partition) => before.get(pid)?.includes(partition) !== true))
    .length;

const pidOfHost = (host: RunningCli): number => host.process.pid ?? 0;

async function allEnd({ mesh }: Run, ids: readonly string[]): Promise<Map<string, Turn[]>> {
  const ledgers = new Map<string, Turn[]>();
  await until(
    "every saga ends",
    async () => {
      const ends = await Promise.all(ids.map(async (id) => (await mesh.view(id)).end?.status));
      return ends.every((status) => status === "completed");
    },
    60_000,
  );
  for (const id of ids) ledgers.set(id, await mesh.turns(id));
  expect(await mesh.letters()).toEqual([]);
  return ledgers;
}

/** The ledger with processes in place of incarnations, as the account names them. */
const byPid = (turns: readonly Turn[]): Turn[] =>
  turns.map((turn) => ({
    ...turn,
    steps: turn.steps.map((step) =>
      step.event.type === "result" ? { ...step, event: { ...step.event, by: pidOf(step.event.by) } } : step,
    ),
  }));

describe.concurrent("hosts on one server", () => {
  test("share the partitions evenly, and a host that joins, drains or dies moves no more than it must", async () => {
    await withRun(1, 0, async ({ mesh, host }) => {
      const a = await host();
      const one = await settled(mesh, [a]);
      const b = await host();
      const two = await settled(mesh, [a, b]);
      expect(moved(one, two)).toBe(4);
      const c = await host();
      const three = await settled(mesh, [a, b, c]);
      expect(moved(two, three)).toBe(2);
      b.process.kill("SIGTERM");
      expect((await b.ended).code).toBe(0);
      const left = await settled(mesh, [a, c]);
      expect(moved(three, left)).toBe(three.get(String(pidOfHost(b)))?.length);
      c.process.kill("SIGKILL");
      const last = await settled(mesh, [a]);
      expect(moved(left, last)).toBe(left.get(String(pidOfHost(c)))?.length);
    });
  }, 60_000);

  test("of three times the weight takes three times the partitions, and doctor says its weight", async () => {
    await withRun(1, 0, async ({ mesh, host }) => {
      const [heavy, light] = [await host("--weight", "3"), await host()];
      const shares = async () =>
        new Map((await list(mesh)).map((one) => [pidOf(one.host), one.partitions.length]));
      await until("the partitions are shared by weight", async () => {
        const now = await shares();
        return now.get(String(heavy.process.pid)) === 6 && now.get(String(light.process.pid)) === 2;
      });
      const told = (await runHere(["doctor", "--server", mesh.url])).stdout.split("\n");
      const saying = told.filter((line) => line.startsWith("host ") && line.endsWith(", weight 3"));
      expect(saying).toEqual([expect.stringContaining(`-${heavy.process.pid ?? ""}-`)]);
    });
  }, 60_000);

  test("that both believe to have every partition do no harm", async () => {
    await withRun(12, 10, async (run) => {
      const { mesh } = run;
      const hosts = [await run.lonelyHost(), await run.lonelyHost()];
      await until("both say they have everything", async () => {
        const entries = await list(mesh);
        const isAll = entries.every(({ partitions }) => partitions.length === mesh.ports.inbox.partitions);
        return entries.length === 2 && isAll;
      });
      const ledgers = await allEnd(run, await run.start(12));
      const lines = await run.lines();
      const writers = new Set<string>();
      for (const [id, turns] of ledgers) {
        checkEffects(turns, linesOf(id, lines));
        for (const turn of turns) writers.add(turn.host);
      }
      expect(hosts.every((host) => host.isRunning())).toBe(true);
      expect(writers.size, "both took part").toBe(2);
    });
  }, 90_000);

  test("one that is killed leaves every saga to the others, which go on with all of them", async () => {
    await withRun(20, 20, async (run) => {
      const hosts = [await run.host(), await run.host()];
      await settled(run.mesh, hosts);
      const ids = await run.start(16);
      await until("both are at work", async () => {
        const requests = (await run.lines()).filter(({ type }) => type === "request");
        return requests.length > 60 && new Set(requests.map(({ by }) => by)).size === 2;
      });
      const [victim] = hosts as [RunningCli];
      victim.process.kill("SIGKILL");
      expect((await victim.ended).signal).toBe("SIGKILL");
      const ledgers = await allEnd(run, ids);
      const lines = await run.lines();
      const killed = new Set([String(pidOfHost(victim))]);
      for (const [id, turns] of ledgers) {
        const { requests, decisions, retries, hit } = checkAccount(byPid(turns), linesOf(id, lines), killed);
        expect(requests).toBe(decisions + retries + hit);
      }
    });
  }, 90_000);

  test("one that stands still for longer than its lease and its entry appends nothing when it goes on, and does no once again", async () => {
    await withRun(20, 20, async (run) => {
      const { mesh } = run;
      const hosts = [await run.host(), await run.host()];
      await settled(mesh, hosts);
      const ids = await run.start(16);
      const [frozen, other] = hosts as [RunningCli, RunningCli];
      await until("both are at work", async () => {
        const requests = (await run.lines()).filter(({ type }) => type === "request");
        return requests.length > 60 && new Set(requests.map(({ by }) => by)).size === 2;
      });
      let incarnation: string | undefined;
      await until("it is listed", async () => {
        incarnation = (await list(mesh)).find(({ host }) => pidOf(host) === String(pidOfHost(frozen)))?.host;
        return incarnation !== undefined;
      });
      frozen.process.kill("SIGSTOP");
      // Long past its entry's time to live, its leases, and those of what was sent to it while it stood still.
      await settled(mesh, [other]);
      const seen = new Map<string, number>();
      for (const id of ids) seen.set(id, await mesh.head(id));
      await until(
        "every saga went on without it",
        async () => {
          const ended = await Promise.all(ids.map(async (id) => (await mesh.view(id)).end !== undefined));
          const heads = await Promise.all(ids.map(async (id) => (await mesh.head(id)) > (seen.get(id) ?? 0)));
          return ended.every((end, at) => end || heads[at] === true);
        },
        30_000,
      );
      const thawedAt = new Map<string, number>();
      for (const id of ids) thawedAt.set(id, (await mesh.turns(id)).length);
      frozen.process.kill("SIGCONT");
      await settled(mesh, hosts);
      const names = (await list(mesh)).map(({ host }) => host);
      expect(names, "it is somebody else").toContain(`${incarnation ?? ""}-2`);
      const ledgers = await allEnd(run, ids);
      const lines = await run.lines();
      let own = 0;
      for (const [id, turns] of ledgers) {
        own += turns.filter(({ host }) => host === incarnation).length;
        const later = turns.slice(thawedAt.get(id)).map(({ host }) => host);
        expect(later, `${id} after the thaw`).not.toContain(incarnation);
        checkEffects(turns, linesOf(id, lines)); // No `once` twice, and no key that was not recorded.
      }
      expect(own, "it was at work before").toBeGreaterThan(0);
    });
  }, 120_000);

  test("are all replaced, one after the other, while sagas run: every exit code is 0, no effect is lost or doubled, and no model is asked twice", async () => {
    await withRun(60, 30, async (run) => {
      const { mesh } = run;
      let hosts = [await run.host(), await run.host(), await run.host()];
      await settled(mesh, hosts);
      const ids: string[] = [];
      for (const old of [...hosts]) {
        hosts = [...hosts, await run.host()];
        // A machine may be quicker than a restart: each host is replaced under sagas of its own.
        const before = (await run.lines()).length;
        ids.push(...(await run.start(9)));
        await until("they are at work", async () => (await run.lines()).length > before + 50);
        old.process.kill("SIGTERM");
        const { code, signal } = await old.ended;
        expect({ code, signal }).toEqual({ code: 0, signal: null });
        hosts = hosts.filter((host) => host !== old);
        await settled(mesh, hosts);
      }
      const ledgers = await allEnd(run, ids);
      const lines = await run.lines();
      for (const [id, turns] of ledgers) {
        const { requests, decisions, retries } = checkAccount(byPid(turns), linesOf(id, lines), new Set());
        expect(requests).toBe(decisions + retries);
        const results = turns.flatMap(({ steps }) => steps.flatMap(({ event }) => event));
        for (const event of results)
          if (event.type === "result") expect(event.result.outcome).toBe("succeeded");
      }
      expect(new Set(lines.map(({ by }) => by)).size, "old and new ones took part").toBeGreaterThan(3);
    });
  }, 180_000);

  test("one that is asked to end twice does not wait for its grace", async () => {
    await withRun(2, 600_000, async (run) => {
      const host = await run.host();
      await run.start(1);
      await until("the model thinks", async () => (await run.lines()).length > 0);
      host.process.kill("SIGTERM");
      await host.says("waits at most 10 s for 1 running saga and 1 effect under way", "stderr");
      host.process.kill("SIGTERM");
      expect((await host.ended).code).toBe(143);
    });
  }, 60_000);
});
