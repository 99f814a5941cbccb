/**
 * Goal: the laws of any workflow find each kind of evidence that is forgotten.
 * Method: the laws run in a process whose source has one rule broken, and by themselves in one that has none.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { plants } from "./plants.ts";

const command = fileURLToPath(new URL("planted.ts", import.meta.url));

test.each(plants)("$name is found", ({ name }) => {
  const { status, stderr } = spawnSync(process.execPath, ["--conditions=sagamesh-source", command, name], {
    encoding: "utf8",
    timeout: 240_000,
  });
  expect(stderr).toContain("Property failed after");
  expect(status).toBe(1);
});
