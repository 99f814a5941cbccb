/**
 * Goal: a schedule begins each run that is due once, by its rule for overlaps, and catches up as far as it was told, whatever dies.
 * Method: a mesh in memory in virtual time, with hosts that die where they stand; the runs are sagas that last as long as a test
 * says. What began is read from the ledgers' ids, and every schedule's ledger is folded again from its first turn.
 */
import { afterEach, describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { compensation, defineApp, defineSaga, defineTool, isMeshError, toActors } from "sagamesh";
import { parseSagaId } from "../../../protocol/ids.ts";
import { scheduleSaga } from "../../../actors/schedule/define.ts";
import { stepsMax } from "../../../actors/schedule/agenda.ts";
import type { ScheduleConfig } from "../../../services/client/schedules.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import type { App } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh, type MemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { scheduleBodies } from "../../../services/schedules/bodies.ts";
import { withBuiltIn } from "../../../services/schedules/with-schedules.ts";
import { openTestMesh } from "../../../services/testing/test-mesh.ts";
import type { TestMesh } from "../../../services/testing/test-mesh.ts";

const minute = 60_000;
const hour = 60 * minute;

const Report = z.object({ lastsMs: z.number(), undoesMs: z.number().default(0), day: z.string().optional() });
const nothing = defineTool({
  ...{ name: "nothing", description: "Nothing.", effect: "read", input: z.object({}), output: z.object({}) },
  perform: async () => ({}),
});
const publish = defineTool({
  ...{ name: "publish", description: "Publishes.", effect: "idempotent", output: z.object({}) },
  input: z.object({}),
  perform: async () => ({}),
});
/** It lasts as long as its input says; cancelled it takes a while to end. */
const report = defineSaga({
  ...{ name: "report", version: 1, input: Report, output: z.object({}) },
  machine: setup({
    types: { context: {} as z.infer<typeof Report>, input: {} as z.infer<typeof Report> },
    actors: toActors({ nothing, publish, compensation }),
    delays: { lasts: ({ context }) => context.lastsMs },
  }).createMachine({
    context: ({ input }) => input,
    initial: "working",
    states: { working: { after: { lasts: "done" } }, done: { type: "final" } },
    output: {},
  }),
});
const app = defineApp({ sagas: [report] });

const opened: TestMesh[] = [];
afterEach(async () => {
  for (const t of opened.splice(0)) await t.close();
});

function open(seed = 1) {
  let mesh!: MemoryMesh;
  const t = openTestMesh(app, { seed }, { opened: (one) => (mesh = one) });
  opened.push(t);
  const { ports } = mesh.spawn("outside");
  /** Until the next whole hour, from where tests reckon. */
  const toTheHour = () => t.advance(hour - (t.now() % hour) + 1);
  const runs = async (name = "s") =>
    (await t.list())
      .filter(({ saga }) => saga.startsWith(`${name}-`))
      .sort((a, b) => (a.saga < b.saga ? -1 : 1));
  const schedules = async (name = "s") =>
    (await t.list()).map(({ saga }) => saga).filter((saga) => saga.startsWith(`schedule_${name}_`));
  const verified = async () => {
    for (const saga of await schedules())
      expect(await mesh.clock.until(verifyLedger(ports, saga as never, app)), saga).toMatchObject({
        ok: true,
        folded: true,
      });
  };
  return { ...{ t, mesh, toTheHour, runs, schedules, verified } };
}

const hourly: ScheduleConfig = { name: "s", cron: "0 * * * *", saga: report, input: { lastsMs: minute } };
/** When a run was due, by its id. */
const dueOf = (row: { readonly saga: string } | undefined): number => {
  const [, date, time] = /-(\d{8})t(\d{6})z/.exec(row?.saga ?? "") ?? [];
  return Date.parse(
    `${date?.replace(/(....)(..)(..)/, "$1-$2-$3")}T${time?.replace(/(..)(..)(..)/, "$1:$2:$3")}Z`,
  );
};
const times = (rows: readonly { readonly saga: string }[]) =>
  rows.map(({ saga }) => /t(\d{4})/.exec(saga)?.[1] ?? saga);

describe("a schedule", () => {
  test("begins a saga each time that it is due, with an id that tells the time, and none before", async () => {
    const { t, toTheHour, runs, verified } = open();
    await toTheHour();
    const from = new Date(t.now());
    await t.schedules.create({ ...hourly, dueAs: "day" });
    await t.advance(3 * hour + minute);
    const rows = await runs();
    expect(rows).toHaveLength(3);
    const iso = new Date(from.getTime() - (from.getTime() % hour) + hour).toISOString();
    expect(rows[0]?.saga).toBe(`s-${iso.slice(0, 16).replaceAll(/[-:]/g, "").toLowerCase()}00z`);
    expect((await t.describe(rows[0]?.saga ?? "")).input).toEqual({ lastsMs: minute, day: iso });
    const shown = await t.schedules.show("s");
    expect(shown).toMatchObject({ status: "active", counts: { begun: 3, skipped: 0, missed: 0 } });
    expect(shown.next).toBe(Math.ceil(t.now() / hour) * hour);
    expect(shown.runs.map(({ status }) => status)).toEqual(["completed", "completed", "running"]);
    await verified();
  });

  test("that is created again as it is is the same, and otherwise SAGA_ID_TAKEN", async () => {
    const { t, schedules } = open();
    const first = await t.schedules.create(hourly);
    expect(await t.schedules.create(hourly)).toEqual(first);
    await expect(t.schedules.create({ ...hourly, cron: "5 * * * *" })).rejects.toSatisfy((error) =>
      isMeshError(error, "SAGA_ID_TAKEN"),
    );
    expect(await schedules()).toHaveLength(1);
  });

  test.each([
    [{ cron: "* * *" }, "USAGE"],
    [{ tz: "Europe/Atlantis" }, "USAGE"],
    [{ name: "No Name" }, "INPUT_INVALID"],
    [{ input: {} }, "INPUT_INVALID"],
    [{ saga: "nobody" }, "AGENT_UNKNOWN"],
    [{ jitter: "2d" }, "INPUT_INVALID"],
    [{ overlap: "never" as never }, "INPUT_INVALID"],
  ])("with %o is refused with %s, and nothing is there", async (wrong, code) => {
    const { t, schedules } = open();
    await t.settled();
    await expect(t.schedules.create({ ...hourly, ...wrong })).rejects.toSatisfy((error) =>
      isMeshError(error, code as never),
    );
    expect(await schedules()).toEqual([]);
  });

  test("that was deleted begins nothing more, and another of its name may be created", async () => {
    const { t, toTheHour, runs, schedules, verified } = open();
    await toTheHour();
    await t.schedules.create(hourly);
    await t.advance(hour + minute);
    await t.schedules.delete("s");
    await t.advance(3 * hour);
    expect(await runs()).toHaveLength(1);
    await expect(t.schedules.show("s")).rejects.toSatisfy((error) => isMeshError(error, "SAGA_UNKNOWN"));
    await t.schedules.create({ ...hourly, cron: "30 * * * *" });
    await t.advance(hour);
    expect(times(await runs()).map((time) => time.slice(2))).toEqual(["00", "30"]);
    expect(await schedules()).toHaveLength(2);
    await verified();
  });

  test("that is paused passes over what falls due, and a run that a person asks for begins all the same", async () => {
    const { t, toTheHour, runs, verified } = open();
    await toTheHour();
    await t.schedules.create(hourly);
    await t.schedules.pause("s", "a feast");
    await t.advance(3 * hour);
    expect(await runs()).toEqual([]);
    const { run } = await t.schedules.trigger("s");
    await t.advance(minute / 2);
    expect((await runs()).map(({ saga }) => saga)).toEqual([run]);
    await t.schedules.resume("s");
    expect(await t.schedules.show("s")).toMatchObject({ status: "active" });
    await t.advance(hour);
    expect(await runs()).toHaveLength(2);
    await verified();
  });

  test("begins each run later by what its id tells, the same wherever it is reckoned, and keeps the order", async () => {
    const { t, toTheHour, runs } = open();
    await toTheHour();
    await t.schedules.create({ ...hourly, jitter: "30m" });
    await t.advance(10 * hour);
    const { runs: shown } = await t.schedules.show("s");
    const late = shown.map(({ due, begunAt }) => begunAt - due);
    expect(new Set(late.map((ms) => Math.round(ms / 1_000))).size).toBeGreaterThan(5);
    for (const ms of late) expect(ms).toBeLessThan(30 * minute + 2_000);
    expect((await runs()).length).toBeGreaterThanOrEqual(9);
  });
});

describe("a run that is due while the one before it runs", () => {
  const long = { ...hourly, input: { lastsMs: 90 * minute } };

  test("skip: is passed over", async () => {
    const { t, toTheHour, runs, verified } = open();
    await toTheHour();
    await t.schedules.create({ ...long, overlap: "skip" });
    await t.advance(6 * hour + 2 * minute);
    expect((await t.schedules.show("s")).counts).toMatchObject({ begun: 3, skipped: 3, dropped: 0 });
    expect(await runs()).toHaveLength(3);
    await verified();
  });

  test("allow: begins beside it", async () => {
    const { t, toTheHour, runs, verified } = open();
    await toTheHour();
    await t.schedules.create({ ...long, overlap: "allow" });
    await t.advance(3 * hour + minute);
    expect((await runs()).filter(({ status }) => status === "running")).toHaveLength(2);
    expect(await runs()).toHaveLength(3);
    await verified();
  });

  test("queue: waits for its end, and the line has an end: what is due then is dropped, and counted", async () => {
    const { t, runs, verified } = open();
    const each = { ...hourly, cron: "* * * * * *", input: { lastsMs: 3 * minute } };
    await t.schedules.create({ ...each, overlap: "queue" });
    await t.advance(2.5 * minute);
    expect(await runs()).toHaveLength(1);
    const blocked = await t.schedules.show("s");
    expect(blocked).toMatchObject({ line: 100, counts: { begun: 1, skipped: 0, missed: 0 } });
    expect(blocked.counts?.dropped).toBeGreaterThan(10);
    expect(blocked.blocked?.by).toBe((await runs())[0]?.saga);
    await t.advance(2 * minute); // The second begins with the end of the first, once that is looked at.
    const [first, second] = await runs();
    expect(await runs()).toHaveLength(2);
    expect(dueOf(second) - dueOf(first)).toBe(1_000);
    expect(first?.status).toBe("completed");
    await verified();
  });

  test("cancel-other: begins when the other, which is cancelled, has ended", async () => {
    const { t, toTheHour, runs, verified } = open();
    await toTheHour();
    await t.schedules.create({ ...long, overlap: "cancel-other" });
    await t.advance(3 * hour + 3 * minute);
    const rows = await runs();
    expect(rows.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "running"]);
    await verified();
  });
});

