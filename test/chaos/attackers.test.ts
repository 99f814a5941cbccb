/**
 * An attack is found by its place, and what sends junk leaves nothing of the mesh's out: a stream that a later version
 * adds is one that it must be sent to.
 */
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseSagaId } from "../../protocol/ids.ts";
import { subjects } from "../../protocol/subjects.ts";
import { seededChance } from "../../services/memory/faults.ts";
import { declareStreams } from "../../services/nats/streams.ts";
import { loadAttacks } from "./attackers.ts";
import { storedTargets } from "./attacks/junk.ts";

describe("attackers", () => {
  test("every file of attacks/ is an attack of its name", async () => {
    const files = await readdir(fileURLToPath(new URL("attacks/", import.meta.url)));
    const names = (await loadAttacks()).map(({ name }) => `${name}.ts`);
    expect(names).toEqual(files.sort());
    expect(names).toContain("cancels.ts");
  });

  test("between them, junk and foreign messages go to every subject of every stream and bucket", () => {
    const chance = seededChance(1, "targets");
    const saga = parseSagaId("planner-1");
    // What is drawn differs: so often, that each has been.
    const targets = Array.from({ length: 200 }, () => storedTargets(saga, chance)).flat();
    const kinds = [...targets, subjects.ledger(saga)];
    const missed = declareStreams({ partitions: 1 })
      .flatMap(({ subjects: filters }) => filters)
      .filter((filter) => !kinds.some((subject) => isMatch(filter, subject)));
    expect(missed).toEqual([]);
  });
});

/** Whether a subject is one of those that a filter names. */
function isMatch(filter: string, subject: string): boolean {
  const wanted = filter.split(".");
  const tokens = subject.split(".");
  const isLong = wanted.at(-1) === ">" ? tokens.length >= wanted.length : tokens.length === wanted.length;
  return isLong && wanted.every((one, at) => one === "*" || one === ">" || one === tokens[at]);
}
