/**
 * Each rule by which a host is found dead is needed: broken in the product's own source, it is found.
 *
 * Method: a process for each plant, which runs the same checks as bury.test.ts; and one without, in which all hold.
 */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { burialPlants } from "./burial-plants.ts";

const run = async (...words: string[]) => {
  const file = path.join(import.meta.dirname, "burial-run.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=sagamesh-source",
    file,
    ...words,
  ]);
  return JSON.parse(stdout) as { found: string[]; broken: string[] };
};

test("with no rule broken all checks hold", async () => {
  expect(await run()).toEqual({ found: [], broken: [] });
});

test.each(burialPlants)("$name is found ($rule)", async ({ name }) => {
  const { found, broken } = await run(name);
  expect(broken).toEqual([]); // A plant that merely broke the code would prove nothing.
  expect(found.length).toBeGreaterThan(0);
});
