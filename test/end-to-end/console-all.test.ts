/**
 * Goal: of all sagas those that are meant are found by a filter and by what was said, and many are cancelled at once as they were
 * shown; what was spent is told by day, agent and model, and whose budget is about to end.
 * Method: sagas of a bureau on a real mesh, whose tables the console fills when it is first asked; Chromium types and presses.
 */
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { seriousFaults, shot } from "../support/browser.ts";
import { type ConsoleRun, desk, phone, rowOf, runConsole } from "../support/console-run.ts";

let run: ConsoleRun;
beforeAll(async () => {
  run = await runConsole("test/apps/bureau.ts");
  await run.start("weekend", "ana-1", { guest: "ana", cents: 90_000 });
  for (const k of [1, 2, 3]) await run.start("bureau", `waits-${k}`, { rounds: 1, forMs: 0, pays: false });
  for (const k of [1, 2, 3])
    await vi.waitUntil(async () => (await run.inspect(`waits-${k}`)).awaits !== undefined, {
      timeout: 60_000,
      interval: 200,
    });
});
afterEach(() => run.closePages());
afterAll(() => run?.close());

test("sagas are found by a filter, by what was said, and a filter that is none is refused beside it", async () => {
  const { page, faults } = await run.open("/sagas");
  await rowOf(page, "waits-1").waitFor();
  const search = page.getByLabel("search by id, definition or filter");
  await search.fill("status=failed and error=SAGA_FAILED or");
  await page.getByRole("alert").getByText("USAGE", { exact: true }).waitFor();
  await search.fill("agent=weekend and turns>1");
  await rowOf(page, "ana-1").waitFor();
  await rowOf(page, "waits-1").waitFor({ state: "detached" });
  await search.fill("text~street and agent=bureau");
  await rowOf(page, "waits-2").waitFor();
  expect(await rowOf(page, "ana-1").count()).toBe(0);
  expect(page.url()).toContain("text=");
  await page.reload();
  await rowOf(page, "waits-3").waitFor();
  await shot(page, "found");
  expect(await seriousFaults(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test("many are cancelled at once, and one that was not shown goes on", async () => {
  const { page, faults } = await run.open(`/sagas?text=${encodeURIComponent("id=waits-* and id!=waits-3")}`);
  await rowOf(page, "waits-1").waitFor();
  await page.getByRole("button", { name: "Cancel…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("waits-2").waitFor();
  await dialog.getByLabel("Why?").fill("the office is closed");
  await shot(page, "cancel-all");
  await dialog.getByRole("button", { name: "Cancel 2 sagas" }).click();
  await dialog.getByText("2 done").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  for (const saga of ["waits-1", "waits-2"])
    await expect
      .poll(async () => (await run.inspect(saga)).end?.reason, { timeout: 30_000 })
      .toContain("the office is closed");
  expect((await run.inspect("waits-3")).status).toBe("running");
  expect(faults).toEqual([]);
});

test("what was spent is told by day, agent and model, in every width and theme", async () => {
  await expect
    .poll(
      async () => {
        const said = (await (await fetch(`${run.base}/api/cost?days=7`)).json()) as { models?: unknown };
        return said.models;
      },
      { timeout: 60_000 },
    )
    .toMatchObject([
      // Three sagas of three decisions; a porter of each with two.
      { name: "bureau", calls: 9, tokens: 9 * 1_280 },
      { name: "porter", calls: 6, tokens: 6 * 1_280 },
    ]);
  for (const [size, viewport] of Object.entries({ desk, phone }))
    for (const scheme of ["light", "dark"] as const) {
      const { page, faults } = await run.open("/cost?days=7", viewport, scheme);
      await page.getByRole("region", { name: "By model" }).getByText("porter").waitFor();
      await shot(page, `cost-${size}-${scheme}`);
      expect(await seriousFaults(page), `${size} ${scheme}`).toEqual([]);
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect(wide, size).toBeLessThanOrEqual(viewport.width);
      expect(faults).toEqual([]);
    }
});

test("a saga that has used most of its budget is named, and one that was given more is not", async () => {
  await run.start("thrifty", "near-1", {});
  await run.start("thrifty", "near-2", {});
  for (const saga of ["near-1", "near-2"])
    await expect.poll(async () => (await run.inspect(saga)).spent.steps, { timeout: 30_000 }).toBe(4);
  const { page, faults } = await run.open("/cost");
  const near = page.getByRole("region", { name: "budgets about to end" });
  await near.getByText("near-2").waitFor();
  await page.goto(`${run.base}/sagas/near-2?tab=state`);
  await page.getByRole("button", { name: "Raise budget" }).click();
  await page.getByRole("dialog").getByLabel("steps").fill("50");
  await page.getByRole("dialog").getByRole("button", { name: "Signal" }).click();
  await page.getByText("of 55").waitFor();
  await page.goto(`${run.base}/cost`);
  await near.getByText("near-1").waitFor();
  expect(await near.getByText("near-2").count()).toBe(0);
  expect(faults).toEqual([]);
});
