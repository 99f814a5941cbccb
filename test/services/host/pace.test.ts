/**
 * Goal: a saga whose turns take long takes fewer inputs with each, and as many as ever once they do not.
 *
 * Method: a host on a memory mesh with a saga whose machine costs, by the host's clock, as much for each signal as the test
 * says: in all less than a lease, for its pulse does not beat meanwhile. Time is counted by the test; nothing is timed.
 */
import { expect, test } from "vitest";
import { limits } from "../../../protocol/limits.ts";
import { startHost } from "../../../services/host/host.ts";
import { createPace } from "../../../services/host/pace.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { tickingApp, tickingSaga } from "../../support/ticking.ts";

/** The sizes of the turns that so many signals become, which all wait when the saga begins. */
async function turnSizes(signals: number, costMs: (tick: number) => number): Promise<number[]> {
  const mesh = createMemoryMesh({ seed: 1 });
  const client = mesh.spawn("client");
  let [spent, ticks] = [0, 0];
  const { app } = tickingApp(() => void (spent += costMs(ticks++)));
  const send = (subject: string, body: unknown) =>
    mesh.clock.until(
      client.ports.inbox.publish({ subject, data: Buffer.from(JSON.stringify(body)), headers: {} }),
    );
  await send(`saga.${tickingSaga}.start`, { name: "ticking", input: {} });
  for (let k = 0; k < signals; k++) await send(`saga.${tickingSaga}.signal.tick`, {});
  const { ports, clock, chance, gate } = mesh.spawn("host");
  const options = { ports, chance, log: silentLog, incarnation: gate.name, callbackBase: "sagamesh:" };
  await mesh.clock.until(
    startHost({ ...options, clock: { ...clock, elapsed: () => clock.elapsed() + spent } }, app),
  );
  await mesh.clock.advance(30_000);
  const turns = await mesh.clock.until(
    Promise.all(mesh.server.ledger.after(tickingSaga, 0).map((one) => decodeTurn(client.ports.blobs, one))),
  );
  return turns.map(({ steps }) => steps.filter(({ event }) => event.type === "signal").length);
}

test("a turn that held its host makes the next ones smaller, down to one or two inputs, and none is lost", async () => {
  const sizes = await turnSizes(80, () => 30);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(80);
  const slow = sizes.findIndex((size) => size > 1);
  expect(sizes[slow]).toBeLessThanOrEqual(limits.stepsPerTurnMax);
  expect(Math.max(...sizes.slice(slow + 1))).toBeLessThanOrEqual(2);
});

test("what was slow and is not any more takes as many as ever", async () => {
  const sizes = await turnSizes(600, (tick) => (tick < 80 ? 30 : 0));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(600);
  expect(sizes).toContain(1);
  expect(Math.max(...sizes.slice(sizes.indexOf(1)))).toBe(limits.stepsPerTurnMax);
});

test("a pace never falls below one input and never rises above the bound of a turn", () => {
  const pace = createPace();
  for (const ms of [1_000_000, 1_000_000]) {
    pace.took(limits.stepsPerTurnMax, ms);
    expect(pace.size()).toBe(1);
  }
  for (let k = 0; k < 20; k++) pace.took(pace.size(), 0);
  expect(pace.size()).toBe(limits.stepsPerTurnMax);
  pace.took(1, 0);
  expect(pace.size()).toBe(limits.stepsPerTurnMax);
});

test("what a turn takes whatever is in it is not spread over ever more turns", () => {
  const pace = createPace();
  const [ofTurn, ofInput] = [4 * limits.turnHeldMs, 0.01];
  let inputs = 0;
  for (let k = 0; k < 100; k++) {
    inputs += pace.size();
    pace.took(pace.size(), ofTurn + ofInput * pace.size());
  }
  expect(inputs / 100).toBeGreaterThan(10);
});

test("of inputs that each take long a turn takes a few, however the saga began", () => {
  for (const first of [0, 10, 1_000]) {
    const pace = createPace();
    pace.took(1, first * limits.turnHeldMs);
    const sizes = Array.from({ length: 100 }, () => {
      pace.took(pace.size(), 2 * limits.turnHeldMs * pace.size());
      return pace.size();
    });
    expect(Math.max(...sizes.slice(50)), sizes.join(" ")).toBeLessThanOrEqual(2);
  }
});