/** The application as a host of a former version has it: nothing is built in. */
const former: App = {
  ...app,
  definition: ({ hash }) => app.definitions.find((one) => one.hash === hash),
};

/** Hosts that a test starts and kills, one of them of a former version, which knows of no schedules. */
function openHosts() {
  const mesh = createMemoryMesh({ seed: 3, partitions: 4 });
  const { clock } = mesh;
  const outside = mesh.spawn("outside");
  const client = createClient({ ...outside, from: "test" }, async () => undefined);
  const begin = async (name: string, version: "former" | "this" = "this") => {
    const { gate, ...life } = mesh.spawn(name);
    const own = { ...life, log: silentLog, incarnation: gate.name, callbackBase: "sagamesh:" };
    const serves = version === "this" ? withBuiltIn(app, scheduleBodies(life)) : former;
    await clock.until(startHost(own, serves));
    return gate;
  };
  const runs = async () =>
    (await clock.until(client.list())).filter(({ saga }) => saga.startsWith("s-")).map(({ saga }) => saga);
  return { ...{ clock, client, begin, runs }, pass: (ms: number) => clock.run({ until: clock.now() + ms }) };
}

describe("a mesh that was dead", () => {
  test.each([
    ["3h", 3],
    ["1h", 1],
    [0, 0],
  ] as const)(
    "catches up what is no later than %s, once, and passes over what was due before",
    async (catchup, late) => {
      const { clock, client, begin, runs, pass } = openHosts();
      const first = await begin("a");
      await pass(hour - (clock.now() % hour));
      await clock.until(client.schedules.create({ ...hourly, overlap: "allow", catchup }));
      await pass(hour + 5 * minute);
      first.crash();
      await pass(5 * hour);
      expect(await runs()).toHaveLength(1);
      await begin("b");
      await pass(5 * minute);
      expect(await runs()).toHaveLength(1 + late);
      const { counts } = await clock.until(client.schedules.show("s"));
      expect(counts).toMatchObject({ begun: 1 + late });
      await pass(hour);
      expect(await runs()).toHaveLength(2 + late);
    },
  );
});

