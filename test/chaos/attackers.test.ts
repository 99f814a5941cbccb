/**
 * An attack is found by its place, and one that is put off is one there is: a name that nobody has would put off nothing.
 */
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { loadAttacks } from "./attackers.ts";
import { excused, notYetAttacks } from "./not-yet.ts";

describe("attackers", () => {
  test("every file of attacks/ is an attack of its name", async () => {
    const files = await readdir(fileURLToPath(new URL("attacks/", import.meta.url)));
    const names = (await loadAttacks()).map(({ name }) => `${name}.ts`);
    expect(names).toEqual(files.sort());
    expect(names).toContain("cancels.ts");
  });

  test("what is put off is an attack that there is", async () => {
    const names = (await loadAttacks()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(notYetAttacks)));
  });

  test("what nobody has excused is counted", () => {
    const found = [{ promise: "P1", what: "once twice" }];
    expect(excused(found)).toEqual({ counted: found, excuses: [] });
  });
});
