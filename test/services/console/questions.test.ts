/**
 * Goal: what a person types stands beside a statement and never in it, and who acts on sagas means those that are shown.
 * Method: tables that note what they are asked.
 */
import { expect, test } from "vitest";
import { createAsking, type Tables } from "../../../services/console/questions.ts";
import { createReadings } from "../../../services/console/readings.ts";
import { createSagaTeller } from "../../../services/console/saga.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";

async function open() {
  const mesh = createMemoryMesh({ seed: 7 });
  const asked: { sql: string; values: readonly unknown[] }[] = [];
  const tables: Tables = {
    dialect: "sqlite",
    ask: async (questions) => {
      asked.push(...questions);
      return questions.map(() => ({ columns: [], rows: [], isCut: false }));
    },
  };
  const deps = { ...mesh.spawn("console"), from: "tester" };
  const questions = createAsking(deps, createSagaTeller(deps, createReadings(deps.ports)), tables);
  const done = <T>(work: Promise<T>) => mesh.clock.until(work);
  return { questions, asked, done };
}

test("a filter is a value beside the statement, whatever it says, and one that is none is refused", async () => {
  const { questions, asked, done } = await open();
  await done(questions.find("id=x';drop"));
  expect(asked.map(({ values }) => values)).toEqual([["x';drop"]]);
  expect(asked[0]?.sql).not.toContain("drop");
  await expect(done(questions.find("nothing=1"))).rejects.toMatchObject({ code: "USAGE" });
  await expect(done(questions.find(""))).rejects.toMatchObject({ code: "USAGE" });
});

test("for who acts on them the same sagas are meant, with what is open of each", async () => {
  const { questions, asked, done } = await open();
  await done(questions.find("id=one", "cost"));
  await done(questions.meant("id=one"));
  const [shown, meant] = asked.map(({ sql, values }) => ({
    where: sql.replace(/^.* where (.*) order by .*$/, "$1"),
    values,
  }));
  expect(meant).toEqual(shown);
  expect(asked[0]?.sql).toMatch(/order by cost desc/);
  await expect(done(questions.meant("nothing=1"))).rejects.toMatchObject({ code: "USAGE" });
});
