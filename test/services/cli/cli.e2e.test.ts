/**
 * The command line as people run it: processes of their own, which follow each other, are pointed at each other's data
 * and are asked to end.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli, startCli } from "../../support/cli.ts";
import { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { MigrateDocument } from "../../../protocol/documents/migrate.ts";
import { RehearsalDocument } from "../../../protocol/documents/rehearsal.ts";
import { SagaRow } from "../../../protocol/documents/saga.ts";
import { StartedDocument } from "../../../protocol/documents/stored.ts";
import { VerifyDocument } from "../../../protocol/documents/verify.ts";
import { document, documents, until } from "../../support/cli-said.ts";
import { startTestServer } from "../../support/nats-server.ts";

const app = "test/apps/desk.ts";
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-cli-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const input = (errand: string): string => JSON.stringify({ errand, to: "rome" });

describe("processes", () => {
  test(
    "a sleeping saga is moved to the next version once a host serves it; one that differs is told where",
    { timeout: 60_000 },
    async () => {
      const own = await startTestServer();
      const env = { NATS_URL: own.url, SAGAMESH_DATA: join(own.dataDir, "rehearsals") };
      const run = (...args: string[]) => runCli(args, { env });
      const first = startCli(["up", "--app", app], { env });
      await first.says("serves desk@1");
      await run("start", "desk", "--input", input("wait"), "--id", "wait-1");
      await run("start", "desk", "--input", input("upgrade"), "--id", "upgrade-1");
      const listed = () => run("ls", "--json").then((ended) => documents(SagaRow, ended));
      await until(listed, (rows) => rows.length === 2 && rows.every(({ turns }) => turns === 2));
      first.process.kill("SIGTERM");
      await first.ended;

      const other = await run("migrate", "--dry-run", "--app", "test/apps/desk-other.ts", "--json");
      expect(other.code).toBe(1);
      expect(documents(MigrateDocument, other)).toMatchObject([
        { saga: "upgrade-1", verdict: "cannot", turn: 2, expected: { kind: "task", tool: "upgrade" } },
        { saga: "wait-1", verdict: "can" },
      ]);
      const others = ["--app", "test/apps/desk-other.ts", "--was", app, "--fail-on", "differs,unfoldable"];
      const rehearsed = await run("deployments", "rehearse", ...others, "--json");
      const report = document(RehearsalDocument, rehearsed);
      expect(rehearsed.code).toBe(1);
      expect(report).toMatchObject({
        counts: { moves: 1, differs: 1, unfoldable: 0 },
        definitions: [{ from: { version: 1 }, to: { version: 3 }, sagas: 2 }],
        kinds: [{ verdict: "differs", sagas: 1, first: { saga: "upgrade-1", turn: 2 } }],
        replay: { done: 2, missing: 0 },
        failedOn: ["differs: 1 of 2 sagas"],
      });
      expect(report.definitions[0]?.changed).toContain("tool upgrade is gone");
      const good = await run("deployments", "rehearse", ...others, "--query", "id=wait-1");
      expect([good.code, good.stdout], good.stderr).toEqual([
        0,
        expect.stringContaining("1  would move as they are"),
      ]);
      const said = await run(
        "migrate",
        "--dry-run",
        "--app",
        "test/apps/desk-other.ts",
        "--saga",
        "upgrade-1",
      );
      expect(said.stdout).toMatch(
        /upgrade-1 {2}cannot move {2}desk@1 .* -> desk@3 .*\n {2}turn 2: .*approval/,
      );

      const moved = "test/apps/desk-moved.ts";
      const nobody = await run("migrate", "--app", moved, "--saga", "wait-1", "--within", "0s", "--json");
      expect(documents(MigrateDocument, nobody)).toMatchObject([{ saga: "wait-1", verdict: "asked" }]);
      expect(nobody.code).toBe(1);
      const second = startCli(["up", "--app", moved], { env });
      await second.says("serves");
      const all = await run("migrate", "--app", moved, "--json");
      expect(all.code).toBe(0);
      expect(documents(MigrateDocument, all).map(({ saga }) => saga)).toContain("upgrade-1");
      const rows = await until(listed, (found) => found.every(({ version }) => version === 2));
      expect(rows.map(({ startedAs }) => startedAs?.version)).toEqual([1, 1]);
      expect((await run("inspect", "wait-1")).stdout).toMatch(
        /moved {4}in turn 3, .* from desk@1 .* to desk@2/,
      );

      await run("signal", "wait-1", "note", '{"text":"go"}');
      expect((await run("tail", "wait-1")).stdout).toContain("kindly");
      const whole = document(VerifyDocument, await run("verify", "wait-1", "--app", moved, "--json"));
      expect(whole).toMatchObject({ ok: true, folded: true });
      expect(whole.unproven).toBeUndefined();
      second.process.kill("SIGTERM");
      await second.ended;
      await own.stop();
    },
  );

  test("up on an embedded server leaves data that later commands read by themselves", async () => {
    const data = join(folder, "embedded");
    const own = startCli(["up", "--app", app, "--data", data]);
    await own.says("start one: sagamesh start desk");
    const started = await runCli(["start", "desk", "--input", input("pay"), "--wait", "--data", data]);
    expect(started.code).toBe(0);
    own.process.kill("SIGINT");
    expect(await own.ended).toMatchObject({ code: 0, signal: null });
    const rows = documents(SagaRow, await runCli(["ls", "--json"], { env: { SAGAMESH_DATA: data } }));
    expect(rows).toMatchObject([{ name: "desk", status: "completed" }]);
  });

  test("host and worker as processes of their own run a saga, and end with 0 when told to", async () => {
    const own = await startTestServer();
    const env = { NATS_URL: own.url, LOG_LEVEL: "info" };
    const host = startCli(["host", "--app", app], { env });
    const worker = startCli(["worker", "--app", app, "--tool", "pay"], { env });
    await Promise.all([host.says("serves desk@1"), worker.says("performs pay")]);
    const started = await runCli(["start", "desk", "--input", input("pay"), "--id", "pay-2", "--wait"], {
      env,
    });
    expect(started.stdout).toContain("pay-2 completed");
    const record = (await host.says('"msg":"host serves"', "stderr")).trim().split("\n");
    for (const line of record) expect(JSON.parse(line)).toHaveProperty("level");
    for (const running of [host, worker]) running.process.kill("SIGTERM");
    expect(await host.ended).toMatchObject({ code: 0, signal: null });
    expect(await worker.ended).toMatchObject({ code: 0, signal: null });
    await own.stop();
  });

  test("the first signal tells what is waited for, and the second ends the process at once and says so", async () => {
    const own = await startTestServer();
    const env = { NATS_URL: own.url };
    const host = startCli(["host", "--app", app], { env });
    const worker = startCli(["worker", "--app", app], { env });
    await Promise.all([host.says("serves desk"), worker.says("performs")]);
    const started = await runCli(["start", "desk", "--input", input("doze"), "--id", "doze-1", "--json"], {
      env,
    });
    expect(document(StartedDocument, started)).toMatchObject({ saga: "doze-1", name: "desk" });
    await until(
      () => runCli(["doctor", "--json"], { env }),
      (ended) =>
        document(DoctorDocument, ended).tools.some((tool) => tool.name === "doze" && tool.held === 1),
    );
    worker.process.kill("SIGINT");
    await worker.says("drains: waits at most 10 s for 1 effect under way; a second signal", "stderr");
    const at = Date.now();
    worker.process.kill("SIGINT");
    const { code, stderr } = await worker.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/^SIGINT again: exits at once; /m);
    expect(Date.now() - at).toBeLessThan(9_000); // The drain would have had ten seconds.
    host.process.kill("SIGTERM");
    await host.ended;
    await own.stop();
  });
});
