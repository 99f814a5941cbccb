/**
 * Goal: what a person does to a saga in the console is what the command line does, once, and what it cannot take is said with its
 * code, beside what was typed.
 * Method: `up` as a process with a bureau that doubts and waits; Chromium presses what a person would press, and the ledger is
 * asked what came of it.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { MemoryDocument } from "../../services/console/documents.ts";
import { seriousFaults, shot } from "../support/browser.ts";
import { type ConsoleRun, phone, rowOf, runConsole } from "../support/console-run.ts";

let run: ConsoleRun;
beforeAll(async () => {
  run = await runConsole("test/apps/bureau.ts");
});
afterEach(() => run.closePages());
afterAll(() => run?.close());

/** A bureau that rests, waiting for a word. */
async function resting(saga: string, more: object = {}) {
  await run.start("bureau", saga, { rounds: 1, forMs: 10, pays: false, ...more });
  const opened = await run.open(`/sagas/${saga}`);
  await opened.page.getByText("waits for go").waitFor();
  return opened;
}

describe("a saga that goes on", () => {
  test("gets a larger budget, and a raise that adds nothing is refused with its code", async () => {
    const { page, faults } = await resting("raised-1");
    await page.getByRole("tab", { name: "state" }).click();
    await page.getByRole("button", { name: "Raise budget" }).click();
    const dialog = page.getByRole("dialog");
    await expect.poll(() => dialog.getByLabel("Its name").inputValue()).toBe("budget");
    await dialog.getByRole("button", { name: "Signal" }).click();
    await dialog.getByRole("alert").getByText("INPUT_INVALID", { exact: true }).waitFor();
    await dialog.getByLabel("steps").fill("5");
    await shot(page, "acts-budget");
    expect(await seriousFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Signal" }).click();
    await page.getByText("of 20,005").waitFor();
    expect((await run.inspect("raised-1")).budget?.limits.steps).toBe(20_005);
    expect(faults).toEqual([]);
  });

  test("has its memory changed by a person, and an edit that is none is refused with its code", async () => {
    const { page, faults } = await resting("memory-1", { rounds: 6 });
    await page.getByRole("button", { name: "Signal" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Its name").selectOption("memory");
    await dialog.getByLabel("Its data").fill('{"notes":[]}');
    await dialog.getByRole("button", { name: "Signal" }).click();
    await dialog.getByRole("alert").getByText("INPUT_INVALID", { exact: true }).waitFor();
    await dialog.getByLabel("Its data").fill('{"set":{"notes":["Ada was paid in cash"]}}');
    await dialog.getByRole("button", { name: "Signal" }).click();
    const timeline = page.getByRole("region", { name: "what happened" });
    await timeline.getByText("Ada was paid in cash").waitFor();
    // Its host keeps its state once it rests after some ten turns, before the edit or after it: the page says after which.
    const remembered = async () =>
      (await (await fetch(`${run.base}/api/sagas/memory-1/memory`)).json()) as MemoryDocument;
    await expect
      .poll(async () => (await remembered()).memory, { timeout: 60_000, interval: 500 })
      .toBeDefined();
    const { turn = 0, memory } = await remembered();
    const edited = (await run.inspect("memory-1")).events.find(({ event }) => event.type === "signal");
    expect(memory).toEqual({ notes: turn >= (edited?.turn ?? 0) ? ["Ada was paid in cash"] : [] });
    await page.getByRole("button", { name: "Signal", exact: true }).click();
    await dialog.getByLabel("Its name").selectOption("memory");
    const now = dialog.getByRole("region", { name: "what it remembers" });
    // This console has the application: it shows the memory as it is now.
    await now.getByText("its last").waitFor();
    await now.getByText("Ada was paid in cash").waitFor();
    await shot(page, "acts-memory");
    expect(await seriousFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Leave it" }).click();
    const edits = (await run.inspect("memory-1")).events.filter(({ event }) => event.type === "signal");
    expect(edits.map(({ event }) => event)).toMatchObject([
      { name: "memory", data: { set: { notes: ["Ada was paid in cash"] } } },
    ]);
    expect(faults).toEqual([]);
  });
});

describe("a call in doubt", () => {
  test("is settled by a person from where it stands, on a phone, with what it gave by the tool's own form", async () => {
    await run.start("bureau", "doubt-1", { rounds: 0, forMs: 0, pays: false, posts: true });
    const { page, faults } = await run.open("/sagas/doubt-1", phone);
    const timeline = page.getByRole("region", { name: "what happened" });
    await timeline.getByText("post_letter").first().click();
    await page.getByRole("button", { name: "Settle" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("it happened").check();
    await dialog.getByLabel("stamp").fill("S-1");
    await dialog.getByLabel("cents").fill("x");
    await dialog.getByRole("button", { name: "Settle" }).click();
    await dialog.getByRole("alert").getByText("cents is no whole number").waitFor();
    await dialog.getByLabel("cents").fill("90");
    await shot(page, "acts-settle-phone");
    expect(await seriousFaults(page)).toEqual([]);
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(wide).toBeLessThanOrEqual(phone.width);
    await dialog.getByRole("button", { name: "Settle" }).click();
    await expect
      .poll(async () => callsOf("doubt-1"), { timeout: 30_000 })
      .toEqual([{ outcome: "succeeded", output: { stamp: "S-1", cents: 90 } }]);
    expect(faults).toEqual([]);
  });

  test("that did not happen is settled so, with why", async () => {
    await run.start("bureau", "doubt-2", { rounds: 0, forMs: 0, pays: false, posts: true });
    const { page, faults } = await run.open("/sagas/doubt-2");
    const timeline = page.getByRole("region", { name: "what happened" });
    await timeline.getByText("post_letter").first().click();
    await page.getByRole("button", { name: "Settle" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("it did not happen").check();
    await dialog.getByLabel("Reason").fill("it came back");
    await dialog.getByRole("button", { name: "Settle" }).click();
    await expect
      .poll(async () => (await callsOf("doubt-2")).map(({ outcome }) => outcome), { timeout: 30_000 })
      .toEqual(["failed"]);
    expect(faults).toEqual([]);
  });
});

const callsOf = async (saga: string) =>
  (await run.inspect(saga)).intents
    .filter(({ intent }) => intent.kind === "tool" && intent.name === "post_letter")
    .map(({ outcome, output }) => ({ outcome, output }));

describe("arguments that a person is asked about", () => {
  test("are changed in the form of the tool, and asked about anew", async () => {
    await run.start("bureau", "pays-1", { rounds: 0, forMs: 0, pays: true });
    const { page, faults } = await run.open("/tasks");
    await rowOf(page, "pays-1").click();
    await page.getByLabel("Your name").fill("ana");
    await page.getByRole("button", { name: "Change" }).click();
    await page.getByLabel("cents").fill("80000");
    await page.getByRole("button", { name: "Ask with these" }).click();
    await page.getByText("edit by ana").waitFor();
    await shot(page, "acts-changed");
    const asked = (await run.inspect("pays-1")).intents.filter(({ intent }) => intent.kind === "task");
    expect(asked.map(({ input }) => input)).toContainEqual({ supplier: "Ada & Sons", cents: 80_000 });
    expect(faults).toEqual([]);
  });
});

describe("a fork", () => {
  test("is made from a decision with another model, and shown beside its origin with the first difference", async () => {
    const { page, faults } = await resting("origin-1");
    const timeline = page.getByRole("region", { name: "what happened" });
    await timeline.getByText("I look around once more").first().click();
    await page.getByRole("button", { name: "Fork from here" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Its model").fill("nobody");
    await dialog.getByRole("button", { name: "Fork" }).click();
    await dialog.getByRole("alert").waitFor({ timeout: 30_000 });
    await shot(page, "acts-fork-refused");
    await dialog.getByLabel("Its model").fill("porter");
    await dialog.getByRole("button", { name: "Leave it" }).click();
    await page.getByRole("button", { name: "Fork from here" }).click();
    await dialog.getByLabel("Its model").fill("porter");
    await dialog.getByRole("button", { name: "Fork" }).dblclick();
    await page.getByText("The first difference").waitFor({ timeout: 30_000 });
    expect(page.url()).toContain("tab=beside");
    await page.getByText("fork of").waitFor();
    await shot(page, "beside");
    expect(await seriousFaults(page)).toEqual([]);
    await page.setViewportSize(phone);
    await shot(page, "beside-phone");
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(wide).toBeLessThanOrEqual(phone.width);
    const forks = await (await fetch(`${run.base}/api/sagas?text=origin-1-fork`)).json();
    expect(forks).toMatchObject({ found: 1 });
    expect(faults).toEqual([]);
  });
});
