/** Goal: what a process repeats goes on until its signal. Method: virtual time, and runs that fail. */
import { expect, test } from "vitest";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { every } from "../../../services/process/every.ts";
import { silentLog } from "../../../services/process/log.ts";

function openLoop() {
  const { clock } = createMemoryMesh({ seed: 1 });
  const said: object[] = [];
  const stop = new AbortController();
  const log = { ...silentLog, warn: (fields: object) => void said.push(fields) };
  return { clock, said, stop, whileServing: { clock, log, signal: stop.signal } };
}

test("a run that throws or rejects is logged by its name, and the next one comes in its time", async () => {
  const { clock, said, whileServing } = openLoop();
  const thrown = new Error("thrown");
  const rejected = new Error("rejected");
  let runs = 0;
  void every(whileServing, 100, "renewing", () => {
    runs += 1;
    if (runs === 1) throw thrown;
    if (runs === 2) return Promise.reject(rejected);
    return undefined;
  });
  await clock.advance(250);
  expect(runs).toBe(3);
  expect(said).toEqual([
    { err: thrown, what: "renewing" },
    { err: rejected, what: "renewing" },
  ]);
});

test("it ends with its signal in the middle of a wait, and no run follows", async () => {
  const { clock, stop, whileServing } = openLoop();
  let runs = 0;
  const ended = every(whileServing, 1_000, "looking", () => void (runs += 1));
  await clock.advance(10);
  stop.abort();
  await clock.until(ended);
  await clock.advance(5_000);
  expect(runs).toBe(1);
});
