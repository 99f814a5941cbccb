/** Tests stand where their source stands: a folder of tests without a folder of sources was left behind by a move. */
import { existsSync, globSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

test.each(["protocol", "actors", "services"])("every test of %s stands in a folder of sources", (ring) => {
  const folders = new Set(globSync(`test/${ring}/**/*.test.ts`, { cwd: root }).map(dirname));
  expect(folders.size).toBeGreaterThan(0);
  const lost = [...folders].filter((folder) => !existsSync(`${root}${folder.replace(/^test\//, "")}`));
  expect(lost).toEqual([]);
});
