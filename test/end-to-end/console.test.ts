/**
 * Goal: the console shows in a real browser what happens on a real mesh, without being reloaded, and acts on it; whatever a
 * saga holds is text there, and what dies or stops under the page is said and survived.
 * Method: `up` as a process, another host beside it, and `sagamesh console` behind a token; Chromium does what a person does.
 */
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { InspectDocument } from "../../protocol/documents/inspect.ts";
import { seriousFaults, shot } from "../support/browser.ts";
import { runCli } from "../support/cli.ts";
import { type ConsoleRun, desk, phone, rowOf as row, runConsole } from "../support/console-run.ts";

const app = "test/apps/bureau.ts";
const token = "a token that only the test knows";
let run: ConsoleRun;
const { open, start, inspect } = {
  open: (...words: Parameters<ConsoleRun["open"]>) => run.open(...words),
  start: (...words: Parameters<ConsoleRun["start"]>) => run.start(...words),
  inspect: (saga: string) => run.inspect(saga),
};

beforeAll(async () => {
  run = await runConsole(app, { SAGAMESH_CONSOLE_TOKEN: token });
});
afterEach(() => run.closePages());
afterAll(() => run?.close());

test("the page is there in less than 150 KB, zipped, and asks nobody else for anything", async () => {
  const { base } = run;
  const html = await (await fetch(base)).text();
  const parts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(parts.length).toBeGreaterThan(1);
  const sizes = await Promise.all(
    parts.map(
      async (path) => gzipSync(Buffer.from(await (await fetch(`${base}${path}`)).arrayBuffer())).length,
    ),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150 * 1024);
  const { page, faults } = await open("/");
  await page.getByRole("link", { name: "Sagas" }).waitFor();
  expect(faults).toEqual([]);
});

describe("the list", () => {
  test("grows and changes while it is looked at, and finds by status, definition and text", async () => {
    const { page, faults } = await open("/sagas");
    await start("weekend", "ana-1", { guest: "ana", cents: 90_000 });
    await start("weekend", "bo-1", { guest: "bo", cents: 100 });
    await row(page, "ana-1").getByText("failed").waitFor();
    await row(page, "bo-1").getByText("completed").waitFor();
    await page.getByRole("button", { name: /^failed/ }).click();
    await row(page, "bo-1").waitFor({ state: "detached" });
    expect(page.url()).toContain("status=failed");
    await page.getByRole("button", { name: "all", exact: true }).click();
    await page.keyboard.press("/");
    await page.keyboard.type("BO-");
    await row(page, "ana-1").waitFor({ state: "detached" });
    await row(page, "bo-1").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "bo-1" }).waitFor();
    expect(page.url()).toMatch(/\/sagas\/bo-1$/);
    await page.goBack();
    await row(page, "bo-1").waitFor();
    expect(faults).toEqual([]);
  });
});

