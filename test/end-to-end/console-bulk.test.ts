/**
 * Goal: what is done to many sagas in the console touches what it said it would and nothing else, is told as it goes, can be stopped,
 * and is what the command line does; a question has a name that this browser keeps, and an answer says how old it is.
 * Method: a bureau whose letters are in doubt, sagas that rest, and ended ones on a real mesh; Chromium presses, the ledgers and the
 * folder of archives are asked what came of it.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { seriousFaults, shot } from "../support/browser.ts";
import { runCli } from "../support/cli.ts";
import { type ConsoleRun, desk, phone, rowOf, runConsole } from "../support/console-run.ts";

let run: ConsoleRun;
const bureau = { rounds: 0, forMs: 0, pays: false };
beforeAll(async () => {
  run = await runConsole("test/apps/bureau.ts");
  for (const k of [1, 2, 3]) await run.start("bureau", `doubt-${k}`, { ...bureau, posts: true });
  for (const k of [1, 2]) await run.start("weekend", `ended-${k}`, { guest: "ana", cents: 100 });
  for (let k = 0; k < 24; k++) await run.start("bureau", `rests-${k}`, bureau);
  await vi.waitUntil(async () => (await run.inspect("rests-23")).awaits !== undefined, {
    ...{ timeout: 90_000, interval: 300 },
  });
}, 180_000);
afterEach(() => run.closePages());
afterAll(() => run?.close());

const found = (filter: string) => `/sagas?text=${encodeURIComponent(filter)}`;

/** Opens the dialog of an act on all that is found. */
async function begin(page: Page, act: string) {
  await page.getByRole("button", { name: `${act}…` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("what it would touch").waitFor({ timeout: 30_000 });
  return dialog;
}

test("doubts are settled by one answer, first as a list that says what is left and why", async () => {
  const { page, faults } = await run.open(found("id!=doubt-3"));
  await rowOf(page, "doubt-1").waitFor({ timeout: 60_000 });
  const dialog = await begin(page, "Settle");
  const touched = dialog.getByLabel("what it would touch");
  await expect.poll(() => touched.locator("li").count()).toBe(2);
  await touched.getByText("post_letter").first().waitFor();
  await dialog.getByText(/sagas left: no call of it is in doubt/).waitFor();
  expect(await dialog.getByRole("button", { name: "Settle 2 calls" }).isDisabled()).toBe(true);
  await dialog.getByLabel("they did not happen").check();
  await dialog.getByLabel("Why?").fill("the box was found full");
  await shot(page, "bulk-settle");
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Settle 2 calls" }).click();
  await dialog.getByText("2 done").waitFor();
  for (const saga of ["doubt-1", "doubt-2"])
    await expect
      .poll(
        async () => (await run.inspect(saga)).intents.find(({ intent }) => intent.kind === "tool")?.outcome,
        { timeout: 30_000 },
      )
      .toBe("failed");
  const third = (await run.inspect("doubt-3")).intents.find(({ intent }) => intent.kind === "tool");
  expect(third?.outcome).toBe("in_doubt");
  expect(faults).toEqual([]);
});

test(
  "many are cancelled some at a time, and what was stopped leaves the rest going on",
  { timeout: 120_000 },
  async () => {
    const { page, faults } = await run.open(found("id=rests-* and status=running"));
    await rowOf(page, "rests-7").waitFor({ timeout: 60_000 });
    let pieces = 0;
    const go: (() => void)[] = [];
    await page.route("**/api/bulk/cancel", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      pieces += 1;
      if (pieces === 2) await new Promise<void>((resolve) => go.push(resolve));
      await route.continue();
    });
    const dialog = await begin(page, "Cancel");
    await dialog.getByLabel("Why?").fill("the office is closed");
    await dialog.getByRole("button", { name: "Cancel 24 sagas" }).click();
    await dialog.getByText("10 done of 24").waitFor();
    await shot(page, "bulk-progress");
    expect(await seriousFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => go.length).toBe(1);
    go[0]?.();
    const running = async () => {
      const words = [
        "query",
        "select count(*) as n from sagas where saga like 'rests-%' and status = 'running'",
        "--json",
      ];
      return (JSON.parse((await runCli(words, { env: run.env })).stdout) as { n: number }).n;
    };
    // What was on its way when it was stopped is done; no third request went.
    await expect.poll(running, { timeout: 60_000, interval: 1_000 }).toBe(4);
    expect(pieces).toBe(2);
    expect(faults).toEqual([]);
  },
);

test(
  "ended sagas are archived to files, and one that goes on is left with the reason",
  { timeout: 120_000 },
  async () => {
    const words = ["archive", "--query", "id=ended-*", "--after", "0s", "--force", "--json"];
    const dry = (await runCli(words, { env: run.env })).stdout.trim().split("\n");
    expect(dry.map((line) => (JSON.parse(line) as { outcome: string }).outcome)).toEqual(["due", "due"]);
    const { page, faults } = await run.open(found("id=ended-*"), phone);
    await rowOf(page, "ended-1").waitFor({ timeout: 60_000 });
    const dialog = await begin(page, "Archive");
    await dialog.getByText(/2 sagas left: its last turn is too young/).waitFor();
    await dialog.getByLabel("Those that ended").selectOption("0");
    await dialog.getByRole("button", { name: "Archive 2 sagas" }).waitFor();
    await shot(page, "bulk-archive-phone");
    expect(await seriousFaults(page)).toEqual([]);
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(wide).toBeLessThanOrEqual(phone.width);
    await dialog.getByRole("button", { name: "Archive 2 sagas" }).click();
    await dialog.getByText("2 done").waitFor({ timeout: 30_000 });
    expect(await readdir(join(run.env["SAGAMESH_DATA"] ?? "", "archive"))).toHaveLength(1);
    const verified = await runCli(["inspect", "ended-1", "--json"], { env: run.env });
    expect(verified.code).toBe(0);
    expect(faults).toEqual([]);
  },
);

test("what was set aside of the sagas that are meant is sent again", { timeout: 120_000 }, async () => {
  const early = ["signal", "late-1", "go", '{"text":1}', "--early"];
  expect((await runCli(early, { env: run.env })).code).toBe(0);
  await run.start("bureau", "late-1", bureau);
  const listed = async () => (await runCli(["dead", "ls", "--json"], { env: run.env })).stdout;
  await expect.poll(listed, { timeout: 60_000, interval: 500 }).toContain("late-1");
  const dry = await runCli(["dead", "retry", "--query", "id=late-*", "--json"], { env: run.env });
  expect(JSON.parse(dry.stdout)).toMatchObject({ saga: "late-1", sent: "would" });
  const { page, faults } = await run.open(found("id=late-*"));
  await rowOf(page, "late-1").waitFor({ timeout: 60_000 });
  const dialog = await begin(page, "Retry");
  await dialog.getByRole("button", { name: "Retry 1 letter" }).click();
  await dialog.getByText("1 done").waitFor();
  // Its host refuses it once more: it is another letter now.
  const first = (JSON.parse(dry.stdout) as { letter: number }).letter;
  await expect
    .poll(async () => ((JSON.parse((await listed()) || "{}") as { letter?: number }).letter ?? 0) > first, {
      ...{ timeout: 60_000, interval: 500 },
    })
    .toBe(true);
  expect(faults).toEqual([]);
});

for (const [size, viewport] of Object.entries({ desk, phone }))
  for (const scheme of ["light", "dark"] as const)
    test(`at a ${size} in the ${scheme} a question is kept under a name, found again, sent on and forgotten`, async () => {
      const { page, faults } = await run.open(found("agent=bureau and turns>1"), viewport, scheme);
      const views = page.getByRole("navigation", { name: "saved views" });
      await views.getByRole("button", { name: "Save this view" }).click();
      await views.getByLabel("the view's name").fill(`<b>mine</b> ${size}`);
      await views.getByRole("button", { name: "Save", exact: true }).click();
      const mine = views.getByRole("link", { name: `<b>mine</b> ${size}` });
      await mine.waitFor();
      await views.getByRole("link", { name: "in doubt" }).click();
      await rowOf(page, "doubt-3").waitFor({ timeout: 60_000 });
      await page.reload();
      await views.getByRole("link", { name: "dearest this week" }).click();
      await page.getByText("the dearest first").waitFor({ timeout: 30_000 });
      await page.getByText(/^asked /).waitFor();
      await shot(page, `views-${size}-${scheme}`);
      expect(await seriousFaults(page)).toEqual([]);
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect(wide).toBeLessThanOrEqual(viewport.width);
      await mine.click();
      await rowOf(page, "doubt-1").waitFor({ timeout: 60_000 });
      expect(await mine.getAttribute("aria-current")).toBe("page");
      await views.getByRole("button", { name: "Forget this view" }).click();
      await mine.waitFor({ state: "detached" });
      expect(faults).toEqual([]);
    });

test("an answer says when something was stored since, and asks again when it is told to", async () => {
  const { page, faults } = await run.open(found("agent=weekend"));
  await page.getByText(/^asked /).waitFor({ timeout: 60_000 });
  await run.start("weekend", "since-1", { guest: "bo", cents: 100 });
  await page.getByText("something happened since").waitFor();
  expect(await rowOf(page, "since-1").count()).toBe(0);
  await page.getByRole("button", { name: "Ask again" }).click();
  await rowOf(page, "since-1").waitFor({ timeout: 30_000 });
  expect(faults).toEqual([]);
});
