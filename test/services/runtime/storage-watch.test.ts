/** What a host's process says of the room that is left. Method: virtual time, and a disk that the test fills. */
import { expect, onTestFinished, test } from "vitest";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { type Log, silentLog } from "../../../services/process/log.ts";
import { watchStorageLeft } from "../../../services/runtime/storage-watch.ts";

const [mega, minute] = [1e6, 60_000];

function open(reserveBytes?: number) {
  const { clock } = createMemoryMesh({ seed: 1 });
  const disk = { leftBytes: 900 * mega };
  const said: string[] = [];
  const note = ({ detail }: { detail?: unknown }, message: string) =>
    void said.push(`${message}: ${String(detail)}`);
  const log: Log = { ...silentLog, warn: note, info: note };
  const read = async () => [{ of: "the disk", allBytes: 1_000 * mega, leftBytes: disk.leftBytes }];
  const watch = watchStorageLeft({ clock, log, reserveBytes }, read);
  onTestFinished(() => clock.until(watch.stop()));
  return { clock, disk, said, watch };
}

test("each step is said once, also the one back", async () => {
  const { clock, disk, said, watch } = open();
  await clock.advance(minute);
  expect([watch.left()?.level, said]).toEqual(["fine", []]);
  disk.leftBytes = 150 * mega;
  await clock.advance(4 * minute);
  expect(said).toHaveLength(1);
  expect(said[0]).toContain("little is left to store in: the disk has 150 MB left of 1.0 GB");
  disk.leftBytes = 20 * mega;
  await clock.advance(minute);
  expect(said.slice(1).join()).toContain("is kept for what runs: the disk has 20 MB left");
  disk.leftBytes = 950 * mega;
  await clock.advance(minute);
  expect(said.slice(2).join()).toContain("enough is left to store in again: the disk has 950 MB left");
});

test("how fast it fills is told after five minutes, over the last hour at most", async () => {
  const { clock, disk, watch } = open();
  const fill = async (minutes: number, megabytes: number) => {
    for (let k = 0; k < minutes; k++) {
      disk.leftBytes -= megabytes * mega;
      await clock.advance(minute);
    }
  };
  await clock.advance(1_000);
  await fill(4, 1);
  expect(watch.left()).not.toHaveProperty("bytesPerHour");
  await fill(2, 1);
  expect(watch.left()?.bytesPerHour).toBeGreaterThan(50 * mega);
  expect(watch.left()?.bytesPerHour).toBeLessThan(70 * mega);
  await fill(70, 0);
  expect(watch.left()?.bytesPerHour).toBe(0);
});

test("what is kept is what the host was told", async () => {
  const { clock, disk, watch } = open(0);
  disk.leftBytes = 1;
  await clock.advance(minute);
  expect(watch.left()?.level).toBe("low");
});