describe("a saga", () => {
  test("is seen as it goes: what its model says is text, its child opens in place, and each thing says why", async () => {
    await start("bureau", "hire-1", { rounds: 2, forMs: 50, pays: false });
    const { page, faults } = await open("/sagas/hire-1");
    await page.getByText("wait", { exact: false }).first().waitFor();
    const timeline = page.getByRole("region", { name: "what happened" });
    await timeline.getByText("look_up").first().waitFor();
    await timeline.getByText("<img src=x").first().waitFor();
    await timeline.getByRole("button", { name: /what porter-\w+ did/ }).click();
    await timeline.getByText("the way").waitFor();
    await timeline.getByText("look_up").first().click();
    const detail = page.getByRole("complementary", { name: "what is chosen" });
    await detail.getByText("was to be done with").first().waitFor();
    await detail.getByText("street 1-1").first().waitFor();
    await shot(page, "saga-detail");
    expect(await page.title()).toBe("hire-1 · sagamesh");
    expect(faults).toEqual([]);
  });

  test("is shown as it was after a turn, and the address says which", async () => {
    await start("bureau", "hire-2", { rounds: 1, forMs: 20, pays: false });
    const { page, faults } = await open("/sagas/hire-2?turn=2");
    await page.getByText("as it was after turn 2").waitFor();
    const timeline = page.getByRole("region", { name: "what happened" });
    await timeline.getByText("look_up").first().waitFor();
    expect(await timeline.getByText("porter").count()).toBe(0);
    await page.getByRole("button", { name: "now" }).click();
    await timeline.getByText("porter").first().waitFor();
    expect(new URL(page.url()).search).toBe("");
    expect(faults).toEqual([]);
  });

  test("its graph, its story, its state and its turns are there, a node says why it is there", async () => {
    const { page, faults } = await open("/sagas/ana-1?tab=graph");
    await page.getByRole("button", { name: /compensation release_room/ }).click();
    await page.getByText("undoes").first().waitFor();
    await page.getByRole("complementary").getByText("release_room").first().waitFor();
    await page.getByRole("tab", { name: "story" }).click();
    await page.getByRole("heading", { name: "In sum" }).waitFor();
    await page.getByRole("tab", { name: "state" }).click();
    await page.getByRole("heading", { name: "Input" }).waitFor();
    await page.getByRole("tab", { name: "turns" }).click();
    await page.getByRole("heading", { name: /^Step 0/ }).waitFor();
    expect(faults).toEqual([]);
  });

  test("is told something by a person, once, and the page shows what it did", async () => {
    await start("bureau", "hire-3", { rounds: 1, forMs: 20, pays: false });
    const { page, faults } = await open("/sagas/hire-3");
    await page.getByText("waits for go").waitFor();
    await page.getByRole("button", { name: "Signal" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Its name").selectOption("go");
    await dialog.getByLabel("times").fill("often");
    await dialog.getByLabel("text").fill("now");
    await dialog.getByRole("button", { name: "Signal" }).click();
    await dialog.getByRole("alert").getByText("times is no whole number").waitFor();
    await dialog.getByLabel("times").fill("1");
    await dialog.getByRole("button", { name: "Signal" }).dblclick();
    await page.getByRole("heading", { name: "completed hire-3" }).waitFor();
    const signals = (await inspect("hire-3")).events.filter(({ event }) => event.type === "signal");
    expect(signals).toHaveLength(1);
    expect(faults).toEqual([]);
  });

  test("is cancelled with a reason", async () => {
    await start("bureau", "hire-4", { rounds: 1, forMs: 20, pays: false });
    const { page, faults } = await open("/sagas/hire-4");
    await page.getByText("waits for go").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("the role is filled");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { name: "cancelled hire-4" }).waitFor();
    await page.getByText("the role is filled").first().waitFor();
    expect(faults).toEqual([]);
  });

  test(
    "of 3,000 turns is there whole, and only what is in sight is drawn",
    { timeout: 240_000 },
    async () => {
      await start("walk", "long-1", { steps: 3_000 });
      const { page, faults } = await open("/sagas/long-1");
      await page.getByRole("heading", { name: "completed long-1" }).waitFor({ timeout: 200_000 });
      const turns = (await inspect("long-1")).turns;
      expect(turns).toBeGreaterThanOrEqual(3_000);
      const begun = Date.now();
      await page.reload();
      const last = turns.toLocaleString("en-US");
      await page.getByText(`${last} of ${last}`).waitFor();
      await page.getByRole("region", { name: "what happened" }).getByText("street 3000").waitFor();
      console.log(`a saga of ${turns} turns is shown after ${Date.now() - begun} ms`);
      expect(await page.locator(".windowed li").count()).toBeLessThan(120);
      await page.getByLabel("turn", { exact: true }).fill("1500");
      await page.getByText(`as it was after turn 1500 of ${turns}`).waitFor();
      expect(faults).toEqual([]);
    },
  );
});

describe("a task", () => {
  test("is found by the title's count, and approved on a phone, with a reason", async () => {
    const { page, faults } = await open("/sagas", phone);
    await start("bureau", "pays-1", { rounds: 0, forMs: 0, pays: true });
    await expect.poll(() => page.title(), { timeout: 30_000 }).toMatch(/^\(1\) /);
    await page.getByRole("link", { name: "Tasks" }).click();
    await row(page, "pays-1").click();
    await page.getByRole("heading", { name: "May pay be called?" }).waitFor();
    await page.getByText("Ada & Sons").waitFor();
    await page.getByText("Ada is owed this.").waitFor();
    await page.getByLabel("Your name").fill("bob");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("alert").getByText("VOTER_NOT_ASKED", { exact: true }).waitFor();
    await page.getByLabel("Your name").fill("ana");
    await page.getByLabel("Reason").fill("it is owed");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("approve by ana").waitFor();
    await page.getByText("it is owed").waitFor();
    await expect.poll(() => page.title(), { timeout: 30_000 }).toMatch(/^approval/);
    const { intents } = await inspect("pays-1");
    expect(intents.filter(({ intent }) => intent.kind === "tool" && intent.name === "pay")).toHaveLength(1);
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(wide).toBeLessThanOrEqual(phone.width);
    expect(faults).toEqual([]);
  });

  test("is denied, and its saga goes on without", async () => {
    await start("bureau", "pays-2", { rounds: 0, forMs: 0, pays: true });
    const { page, faults } = await open("/tasks");
    await row(page, "pays-2").click();
    await page.getByLabel("Your name").fill("ana");
    await page.getByLabel("Reason").fill("no money");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText("deny by ana").waitFor();
    expect((await inspect("pays-2")).effects).toEqual([]);
    expect(faults).toEqual([]);
  });
});

describe("every view", () => {
  const views = {
    sagas: "/sagas",
    none: "/sagas?text=nothing-is-called-so",
    timeline: "/sagas/hire-1",
    detail: "/sagas/hire-1?at=2-0",
    graph: "/sagas/ana-1?tab=graph",
    story: "/sagas/ana-1?tab=story",
    state: "/sagas/hire-1?tab=state",
    turns: "/sagas/hire-1?tab=turns",
    unknown: "/sagas/nobody",
    tasks: "/tasks",
    task: "/tasks/pays-1/4-0",
  };
  for (const [size, viewport] of Object.entries({ desk, phone }))
    for (const scheme of ["light", "dark"] as const)
      test(`at a ${size} in the ${scheme} has no serious fault for who cannot see or point, and is not wider than it`, async () => {
        const { page, faults } = await open("/", viewport, scheme);
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

describe("what happens under the page", () => {
  test(
    "a host that is killed is told, and what another one does goes on in sight",
    { timeout: 180_000 },
    async () => {
      const other = await run.serve("host", "--app", app);
      const saga = await runBy(other.said.pid);
      const { page, faults } = await open(`/sagas/${saga}`);
      const timeline = page.getByRole("region", { name: "what happened" });
      await timeline.getByText("look_up").first().waitFor();
      other.cli.process.kill("SIGKILL");
      await page.getByText("waits for go").waitFor({ timeout: 60_000 });
      const { turns } = await inspect(saga);
      await page.getByText(`${turns} of ${turns}`).waitFor();
      await shot(page, "taken-over");
      expect(faults).toEqual([]);
    },
  );

  test("a server that stands still is said so, what is shown stays, and it goes on", async () => {
    const { page, faults } = await open("/sagas/hire-1");
    await page.getByRole("region", { name: "what happened" }).getByText("porter").first().waitFor();
    process.kill(run.nats.pid, "SIGSTOP");
    try {
      await page.getByRole("tab", { name: "story" }).click();
      await page.getByRole("alert").getByText("No answer for").waitFor();
      await page.getByRole("heading", { name: "hire-1" }).waitFor();
      await shot(page, "stands-still");
    } finally {
      process.kill(run.nats.pid, "SIGCONT");
    }
    await page.getByRole("heading", { name: "In sum" }).waitFor({ timeout: 60_000 });
    await page.getByText("No answer for").waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });
});

/** A saga that runs for a while on the host with this process id. */
async function runBy(pid: number): Promise<string> {
  for (let k = 0; k < 30; k++) {
    const saga = `runs-${k}`;
    await start("bureau", saga, { rounds: 60, forMs: 100, pays: false });
    const read = await runCli(["inspect", saga, "--json"], { env: run.env });
    const hosts = read.code === 0 ? InspectDocument.parse(JSON.parse(read.stdout)).hosts : [];
    if (hosts[0]?.includes(`-${pid}-`) === true) return saga;
  }
  throw new Error("no saga came to that host");
}

describe("behind a token", () => {
  test("nothing is shown before the token, and a browser that has shown it is let in", async () => {
    const { said } = await run.serve("console", "--port", "0", "--host", "0.0.0.0");
    const url = (said.console ?? "").replace("0.0.0.0", "127.0.0.1");
    expect((await fetch(`${url}/api/sagas`)).status).toBe(401);
    const page = await (await run.context(phone)).newPage();
    await page.goto(`${url}/sagas`);
    await page.getByLabel("Token").fill("not this one at all");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("that is not the token").waitFor();
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Open" }).click();
    await row(page, "hire-1").first().waitFor();
    expect(await page.content()).not.toContain(token);
  });

  test("the console listens to others only where it asks for one", async () => {
    const bare = { ...run.env, SAGAMESH_CONSOLE_TOKEN: "" };
    const refused = await runCli(["console", "--host", "0.0.0.0", "--port", "0"], { env: bare });
    expect({ code: refused.code, stderr: refused.stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("SAGAMESH_CONSOLE_TOKEN") as string,
    });
  });
});
