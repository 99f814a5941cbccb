/**
 * Goal: the console shows a mesh as it is now, a host that comes and one that is killed, and what was set aside is sent again or
 * thrown away by a person.
 * Method: `up` and another host as processes; a fork with a model that nobody has makes a dead letter; Chromium looks and presses.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { seriousFaults, shot } from "../support/browser.ts";
import { runCli } from "../support/cli.ts";
import { type ConsoleRun, desk, phone, runConsole } from "../support/console-run.ts";

const app = "test/apps/bureau.ts";
let run: ConsoleRun;
beforeAll(async () => {
  run = await runConsole(app);
});
afterEach(() => run.closePages());
afterAll(() => run?.close());

test(
  "a host that comes is shown with what it serves, and one that was killed is gone, without a reload",
  { timeout: 120_000 },
  async () => {
    const { page, faults } = await run.open("/mesh");
    const hosts = page.getByRole("region", { name: "table of Hosts" }).locator("tbody tr");
    await expect.poll(() => hosts.count(), { timeout: 30_000 }).toBe(1);
    const other = await run.serve("host", "--app", app);
    const own = hosts.filter({ hasText: `-${other.said.pid}-` });
    await own.getByText("bureau@1").waitFor();
    const definition = page.getByRole("row", { name: /bureau@1 .* 2 hosts/ });
    await definition.waitFor();
    other.cli.process.kill("SIGKILL");
    await own.waitFor({ state: "detached", timeout: 60_000 });
    await page
      .getByRole("row", { name: /bureau@1 .* 1 host/ })
      .first()
      .waitFor();
    expect(faults).toEqual([]);
  },
);

test(
  "a dead letter is sent again, comes back, and is thrown away for good",
  { timeout: 120_000 },
  async () => {
    await run.start("bureau", "origin-1", { rounds: 0, forMs: 0, pays: false });
    await expect
      .poll(async () => (await run.inspect("origin-1")).turns, { timeout: 30_000 })
      .toBeGreaterThan(2);
    await runCli(["fork", "origin-1", "--from", "1", "--model", "nobody"], { env: run.env });
    const { page, faults } = await run.open("/mesh");
    const letters = page.getByRole("region", { name: "dead letters" });
    await letters.getByText("MODEL_UNKNOWN").first().waitFor({ timeout: 60_000 });
    await letters.getByText("what it says").click();
    await letters.getByText('"model":"nobody"').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    const again = letters.getByRole("button", { name: /Send again letter/ });
    const first = await again.getAttribute("aria-label");
    await again.click();
    await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
    await expect.poll(() => again.getAttribute("aria-label"), { timeout: 30_000 }).not.toBe(first);
    await letters.getByRole("button", { name: /Discard letter/ }).click();
    await shot(page, "mesh-discard");
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await page.getByRole("heading", { name: "No dead letters" }).waitFor({ timeout: 30_000 });
    expect(faults).toEqual([]);
  },
);

test(
  "what is held back is shown with who holds it, until it goes on, and how long calls took, by name",
  { timeout: 120_000 },
  async () => {
    await run.start("bureau", "took-1", { rounds: 2, forMs: 300, pays: false });
    const { page, faults } = await run.open("/mesh");
    const tools = page.getByRole("region", { name: "table of Tools in the last hour" });
    await tools.getByRole("row", { name: /look_up/ }).waitFor({ timeout: 60_000 });
    await page.getByRole("img", { name: /p95 of tools, ms/ }).waitFor();
    expect((await runCli(["pause", "model", "thrifty", "--reason", "the bill"], { env: run.env })).code).toBe(
      0,
    );
    const held = page.getByRole("region", { name: "table of Held back" });
    await held.getByRole("row", { name: /model thrifty .*paused by/ }).waitFor({ timeout: 30_000 });
    await held.scrollIntoViewIfNeeded();
    await shot(page, "mesh-held");
    expect(await seriousFaults(page)).toEqual([]);
    expect((await runCli(["resume", "model", "thrifty"], { env: run.env })).code).toBe(0);
    await page.getByText("No tool and no model is held back.").waitFor({ timeout: 30_000 });
    expect(faults).toEqual([]);
  },
);

for (const [size, viewport] of Object.entries({ desk, phone }))
  for (const scheme of ["light", "dark"] as const)
    test(`at a ${size} in the ${scheme} the mesh has no serious fault, and is not wider than it`, async () => {
      const { page, faults } = await run.open("/mesh", viewport, scheme);
      await page.getByRole("heading", { name: "Partitions" }).waitFor();
      await shot(page, `mesh-${size}-${scheme}`);
      expect(await seriousFaults(page)).toEqual([]);
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect(wide).toBeLessThanOrEqual(viewport.width);
      expect(faults).toEqual([]);
    });
