/**
 * Goal: a workflow is seen in a browser as its plan, with who judged what; the sides of a state as of any turn; what a model was sent
 * with its proof; and children in place, each read when somebody opens it.
 * Method: `up` as a process with a workflow whose meal may be refused and a chief with clerks that have runners; a console beside it
 * that has no application; Chromium does what a person does.
 */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../support/cli.ts";
import { seriousFaults, shot } from "../support/browser.ts";
import { type ConsoleRun, desk, phone, runConsole } from "../support/console-run.ts";

const app = "test/apps/outing.ts";
let run: ConsoleRun;
beforeAll(async () => {
  run = await runConsole(app);
});
afterEach(() => run.closePages());
afterAll(() => run?.close());

const over = (page: Page, words: string) =>
  page.getByRole("heading", { name: words }).waitFor({ timeout: 60_000 });
const chosen = (page: Page) => page.getByRole("complementary", { name: "what is chosen" });
const timelineOf = (page: Page) => page.getByRole("region", { name: "what happened" });

describe("the plan of a workflow", () => {
  test("changes while it is looked at: what stands is undone once a judge has refused, and what never began says so", async () => {
    await run.start("outing", "dear-1", { cents: 9_000, forMs: 4_000 });
    const { page, faults } = await run.open("/sagas/dear-1?tab=plan");
    await page.getByRole("button", { name: /^bus undoing/ }).waitFor({ timeout: 60_000 });
    await shot(page, "plan-undoing");
    await page.getByText(/being undone/).waitFor();
    await over(page, "failed dear-1");
    await page.getByRole("button", { name: /^bus undone/ }).waitFor();
    await page.getByRole("button", { name: /^meal .*price: reject/ }).click();
    const detail = chosen(page);
    await detail.getByText("is too dear: <img src=x").first().waitFor();
    await detail.getByText("of its output, by code").waitFor();
    await detail.getByText("bus has committed").waitFor();
    await shot(page, "plan-verdict");
    await page.getByText("1 verdict in all").click();
    await page.locator(".verdicts").getByText("is too dear").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole("button", { name: /^walk/ }).click();
    await detail.getByText("meal has committed with /cents atMost 5000").waitFor();
    await detail.getByText("It has not been begun.").waitFor();
    expect(page.url()).toContain("node=walk");
    expect(await page.title()).not.toContain("taken");
    expect(faults).toEqual([]);
  });

  test("is as it was after any turn, and a run of a node leads to what it did", async () => {
    await run.start("outing", "fair-1", { cents: 900, forMs: 0 });
    const { page, faults } = await run.open("/sagas/fair-1?tab=plan");
    await over(page, "completed fair-1");
    await page.getByText("3 stand", { exact: true }).waitFor();
    await page.getByLabel("turn", { exact: true }).fill("1");
    await page.getByText("1 runs, 2 are not yet begun").waitFor();
    await page.getByRole("button", { name: "now" }).click();
    await page.getByRole("button", { name: /^meal committed/ }).click();
    await chosen(page).getByText("accept").waitFor();
    await chosen(page).getByRole("link").first().click();
    await chosen(page)
      .getByRole("heading", { name: /tool meal/ })
      .waitFor();
    expect(faults).toEqual([]);
  });

  test("is no tab of a saga that is no workflow", async () => {
    await run.start("chief", "alone-1", { clerks: 0 });
    const { page, faults } = await run.open("/sagas/alone-1?tab=plan");
    await page.getByText("it is no workflow").waitFor();
    await page.getByRole("tab", { name: "timeline" }).click();
    await page.getByRole("tab", { name: "plan" }).waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });
});

