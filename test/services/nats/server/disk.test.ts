/** How much the embedded server's store may hold. Method: a folder of its own with files in it, on the disk that it is on. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { diskOf, spaceOf } from "../../../../services/nats/server/disk.ts";

test("ZD1: the store may hold what it holds, and most of what is free, but not all", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-store-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = join(folder, "server", "store");
  const empty = await diskOf(store); // It is made by the server, later.
  expect(empty.usedBytes).toBe(0);
  await mkdir(join(store, "deep"), { recursive: true });
  await writeFile(join(store, "deep", "1.blk"), Buffer.alloc(300_000));
  await writeFile(join(store, "2.blk"), Buffer.alloc(200_000));
  const { usedBytes, storeBytesMax, freeBytes, sizeBytes } = await diskOf(store);
  expect(usedBytes).toBe(500_000);
  expect(storeBytesMax).toBeGreaterThan(usedBytes);
  expect(storeBytesMax - usedBytes).toBeLessThan(freeBytes);
  expect(freeBytes).toBeGreaterThan(0);
  expect(sizeBytes).toBeGreaterThan(freeBytes);
  expect((await spaceOf("/")).freeBytes).toBeGreaterThan(0);
});
