/**
 * Goal: who looks and who acts are told apart: a page of who only looks offers no act, and what is done through a proxy stands on the
 * ledger under the name that it vouched for.
 * Method: a console with two tokens and one behind a proxy, as processes; Chromium looks for every button there is.
 */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { faultsOf, seriousFaults, shot } from "../support/browser.ts";
import { type ConsoleRun, desk, phone, rowOf, runConsole } from "../support/console-run.ts";
import { type SigningInProxy, startSigningInProxy } from "../support/signing-in-proxy.ts";

const tokens = { act: "a token that acts, for the test", look: "a token that looks, for the test" };
const secret = "what the proxy and the console share";
let run: ConsoleRun;
let proxy: SigningInProxy;
let guarded: string;
beforeAll(async () => {
  run = await runConsole("test/apps/bureau.ts", {
    ...{ SAGAMESH_CONSOLE_TOKEN: tokens.act, SAGAMESH_CONSOLE_LOOK_TOKEN: tokens.look },
    SAGAMESH_CONSOLE_PROXY_SECRET: secret,
  });
  const { said } = await run.serve(
    ...["console", "--port", "0", "--host", "0.0.0.0", "--proxy-header", "X-Forwarded-User"],
    ...["--proxy-groups-header", "X-Forwarded-Groups", "--acting", "group:ops,ana"],
  );
  guarded = (said.console ?? "").replace("0.0.0.0", "127.0.0.1");
  proxy = await startSigningInProxy(guarded, secret, { bo: "finance", cy: "finance,ops" });
  await run.start("bureau", "waits-1", { rounds: 1, forMs: 0, pays: false });
  await run.start("bureau", "pays-1", { rounds: 0, forMs: 0, pays: true });
});
afterEach(() => run.closePages());
afterAll(async () => {
  await proxy?.close();
  await run?.close();
});

/** Every button that acts or opens what acts, wherever it stands. */
const acting =
  /^(Signal|Cancel|Pause|Resume|Instruct|Raise budget|Fork|Settle|Approve|Deny|Change|Send again|Discard|Archive|Retry)/;

async function buttonsOn(page: Page, base: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of [
    ...["/sagas", "/sagas?text=agent%3Dbureau", "/sagas/waits-1", "/sagas/waits-1?at=2-0"],
    ...["/sagas/waits-1?tab=state", "/tasks", "/tasks/pays-1/4-0", "/mesh", "/cost"],
  ]) {
    await page.goto(`${base}${path}`);
    await page.locator(".foot").waitFor();
    await page.locator(".waiting").first().waitFor({ state: "detached", timeout: 60_000 });
    for (const name of await page.getByRole("button", { name: acting }).allTextContents())
      found.push(`${path} ${name}`);
  }
  return found;
}

async function openWith(token: string): Promise<{ page: Page; faults: string[] }> {
  const page = await (await run.context(desk)).newPage();
  const faults = faultsOf(page);
  await page.goto(`${guarded}/sagas`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
  await rowOf(page, "waits-1").waitFor();
  return { page, faults };
}

async function openAs(name: string): Promise<{ page: Page; faults: string[] }> {
  const context = await run.context(phone);
  await context.addCookies([{ name: "signed-in", value: name, url: proxy.url }]);
  const page = await context.newPage();
  return { page, faults: faultsOf(page) };
}

test("with the token that looks every view is there and nothing that acts is; with the other one it is", async () => {
  await expect.poll(async () => (await run.inspect("waits-1")).awaits, { timeout: 60_000 }).toBeDefined();
  const { page, faults } = await openWith(tokens.look);
  await page.getByText("you may look, and not act").waitFor();
  await shot(page, "roles-looks");
  expect(await seriousFaults(page)).toEqual([]);
  expect(await buttonsOn(page, guarded)).toEqual([]);
  const signalled = await page.evaluate<unknown>(`fetch("/api/sagas/waits-1/signals", {
    method: "POST", headers: { "x-sagamesh-console": "1" }, body: JSON.stringify({ name: "cancel", data: {}, id: "12345678" }),
  }).then(async (answer) => [answer.status, (await answer.json()).error.code])`);
  expect(signalled).toEqual([403, "ACT_REFUSED"]);
  await page.getByRole("button", { name: "Show another token" }).click();
  await page.getByLabel("Token").fill(tokens.act);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByText("you may look and act").waitFor();
  const found = await buttonsOn(page, guarded);
  for (const one of ["Cancel", "Signal", "Raise budget", "Fork", "Approve"])
    expect(
      found.some((line) => line.includes(one)),
      one,
    ).toBe(true);
  expect(faults).toEqual([]);
  expect((await run.inspect("waits-1")).status).toBe("running");
});

test("through a proxy a person acts under the name that it vouches for, and others of its names only look", async () => {
  const looks = await openAs("bo");
  await looks.page.goto(`${proxy.url}/tasks/pays-1/4-0`);
  await looks.page.getByText("You are bo and may look, and not act.").waitFor();
  await looks.page.getByText("Who looks only cannot decide it.").waitFor();
  expect(await looks.page.getByRole("button", { name: acting }).count()).toBe(0);

  const acts = await openAs("cy");
  await acts.page.goto(`${proxy.url}/sagas/waits-1`);
  await acts.page.getByText("You are cy and may look and act.").waitFor();
  await acts.page.getByRole("button", { name: "Instruct" }).click();
  await acts.page.getByRole("dialog").getByRole("textbox").fill("Hurry.");
  await acts.page.getByRole("dialog").getByRole("button", { name: "Instruct" }).click();
  await expect
    .poll(
      async () =>
        (await run.inspect("waits-1")).events.flatMap(({ event }) =>
          event.type === "signal" ? [`${event.name} by ${event.from}`] : [],
        ),
      { timeout: 30_000 },
    )
    .toEqual(["instruct by cy"]);

  const asked = await openAs("ana");
  await asked.page.goto(`${proxy.url}/tasks/pays-1/4-0`);
  await asked.page.getByText("As ana").waitFor();
  await shot(asked.page, "roles-named-phone");
  expect(await seriousFaults(asked.page)).toEqual([]);
  expect(await asked.page.getByLabel("Your name").count()).toBe(0);
  await asked.page.getByRole("button", { name: "Approve" }).click();
  await asked.page.getByText("approve by ana").waitFor();
  for (const { faults } of [looks, acts, asked]) expect(faults).toEqual([]);
});

test("past the proxy its headers open nothing", async () => {
  const headers = { "x-forwarded-user": "ana", "x-forwarded-groups": "ops" };
  expect((await fetch(`${guarded}/api/sagas`, { headers })).status).toBe(401);
});
