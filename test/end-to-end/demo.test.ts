/**
 * Goal: the demo does what it says: whatever is killed and whenever, nothing is done twice and nothing is lost.
 * Method: the command itself, as a process, for seeds whose plan hits the deposit (`once`) in each window, and
 * what it prints, read by the schema that other people's programs would use.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { DemoReport } from "../../protocol/documents/demo.ts";
import { ProgressDocument } from "../../protocol/documents/stderr.ts";
import { startEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { type PlannedKill, planKills, type Window } from "../../services/demo/kill-plan.ts";

const main = fileURLToPath(new URL("../../services/cli/main.ts", import.meta.url));
/** A run takes 20 s; beside other tests on two processors it may take more. */
const timeoutMs = 120_000;

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const start = (args: readonly string[], env: NodeJS.ProcessEnv = process.env) => {
  const child = spawn(process.execPath, ["--conditions=sagamesh-source", main, "demo", ...args], {
    env,
    detached: true,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const ran = new Promise<Ran>((resolve) => child.once("close", (code) => resolve({ code, out, err })));
  return { child, ran, said: () => out + err };
};

/** The first seed whose plan of two kills hits the deposit in the window. */
const seedFor = (window: Window): number => {
  for (let seed = 1; seed <= 50; seed++)
    if (
      planKills(seed, 2).some((kill: PlannedKill) => kill.tool === "charge_deposit" && kill.window === window)
    )
      return seed;
  throw new Error(`no seed hits the deposit ${window}`);
};

/** Whether a process lives. One that has ended and waits to be taken note of does not. */
const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const { stdout } = spawnSync("ps", ["-o", "stat=,args=", "-p", String(pid)], { encoding: "utf8" });
  return !/^\s*(Z|$)/.test(stdout) && /sagamesh|nats-server|services\/demo/.test(stdout); // Numbers are given anew.
};

/** The processes that a run named: `host 1 (4711)`, `(process 4711)`. */
const pidsIn = (text: string): number[] =>
  [...text.matchAll(/\((?:process )?(\d{2,})[,)]/g)].map((match) => Number(match[1]));

describe("the demo", () => {
  for (const window of ["before-record", "after-record", "after-reply"] as const)
    test(
      `a worker killed ${window} of the deposit charges nobody twice`,
      { timeout: timeoutMs },
      async () => {
        const folder = await mkdtemp(join(tmpdir(), "sagamesh-demo-test-"));
        onTestFinished(() => rm(folder, { recursive: true, force: true }));
        const seed = seedFor(window);
        const { code, out, err } = await start([
          "--json",
          "--kills",
          "2",
          "--seed",
          String(seed),
          "--data",
          folder,
        ]).ran;
        expect(code, err).toBe(0);
        for (const line of err.trim().split("\n")) ProgressDocument.parse(JSON.parse(line));
        const report = DemoReport.parse(JSON.parse(out));
        expect(report).toMatchObject({ status: "completed", seed, effects: { duplicates: 0, lost: 0 } });
        expect(report.kills.map(({ tool, window: met }) => `${tool} ${met}`)).toEqual(
          planKills(seed, 2).map((kill) => `${kill.tool} ${kill.window}`),
        );
        expect(
          report.kills.every(({ pickedUpBy, recoveryMs }) => pickedUpBy !== null && recoveryMs !== null),
        ).toBe(true);
        expect(report.recoveryMs).toHaveLength(2);
        // The bank's own books: nothing if the request was dropped, else one charge, however often it was asked about.
        const account = (await readFile(join(folder, "account.jsonl"), "utf8")).trimEnd().split("\n");
        const charges = account
          .map((line) => JSON.parse(line))
          .filter(({ tool }) => tool === "charge_deposit");
        expect(charges).toHaveLength(window === "before-record" ? 0 : 1);
        if (window !== "after-reply") expect(report.effects.inDoubt).toBe(1);
        expect(pidsIn(err).filter(lives)).toEqual([]);
      },
    );

  test("ended by Ctrl-C, it leaves no process and no folder behind", { timeout: timeoutMs }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "sagamesh-demo-test-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const { child, ran, said } = start([], { ...process.env, TMPDIR: folder });
    while (!said().includes("the saga starts")) await new Promise((resolve) => setTimeout(resolve, 50));
    process.kill(-(child.pid ?? 0), "SIGINT"); // As a terminal does: to the whole group.
    const { code, out, err } = await ran;
    expect(code).toBe(130);
    expect(pidsIn(out + err).length).toBeGreaterThan(3);
    expect(pidsIn(out + err).filter(lives)).toEqual([]);
    // Node keeps a compile cache there, which is no data of a run.
    expect((await readdir(folder)).filter((name) => name.startsWith("sagamesh"))).toEqual([]);
  });

  test(
    "killed with SIGKILL, it leaves a server and a folder, which the next demo clears away, and nothing else",
    { timeout: timeoutMs },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "sagamesh-demo-test-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const env = { ...process.env, TMPDIR: folder };
      const demos = async () => (await readdir(folder)).filter((name) => name.startsWith("sagamesh-demo-"));
      const killed = start([], env);
      while (!killed.said().includes("the saga starts"))
        await new Promise((resolve) => setTimeout(resolve, 50));
      killed.child.kill("SIGKILL");
      await killed.ran;
      const [left = ""] = await demos();
      const [server = 0] = pidsIn(killed.said());
      expect(lives(server)).toBe(true);

      // One that somebody uses, and one that is none of a demo's, but for its name.
      const used = join(folder, "sagamesh-demo-used");
      const inUse = await startEmbeddedServer({ dataDir: join(used, "server"), report: () => {} });
      onTestFinished(() => inUse.stop());
      const foreign = join(folder, "sagamesh-demo-foreign");
      await mkdir(join(foreign, "server"), { recursive: true });

      const next = start(["--kills", "0"], env);
      while (!next.said().includes("the saga starts"))
        await new Promise((resolve) => setTimeout(resolve, 50));
      expect(next.said()).toContain(
        `cleared away what a killed demo left: its server, and ${join(folder, left)}`,
      );
      next.child.kill("SIGINT");
      await next.ran;
      expect(lives(server)).toBe(false);
      expect(lives(inUse.pid)).toBe(true);
      expect((await demos()).sort()).toEqual(["sagamesh-demo-foreign", "sagamesh-demo-used"]);
    },
  );

  test(
    "--server is refused, and how to keep the server is told as it was begun",
    { timeout: timeoutMs },
    async () => {
      const { code, out, err } = await start(["--server", "nats://127.0.0.1:4222"]).ran;
      expect([code, out]).toEqual([2, ""]);
      expect(err).toMatch(/\[USAGE\].*--server/);
      const npm = { npm_lifecycle_event: "start", npm_lifecycle_script: "node sagamesh demo" };
      const ran = await start(["--kills", "0", "--wait", "0"], { ...process.env, ...npm }).ran;
      expect(ran.code, ran.err).toBe(0);
      expect(ran.out).toContain("`npm start -- --kills 0 --wait 0 --keep`");
    },
  );

  test("a real model without a key is refused before anything starts", { timeout: timeoutMs }, async () => {
    const { ANTHROPIC_API_KEY: _, ...env } = process.env;
    const { code, out, err } = await start(["--model", "some-model"], env).ran;
    expect(code).not.toBe(0);
    expect(err).toContain("INPUT_INVALID");
    expect(err).toContain("ANTHROPIC_API_KEY");
    expect(out).toBe("");
  });

  test("more kills than there are, or none of a number, are refused", { timeout: timeoutMs }, async () => {
    for (const kills of ["9", "-1", "two"]) {
      const { code, err } = await start(["--kills", kills]).ran;
      expect(code).not.toBe(0);
      expect(err).toMatch(/USAGE|INPUT_INVALID/);
    }
  });
});
