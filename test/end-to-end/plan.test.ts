/**
 * Goal: a specification becomes a plan and the plan a saga, by two commands; a kill costs a planning nothing that was
 * answered; what is no plan is refused with every fault before anything starts.
 * Method: the commands as processes on servers of their own, one of them killed over a question to its model.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PlannedDocument, PlanRefusal } from "../../protocol/documents/plan.ts";
import { offsite } from "../examples/planned-bookings.ts";
import { runCli, startCli } from "../support/cli.ts";
import { startTestServer } from "../support/nats-server.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-plan-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const spec = "test/examples/planned-bookings.md";
const example = "test/examples/planned-bookings.ts";
const input = (people: number) => JSON.stringify({ people, city: "BER" });

test("a specification becomes a plan that runs, and holds nothing where it fails", async () => {
  const out = join(folder, "offsite.json");
  const data = join(folder, "example");
  const planned = await runCli(["plan", spec, "--app", example, "--out", out, "--data", data, "--json"]);
  expect(planned.code, planned.stderr).toBe(0);
  expect(PlannedDocument.parse(JSON.parse(planned.stdout))).toMatchObject({
    plan: offsite,
    rounds: 1,
    file: out,
  });
  expect(JSON.parse(await readFile(out, "utf8"))).toEqual(offsite);

  const run = (people: number, id: string) =>
    runCli(["run", out, "--app", example, "--input", input(people), "--id", id, "--data", data, "--json"]);
  const done = await run(12, "trip-1");
  expect(done.code, done.stderr).toBe(0);
  expect(JSON.parse(done.stdout)).toMatchObject({ saga: "trip-1", status: "completed", standing: [] });
  const failed = await run(30, "trip-2");
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({ saga: "trip-2", status: "failed", standing: [] });
}, 60_000);

test("a planning that was killed over a question goes on with the answers it has", async () => {
  const data = join(folder, "killed");
  const words = ["plan", spec, "--app", "test/apps/slow-planner.ts", "--data", data, "--json"];
  const first = startCli(words);
  await first.says("edges …", "stderr");
  first.process.kill("SIGKILL");
  await first.ended;
  const second = await runCli(words);
  expect(second.code, second.stderr).toBe(0);
  const { saga, plan } = PlannedDocument.parse(JSON.parse(second.stdout));
  expect(plan).toEqual(offsite);
  const ledger = await runCli(["inspect", saga, "--data", join(data, "plans", saga), "--json"]);
  const { intents } = JSON.parse(ledger.stdout) as {
    intents: { intent: { kind: string } }[];
  };
  expect(intents.filter(({ intent }) => intent.kind === "model")).toHaveLength(5);
  // It went on here, and is told as it was there.
  expect(second.stderr).toContain("the same words were planned before");
  const third = await runCli(words);
  expect(JSON.parse(second.stdout)).not.toHaveProperty("earlier");
  expect(PlannedDocument.parse(JSON.parse(third.stdout))).toMatchObject({
    saga,
    earlier: true,
    plan: offsite,
  });
}, 60_000);

test("a plan is left to the hosts that serve it, and refused where they serve others", async () => {
  const server = await startTestServer();
  const up = startCli([
    "up",
    "--app",
    "test/apps/planned.ts",
    "--server",
    server.url,
    "--no-gateway",
    "--json",
  ]);
  try {
    await up.says('"role":"up"');
    const [served, unserved] = [join(folder, "served.json"), join(folder, "unserved.json")];
    await writeFile(served, JSON.stringify(offsite));
    await writeFile(unserved, JSON.stringify({ ...offsite, description: "Another." }));
    const run = (file: string) =>
      runCli(["run", file, "--app", example, "--input", input(3), "--server", server.url, "--json"]);
    const [done, refused] = await Promise.all([run(served), run(unserved)]);
    expect(done.code, done.stderr).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({ status: "completed" });
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("VERSION_UNSERVED");
  } finally {
    up.process.kill("SIGTERM");
    await up.ended;
    await server.stop();
  }
}, 60_000);

test("a plan with faults is refused with all of them, and an input that does not fit as such", async () => {
  const file = join(folder, "wrong.json");
  const nodes = offsite.nodes.map((node) => ({
    ...node,
    run: `conjure_${node.name}`,
    compensation: undefined,
  }));
  await writeFile(file, JSON.stringify({ ...offsite, nodes }));
  const data = join(folder, "nothing");
  const words = ["--app", example, "--data", data, "--json"];
  const refused = await runCli(["run", file, "--input", input(3), ...words]);
  expect(refused.code).toBe(1);
  const { findings } = PlanRefusal.parse(JSON.parse(refused.stdout));
  expect(findings.map(({ code }) => code).sort()).toEqual([
    ...Array<string>(3).fill("COMPENSATION_MISSING"),
    ...Array<string>(3).fill("RUN_UNKNOWN"),
  ]);
  const right = join(folder, "right.json");
  await writeFile(right, JSON.stringify(offsite));
  const misfit = await runCli(["run", right, "--input", '{"people":"many"}', ...words]);
  expect([misfit.code, misfit.stderr.includes("INPUT_INVALID")]).toEqual([2, true]);
}, 60_000);
