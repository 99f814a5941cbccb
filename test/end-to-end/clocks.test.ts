/**
 * Hosts as processes on machines whose clocks are wrong, and are set while sagas wait: what is due is due by the server, and each
 * process says how far its machine is off.
 *
 * Method: `sagamesh host` with another time of day (support/set-clock.mjs). Times are read from the ledger as the server dates it.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseSagaId } from "../../protocol/ids.ts";
import { ringing } from "../apps/ringing.ts";
import { type RunningCli, startCli } from "../support/cli.ts";
import { ownOfFile } from "../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";

/** Of the machine in ringing.ts. */
const delayMs = 2_000;
/** The server fires up to a quarter of a second early or late; the rest is for a busy machine, and far below what clocks are off. */
const [earlyMs, lateMs] = [300, 30_000];
const minute = 60_000;
const hour = 60 * minute;

const own = ownOfFile("clocks", 4);

interface Machine {
  readonly host: RunningCli;
  /** Sets its time of day this far from the true one. */
  set(offMs: number): Promise<void>;
}

async function machineWith(mesh: RealMesh, name: string, offMs: number): Promise<Machine> {
  const file = join(own.folder, name);
  const set = (ms: number) => writeFile(file, String(ms));
  await set(offMs);
  const args = ["host", "--app", "test/apps/ringing.ts", "--server", mesh.url, "--json"];
  const env = { SET_CLOCK: file, NODE_OPTIONS: "--import=./test/support/set-clock.mjs", LOG_LEVEL: "info" };
  const host = startCli(args, { env });
  await host.says('"role":"host"');
  return { host, set };
}

async function withMachines(
  offMs: readonly number[],
  run: (mesh: RealMesh, machines: Machine[]) => Promise<void>,
) {
  const mesh = await openRealMesh(own.server.nextUrl());
  const machines: Machine[] = [];
  try {
    for (const [at, off] of offMs.entries())
      machines.push(await machineWith(mesh, `machine-${off}-${at}`, off));
    await run(mesh, machines);
  } finally {
    for (const { host } of machines) host.process.kill("SIGKILL");
    await mesh.close();
  }
}

/** Starts so many, each in its own partition as its name falls. */
async function start(mesh: RealMesh, prefix: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, k) => `${prefix}-${k}`);
  for (const id of ids) await mesh.client.start(ringing, {}, { id });
  return ids;
}

/** How long each waited between its first turn and its last, by the server's clock. */
async function waited(mesh: RealMesh, ids: readonly string[]): Promise<number[]> {
  return Promise.all(
    ids.map(async (id) => {
      await mesh.client.anySaga(id).result();
      const messages = await mesh.ports.ledger.read(parseSagaId(id), 0, await mesh.head(id));
      return (messages.at(-1)?.storedAt ?? 0) - (messages[0]?.storedAt ?? 0);
    }),
  );
}

function expectDue(times: readonly number[]): void {
  expect(Math.min(...times)).toBeGreaterThan(delayMs - earlyMs);
  expect(Math.max(...times)).toBeLessThan(delayMs + lateMs);
}

test("hosts twenty minutes apart let what waits wait as long as it should, and each says how far it is off", async () => {
  await withMachines([10 * minute, -10 * minute], async (mesh, [ahead, behind]) => {
    expectDue(await waited(mesh, await start(mesh, "apart", 16)));
    await ahead?.host.says(/this machine's clock is \d+\.\d s ahead of the NATS server's/, "stderr");
    await behind?.host.says(/this machine's clock is \d+\.\d s behind the NATS server's/, "stderr");
    const moments = (await mesh.turns("apart-0")).map(({ at }) => at);
    expect(Math.max(...moments.map((at) => Math.abs(at - Date.now())))).toBeLessThan(2 * minute);
  });
});

test.each([
  { way: "ahead", offMs: hour, said: "ahead of" },
  { way: "back", offMs: -hour, said: "behind" },
])(
  "a clock that is set an hour $way while sagas wait makes none of them early or late",
  async ({ offMs, said }) => {
    await withMachines([0], async (mesh, [machine]) => {
      const before = await start(mesh, "before", 8);
      await until("all wait", async () =>
        (await Promise.all(before.map((id) => mesh.head(id)))).every((head) => head > 0),
      );
      await machine?.set(offMs);
      const after = await start(mesh, "after", 8);
      expectDue(await waited(mesh, [...before, ...after]));
      await machine?.host.says(
        new RegExp(`this machine's clock is \\d+\\.\\d s ${said} the NATS server's`),
        "stderr",
      );
    });
  },
);