describe("the three sides of a state", () => {
  test("are there at any turn, each an address", async () => {
    await run.start("outing", "sides-1", { cents: 9_000, forMs: 0 });
    const { page, faults } = await run.open("/sagas/sides-1?tab=state");
    await over(page, "failed sides-1");
    await page.getByRole("button", { name: "operation" }).click();
    const side = (name: string) => page.getByRole("region", { name: `${name} state` });
    await side("operation").getByText("undoing: undone").first().waitFor();
    await shot(page, "sides-operation");
    await page.getByRole("button", { name: "dependency" }).click();
    await side("dependency").getByText("bus → meal").waitFor();
    await side("dependency").getByText("price: reject").waitFor();
    await page.getByRole("button", { name: "application" }).click();
    await side("application").getByText("none").first().waitFor();
    await side("application")
      .getByRole("link", { name: /^turn \d/ })
      .first()
      .click();
    await side("application").getByText("cents").first().waitFor();
    await side("application").locator(".status.stands").waitFor();
    expect(new URL(page.url()).search).toMatch(/tab=state&side=application&turn=\d/);
    expect(await seriousFaults(page)).toEqual([]);
    await shot(page, "sides-application");
    expect(faults).toEqual([]);
  });
});

describe("what a model was sent", () => {
  test("is shown whole with its digest, and the page says that it was made again and agrees", async () => {
    await run.start("chief", "asked-1", { clerks: 1 });
    const { page, faults } = await run.open("/sagas/asked-1");
    await timelineOf(page).getByText("decision 2").click();
    const detail = chosen(page);
    await detail.getByRole("button", { name: "Show what it was sent" }).click();
    await detail.getByText("its digest is the one that was recorded").waitFor();
    await detail.getByText("Work.").first().waitFor();
    const intent = new URL(page.url()).searchParams.get("at") ?? "";
    const { intents } = await run.inspect("asked-1");
    const asked = intents.find((one) => one.intent.id === intent)?.intent;
    await detail
      .getByText(asked?.kind === "model" ? asked.request : "none")
      .first()
      .waitFor();
    await shot(page, "prompt");
    expect(await seriousFaults(page)).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      detail.getByRole("link", { name: "All of it, as a file" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`asked-1-${intent}.json`);
    const whole = await (
      await fetch(`${run.base}/api/sagas/asked-1/intents/${intent}/prompt?whole=1`)
    ).json();
    const words = ["inspect", "asked-1", "--prompt", "--app", app, "--at", String(turnOf(intent)), "--json"];
    const said = await runCli(words, { env: run.env });
    expect(whole).toEqual(JSON.parse(said.stdout));
    expect(faults).toEqual([]);
  });

  test("a console without the application shows the recorded digest, and says how it gets the rest", async () => {
    await run.start("outing", "bare-1", { cents: 900, forMs: 0 });
    await run.start("chief", "bare-2", { clerks: 0 });
    const bare = await run.serve("console", "--port", "0");
    const page = await (await run.context(desk)).newPage();
    await page.goto(`${bare.said.console ?? ""}/sagas/bare-2`);
    await timelineOf(page).getByText("decision 1").click();
    await chosen(page).getByRole("button", { name: "Show what it was sent" }).click();
    await chosen(page).getByText("sagamesh console --app FILE").waitFor();
    await page.goto(`${bare.said.console ?? ""}/sagas/bare-1?tab=plan`);
    await page.getByText("sagamesh console --app FILE").waitFor();
    await shot(page, "plan-without");
    const named = await run.serve("console", "--port", "0", "--app", app);
    await page.goto(`${named.said.console ?? ""}/sagas/bare-1?tab=plan`);
    await page.getByRole("button", { name: /^bus committed/ }).waitFor();
  });
});

/** An intent's id begins with its turn. */
const turnOf = (intent: string): number => Number(intent.split("-")[0]);

describe("children", () => {
  test(
    "by the hundred are read one by one, as somebody opens them, as deep as they go",
    { timeout: 240_000 },
    async () => {
      await run.start("chief", "crowd-1", { clerks: 100 });
      const { page, faults } = await run.open("/sagas/crowd-1");
      await page.getByText("waits for home").waitFor({ timeout: 200_000 });
      await page.reload();
      const read: string[] = [];
      page.on("request", (request) => {
        const [, saga] = /\/api\/sagas\/([^/]+)\/(?:timeline|graph)/.exec(request.url()) ?? [];
        if (saga !== undefined && saga !== "crowd-1") read.push(saga);
      });
      const timeline = timelineOf(page);
      const opener = timeline.getByRole("button", { name: /what clerk-\w+ did/ }).first();
      const clerk = /what (\S+) did/.exec((await opener.getAttribute("aria-label")) ?? "")?.[1] ?? "";
      expect(read).toEqual([]);
      await opener.click();
      await timeline.getByText("A runner goes.").first().waitFor();
      await timeline
        .getByRole("button", { name: /what runner-\w+ did/ })
        .first()
        .click();
      await timeline.getByText("I ran. <img src=x").first().waitFor();
      expect(new Set(read).size).toBe(2);
      expect(read).toContain(clerk);
      await shot(page, "children-timeline");
      await timeline.getByText("I ran.").first().click();
      await chosen(page)
        .getByRole("link", { name: /^runner-/ })
        .waitFor();
      await shot(page, "children-detail");
      expect(await seriousFaults(page)).toEqual([]);
      // What is open is in the address, and so it is on another machine.
      await page.goto(page.url());
      await timeline.getByText("I ran. <img src=x").first().waitFor();
      await timeline.getByRole("button", { name: `what ${clerk} did` }).click();
      await timeline.getByText("I ran.").first().waitFor({ state: "detached" });
      expect(faults).toEqual([]);
    },
  );

  test("open in their boxes in the graph, as deep as they go, and what is in them leads to what they did", async () => {
    await run.start("chief", "tree-1", { clerks: 2 });
    const { page, faults } = await run.open("/sagas/tree-1?tab=graph");
    await page.getByText("waits for home").waitFor({ timeout: 60_000 });
    const opener = (name: RegExp) => page.getByRole("button", { name }).first();
    await opener(/^the graph of clerk-/).click();
    await opener(/^the graph of runner-/).click();
    await expect.poll(() => page.locator(".inside .inside").count()).toBe(1);
    await shot(page, "children-graph");
    expect(await seriousFaults(page)).toEqual([]);
    await page
      .locator(".inside .inside")
      .getByRole("button", { name: /decision 1/ })
      .click();
    await chosen(page).getByText("I ran.").first().waitFor();
    await chosen(page)
      .getByRole("link", { name: /^runner-/ })
      .waitFor();
    await page.getByLabel("turn", { exact: true }).fill("2");
    await page.getByText("as it was after turn 2").waitFor();
    await expect.poll(() => page.locator(".inside .inside").count()).toBe(0);
    expect(faults).toEqual([]);
  });
});

describe("every new view", () => {
  const views = {
    plan: "/sagas/dear-1?tab=plan",
    node: "/sagas/dear-1?tab=plan&node=meal",
    application: "/sagas/dear-1?tab=state&side=application",
    operation: "/sagas/dear-1?tab=state&side=operation",
    dependency: "/sagas/dear-1?tab=state&side=dependency",
  };
  for (const [size, viewport] of Object.entries({ desk, phone }))
    for (const scheme of ["light", "dark"] as const)
      test(`at a ${size} in the ${scheme} has no serious fault, and is not wider than it`, async () => {
        const { page, faults } = await run.open("/", viewport, scheme);
        for (const [name, path] of Object.entries(views)) {
          await page.goto(`${run.base}${path}`);
          await page.locator("h1").first().waitFor();
          await page.locator(".waiting").waitFor({ state: "detached" });
          await shot(page, `${name}-${size}-${scheme}`);
          expect(await seriousFaults(page), `${name}, ${size}, ${scheme}`).toEqual([]);
          const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
          expect(wide, `${name}, ${size}`).toBeLessThanOrEqual(viewport.width);
        }
        expect(faults).toEqual([]);
      });
});
