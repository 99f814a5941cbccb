/**
 * Goal: whichever hosts die and when, each due time of a schedule has one run, none is missing and none comes twice; and what a
 * person does with schedules by hand does what it says.
 * Method: `sagamesh host` as a person starts it, on a real server, killed by SIGKILL at random moments, also all at once; two
 * schedules meanwhile, one that begins runs each second beside each other and one whose runs wait for each other. What began is
 * read from the ledgers' ids, which tell when each was due; each schedule's ledger is folded again from its first turn.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ScheduleDocument, ScheduleDoneDocument } from "../../../protocol/documents/schedule.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import app, { tick } from "../../apps/clockwork.ts";
import { type RunningCli, runHere, startCli } from "../../support/cli.ts";
import { ownOfFile } from "../../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../../support/real-mesh.ts";

const own = ownOfFile("schedules", 4);

async function startHost(mesh: RealMesh): Promise<RunningCli> {
  const words = ["host", "--app", "test/apps/clockwork.ts", "--server", mesh.url, "--json"];
  const cli = startCli(words, { env: { LOG_LEVEL: "info" } });
  await cli.says('"role":"host"');
  return cli;
}

/** When the runs of a schedule were due, in their order. */
async function duesOf(mesh: RealMesh, name: string): Promise<number[]> {
  const ids = (await mesh.ports.ledger.list()).map(({ saga }) => saga);
  return ids
    .flatMap((id) => {
      const [, date, time] = new RegExp(`^${name}-(\\d{8})t(\\d{6})z$`).exec(id) ?? [];
      if (date === undefined || time === undefined) return [];
      const day = date.replace(/(....)(..)(..)/, "$1-$2-$3");
      return [Date.parse(`${day}T${time.replace(/(..)(..)(..)/, "$1:$2:$3")}Z`)];
    })
    .sort((a, b) => a - b);
}

const rounds = 7;

test("each due time has one run while hosts are killed at random, one by one and all at once", async () => {
  const mesh = await openRealMesh(own.server.nextUrl());
  const { schedules } = mesh.client;
  const hosts: RunningCli[] = [await startHost(mesh), await startHost(mesh)];
  try {
    const common = { saga: tick, input: { lastsMs: 100 } } as const;
    await schedules.create({ ...common, name: "each", cron: "* * * * * *", overlap: "allow" });
    await schedules.create({ ...common, name: "line", cron: "*/5 * * * * *", overlap: "queue" });
    await until("the first has begun", async () => (await duesOf(mesh, "each")).length > 0);
    const began = Date.now();
    for (let round = 0; round < rounds; round++) {
      await sleep(500 + Math.random() * 2_500);
      const victims = round === 3 || Math.random() < 0.3 ? hosts.splice(0) : hosts.splice(0, 1);
      for (const { process } of victims) process.kill("SIGKILL");
      await sleep(Math.random() * 2_000);
      for (const _ of victims) hosts.push(await startHost(mesh));
    }
    const lastedMs = Date.now() - began;
    // What was missed is made good.
    await until(
      "it is in time again",
      async () => Date.now() - ((await duesOf(mesh, "each")).at(-1) ?? 0) < 2_500,
    );
    for (const name of ["each", "line"]) await schedules.delete(name);
    await until("both have ended", async () => (await schedules.list()).length === 0);
    for (const [name, everyMs] of [
      ["each", 1_000],
      ["line", 5_000],
    ] as const) {
      const dues = await duesOf(mesh, name);
      const first = dues[0] ?? 0;
      expect(dues, name).toEqual(dues.map((_, k) => first + k * everyMs)); // None is missing, none is there twice.
      expect(dues.length, name).toBeGreaterThanOrEqual(Math.floor(lastedMs / everyMs));
      const saga = parseSagaId(`schedule_${name}_1`);
      expect(await verifyLedger(mesh.ports, saga, app)).toMatchObject({ ok: true, folded: true });
    }
    await until("all runs have ended", async () =>
      (await mesh.client.list({ running: true })).every(({ name }) => name !== "tick"),
    );
    expect(await mesh.letters()).toEqual([]);
  } finally {
    for (const { process } of hosts) process.kill("SIGKILL");
    await mesh.close();
  }
}, 180_000);

test("by hand: a schedule is created, shown, paused, triggered, filled in and deleted, and doctor names what is wrong", async () => {
  const mesh = await openRealMesh(own.server.nextUrl());
  const cli = async (...words: string[]) => runHere([...words, "--server", mesh.url, "--json"]);
  const host = await startHost(mesh);
  try {
    const made = ["--cron", "0 6 * * *", "--tz", "Europe/Berlin", "--saga", "tick", "--jitter", "5m"];
    const input = ["--input", '{"lastsMs":10}'];
    const created = await cli("schedule", "create", "nightly", ...made, ...input);
    expect(ScheduleDoneDocument.parse(JSON.parse(created.stdout))).toMatchObject({ done: "created" });
    expect(await cli("schedule", "create", "nightly", ...made, "--input", "{}")).toMatchObject({ code: 2 });
    expect(
      await cli("schedule", "create", "nightly", "--cron", "x", "--saga", "tick", ...input),
    ).toMatchObject({ code: 2 });
    expect(await cli("schedule", "pause", "nightly", "--reason", "a feast")).toMatchObject({ code: 0 });
    const { run } = ScheduleDoneDocument.parse(
      JSON.parse((await cli("schedule", "trigger", "nightly")).stdout),
    );
    await until(
      "it has run",
      async () => (await mesh.client.list({ name: "tick", status: "completed" })).length === 1,
    );
    const shown = ScheduleDocument.parse(JSON.parse((await cli("schedule", "show", "nightly")).stdout));
    expect(shown).toMatchObject({ status: "paused", runs: [{ run, by: "trigger", status: "completed" }] });
    await cli("schedule", "resume", "nightly");
    await until("it waits", async () => (await mesh.client.schedules.show("nightly")).next !== undefined);
    const dayMs = 86_400_000;
    const from = new Date(Date.now() - 3 * dayMs).toISOString().slice(0, 10);
    const to = new Date(Date.now() - dayMs).toISOString().slice(0, 10);
    expect(await cli("schedule", "backfill", "nightly", "--from", from, "--to", to)).toMatchObject({
      code: 0,
    });
    await until(
      "both are filled in",
      async () => (await mesh.client.list({ name: "tick", status: "completed" })).length === 3,
    );
    const list = await runHere(["schedule", "list", "--server", mesh.url]);
    expect(list.stdout).toMatch(/SCHEDULE +STATUS[\s\S]*nightly +active +0 6 \* \* \* +Europe\/Berlin +tick/);
    const healthy = JSON.parse((await cli("doctor")).stdout) as { findings: { code: string }[] };
    expect(healthy.findings.map(({ code }) => code)).toContain("SCHEDULES");
    expect(await cli("schedule", "delete", "nightly")).toMatchObject({ code: 0 });
    await until("it has ended", async () => (await mesh.client.schedules.list()).length === 0);
    expect(await cli("schedule", "show", "nightly")).toMatchObject({ code: 1 });
  } finally {
    host.process.kill("SIGKILL");
    await mesh.close();
  }
}, 90_000);