test("one schedule that cannot be read hides none, and is named with a code", async () => {
  const { t, mesh } = open();
  const { ports } = mesh.spawn("breaker");
  for (const name of ["bad", "good"]) await t.schedules.create({ ...hourly, name });
  await t.settled();
  const saga = parseSagaId("schedule_bad_1");
  const [first] = await mesh.clock.until(ports.ledger.read(saga, 0, Number.MAX_SAFE_INTEGER));
  await mesh.clock.until(ports.ledger.purgeBefore(saga, (first?.seq ?? 0) + 1));
  const list = await t.schedules.list();
  expect(list.map(({ name }) => name)).toEqual(["good"]);
  expect(list.unreadable).toMatchObject([{ saga, code: "LEDGER_BROKEN" }]);
});

describe("hosts of a former version", () => {
  test("beside one of this leave it what is a schedule's, and begin its runs as any other's", async () => {
    const { clock, client, begin, runs, pass } = openHosts();
    const often = { ...hourly, cron: "*/5 * * * *", overlap: "allow", input: { lastsMs: 1 } } as const;
    await begin("old-1", "former");
    await begin("old-2", "former");
    await expect(clock.until(client.schedules.create(often))).rejects.toSatisfy((error) =>
      isMeshError(error, "AGENT_UNKNOWN"),
    );
    const own = await begin("new");
    await pass(10_000);
    await clock.until(client.schedules.create(often));
    await pass(10 * minute);
    expect(await runs()).toHaveLength(2);
    own.crash(); // Its schedule waits for another that knows it, and fails at none of the others.
    await pass(10 * minute);
    expect(await runs()).toHaveLength(2);
    expect((await clock.until(client.schedules.show("s"))).lateMs).toBeGreaterThan(2 * minute);
    await begin("new-again");
    await pass(minute);
    expect(await runs()).toHaveLength(4);
    expect((await clock.until(client.schedules.show("s"))).status).toBe("active");
  });
});

