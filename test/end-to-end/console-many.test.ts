/**
 * Goal: a list of thousands of sagas is there as soon as one of ten, shows what changes at its top, and is read to its end page by
 * page, each saga once.
 * Method: 5,000 sagas on a real mesh, most of them ended; Chromium scrolls as a person does.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { connect } from "sagamesh";
import { weekend } from "../examples/weekend.ts";
import { seriousFaults, shot } from "../support/browser.ts";
import { type ConsoleRun, rowOf, runConsole } from "../support/console-run.ts";

const sagas = 5_000;
const atOnce = 100;
let run: ConsoleRun;

beforeAll(async () => {
  run = await runConsole("test/apps/bureau.ts");
  await using mesh = await connect({ servers: run.nats.url });
  for (let from = 0; from < sagas; from += atOnce)
    await Promise.all(
      Array.from({ length: atOnce }, (_, k) =>
        mesh.start(weekend, { guest: `g${from + k}`, cents: 100 }, { id: `many-${from + k}` }),
      ),
    );
}, 240_000);
afterEach(() => run.closePages());
afterAll(() => run?.close());

test("thousands are counted, and the newest are in sight, live", { timeout: 240_000 }, async () => {
  const { page, faults } = await run.open("/sagas?name=weekend");
  await page.getByText("5,000 sagas").waitFor({ timeout: 200_000 });
  await page.getByRole("button", { name: /^completed ?5,000/ }).waitFor({ timeout: 200_000 });
  const begun = Date.now();
  await page.reload();
  await page.getByText("5,000 sagas").waitFor();
  await rowOf(page, "many-").first().waitFor();
  console.log(`a list of ${sagas} sagas is shown after ${Date.now() - begun} ms`);
  await run.start("weekend", "newest", { guest: "n", cents: 100 });
  await page.locator("ul.rows li").first().getByText("newest").waitFor();
  await shot(page, "many");
  expect(await seriousFaults(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test("page by page each saga is there once", { timeout: 120_000 }, async () => {
  const { page, faults } = await run.open("/sagas?text=many-1");
  // many-1, many-10 to 19, many-100 to 199, many-1000 to 1999.
  await page.getByText("1,111 sagas").waitFor();
  const rows = page.locator("ul.rows li");
  const more = page.getByRole("button", { name: "More" });
  for (let shown = 50; shown < 250; shown += 50) {
    await expect.poll(() => rows.count()).toBe(shown);
    await more.click();
  }
  await expect.poll(() => rows.count()).toBe(250);
  const ids = await page.locator("ul.rows .id").allTextContents();
  expect(new Set(ids).size).toBe(250);
  expect(faults).toEqual([]);
});