describe("a backfill", () => {
  test("begins the runs of a span one after the other, once, and those that are there already stay", async () => {
    const { t, toTheHour, runs, verified } = open();
    await t.advance("1d");
    await toTheHour();
    await t.schedules.create({ ...hourly, input: { lastsMs: 2 * minute } });
    const to = new Date(t.now());
    const from = new Date(t.now() - 5 * hour);
    await t.schedules.backfill("s", { from, to });
    await t.advance(minute);
    expect((await runs()).filter(({ status }) => status === "running")).toHaveLength(1);
    await t.advance(40 * minute);
    expect(await runs()).toHaveLength(5);
    expect((await t.schedules.show("s")).ranges).toEqual([]);
    await t.schedules.backfill("s", { from, to });
    await t.advance(40 * minute);
    expect((await runs()).filter(({ status }) => status !== "completed")).toEqual([]);
    expect((await runs()).length).toBeLessThanOrEqual(7);
    await verified();
  });
});

test("a schedule goes on in another saga after much work, with what it knows, and a signal finds the one that it is", async () => {
  const { t, toTheHour, runs, schedules, verified } = open();
  await toTheHour();
  await t.schedules.create({ ...hourly, cron: "* * * * * *", overlap: "allow", input: { lastsMs: 1 } });
  await t.advance((stepsMax + 60) * 1_000);
  expect(await schedules()).toHaveLength(2);
  const { saga, counts } = await t.schedules.show("s");
  expect(saga).toBe("schedule_s_2");
  expect(counts?.begun).toBe((await runs()).length);
  expect(counts).toMatchObject({ missed: 0, dropped: 0 });
  expect(await t.describe("schedule_s_1")).toMatchObject({ status: "completed" });
  await t.schedules.pause("s");
  const began = (await runs()).length;
  await t.advance(minute);
  expect((await runs()).length).toBeLessThanOrEqual(began + 1);
  await verified();
}, 120_000);

test("its definition is the same on every host, whatever the application's policies", () => {
  expect(scheduleSaga.definition.faults).toEqual([]);
  expect(scheduleSaga.definition.notes).toEqual([]);
});
