/**
 * Goal: what a person does in the console happens once, and the page says how it stands, whatever dies or stands still under it:
 * the host that has the saga, the server, the line to it, the console itself.
 * Method: Chromium presses, often twice; processes are killed and stopped by signals, and a proxy delays what passes or
 * withholds the answer to the very message that stores an act. What came of it is asked of the ledger, and of the outside.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Proxy, startProxy } from "../chaos/proxy.ts";
import { faultsOf, seriousFaults, shot } from "../support/browser.ts";
import { type ConsoleRun, desk, rowOf, runConsole } from "../support/console-run.ts";
import { freePort } from "../support/free-port.ts";

const app = "test/apps/bureau.ts";
/** For what takes a host's lease, or a server that has to be found again. */
const slowly = { timeout: 60_000 };

let run: ConsoleRun;
let folder: string;
let book: string;
let line: Proxy;
/** What is done with each message to the server, while a test says so. */
let sees: (sent: Buffer) => void = () => undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-book-"));
  book = join(folder, "book");
  run = await runConsole(app, { BUREAU_BOOK: book });
  line = await startProxy([run.nats.url], (sent) => sees(sent));
});
afterEach(async () => {
  sees = () => undefined;
  line.heal();
  await run.closePages();
});
afterAll(async () => {
  await line?.close();
  await run?.close();
  await rm(folder, { recursive: true, force: true });
});

const rests = { rounds: 0, forMs: 0, pays: false };
const pays = { ...rests, pays: true };

/** A console of its own, whose line to the server is the proxy. */
async function consoleByProxy(port: number) {
  const { cli, said } = await run.serve("console", "--port", String(port), "--server", line.url);
  return { cli, base: said.console ?? "" };
}

async function openAt(base: string, path: string) {
  const page = await (await run.context(desk)).newPage();
  const faults = faultsOf(page);
  await page.goto(`${base}${path}`);
  return { page, faults };
}

/** A saga of the bureau that the process has, and no other. */
async function hadBy(pid: number, name: string, input: object): Promise<string> {
  for (let k = 0; k < 30; k++) {
    const saga = `${name}-${k}`;
    await run.start("bureau", saga, input);
    await expect.poll(() => run.inspect(saga).then(({ hosts }) => hosts.length), slowly).toBeGreaterThan(0);
    if ((await run.inspect(saga)).hosts[0]?.includes(`-${pid}-`) === true) return saga;
  }
  throw new Error("no saga came to that host");
}

/** The dialog of a signal, filled in. */
async function toSignal(page: Page, name: "go" | "budget", typed: Readonly<Record<string, string>>) {
  await page.getByText("waits for go").waitFor(slowly);
  await page.getByRole("button", { name: "Signal", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Its name").selectOption(name);
  for (const [label, text] of Object.entries(typed)) await dialog.getByLabel(label).fill(text);
  return { dialog, button: dialog.getByRole("button", { name: "Signal" }) };
}
const acting = { "content-type": "application/json", "x-sagamesh-console": "1" };
const go = { text: "now", times: "3" };

/** The dialog of a cancel, filled in. */
async function toCancel(page: Page) {
  await page.getByText("waits for go").waitFor(slowly);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill("the role is filled");
  return { dialog, button: dialog.getByRole("button", { name: "Cancel" }) };
}

/** The form of an approval, filled in; the page shows the list of tasks. */
async function toApprove(page: Page, saga: string) {
  await rowOf(page, saga).click(slowly);
  await page.getByLabel("Your name").fill("ana");
  await page.getByLabel("Reason").fill("it is owed");
  return page.getByRole("button", { name: "Approve" });
}

type Asking = Awaited<ReturnType<typeof toSignal>>;

/** Whether what was pressed is stored; else the dialog says that there was no answer. */
const isStored = ({ dialog }: Asking): Promise<boolean> =>
  Promise.race([
    dialog.waitFor({ state: "detached", ...slowly }).then(() => true),
    dialog
      .getByText("UNAVAILABLE", { exact: true })
      .waitFor(slowly)
      .then(() => false),
  ]);

/** Presses until the dialog is gone, as a person does who is told that there was no answer. */
async function insist(asking: Asking): Promise<void> {
  for (let presses = 1; presses <= 10; presses++) {
    await asking.button.click(slowly);
    if (await isStored(asking)) return;
  }
  throw new Error("it was never stored");
}

const signalled = async (saga: string) =>
  (await run.inspect(saga)).events.flatMap(({ event }) => (event.type === "signal" ? [event.name] : []));
const stepsOf = async (saga: string) => (await run.inspect(saga)).budget?.limits.steps;
/** How often the outside was paid by the saga. */
const paid = (saga: string) =>
  readFileSync(book, "utf8")
    .split("\n")
    .filter((key) => key.startsWith(`${saga}.`)).length;
/** How often its ledger holds that it was asked to pay. */
const asked = async (saga: string) =>
  (await run.inspect(saga)).intents.filter(({ intent }) => intent.kind === "tool" && intent.name === "pay")
    .length;

describe("a host that is killed", () => {
  test(
    "as somebody signals, approves and cancels leaves each act to another host, which takes it once",
    { timeout: 240_000 },
    async () => {
      const other = await run.serve("host", "--app", app);
      const { pid } = other.said;
      const told = await hadBy(pid, "told", rests);
      const owes = await hadBy(pid, "owes", pays);
      const stops = await hadBy(pid, "stops", rests);
      const [one, two, three] = [
        await run.open(`/sagas/${told}`),
        await run.open("/tasks"),
        await run.open(`/sagas/${stops}`),
      ];
      const sent = one.page.waitForRequest((request) => request.method() === "POST", { timeout: 120_000 });
      const signal = await toSignal(one.page, "go", go);
      const approve = await toApprove(two.page, owes);
      const cancel = await toCancel(three.page);
      other.cli.process.kill("SIGKILL");
      await Promise.all([signal.button.dblclick(), approve.dblclick(), cancel.button.dblclick()]);
      await one.page.getByText("go is stored").waitFor(slowly);
      await one.page.getByRole("heading", { name: `completed ${told}` }).waitFor(slowly);
      await two.page.getByText("approve by ana").waitFor(slowly);
      await three.page.getByRole("heading", { name: `cancelled ${stops}` }).waitFor(slowly);
      await shot(three.page, "killed-host-cancelled");
      // The very request once more, as a page sends it that never heard the answer; then one that is another.
      const body = (await sent).postData() ?? "";
      const again = async (said: string) =>
        (await fetch((await sent).url(), { method: "POST", headers: acting, body: said })).status;
      expect(await again(body)).toBe(202);
      expect(await again(body.replace(/"id":"\w/, '"id":"x'))).toBe(409);
      expect(await signalled(told)).toEqual(["go"]);
      await expect.poll(() => paid(owes), slowly).toBe(1);
      expect(await asked(owes)).toBe(1);
      expect(await signalled(stops)).toEqual(["cancel"]);
      expect([one, two, three].flatMap(({ faults }) => faults)).toEqual([]);
    },
  );
});

describe("a slow server", () => {
  test(
    "is said so over what is being sent, and what was pressed twice is done once",
    { timeout: 180_000 },
    async () => {
      const { base } = await consoleByProxy(0);
      await run.start("bureau", "late-1", rests);
      const { page, faults } = await openAt(base, "/sagas/late-1");
      const cancel = await toCancel(page);
      line.slow(500); // A signal asks the server five times, one after the other, and is answered well after two seconds.
      await cancel.button.dblclick();
      await cancel.dialog.getByRole("alert").getByText("No answer for").waitFor(slowly);
      await shot(page, "slow-server");
      if (!(await isStored(cancel))) await insist(cancel);
      line.heal();
      await page.getByRole("heading", { name: "cancelled late-1" }).waitFor(slowly);
      await page.getByText("No answer for").waitFor({ state: "detached", ...slowly });
      expect(await signalled("late-1")).toEqual(["cancel"]);
      expect(faults).toEqual([]);
    },
  );

  test(
    "that stands still keeps what was typed, and takes each act once when it goes on",
    { timeout: 180_000 },
    async () => {
      await run.start("bureau", "still-1", rests);
      await run.start("bureau", "still-2", pays);
      const [one, two] = [await run.open("/sagas/still-1"), await run.open("/tasks")];
      const signal = await toSignal(one.page, "go", go);
      const approve = await toApprove(two.page, "still-2");
      process.kill(run.nats.pid, "SIGSTOP");
      try {
        await Promise.all([signal.button.dblclick(), approve.dblclick()]);
        await signal.dialog.getByRole("alert").getByText("No answer for").waitFor(slowly);
        await two.page.getByRole("alert").getByText("No answer for").waitFor(slowly);
        expect(await signal.dialog.getByLabel("times").inputValue()).toBe("3");
        expect(await two.page.getByLabel("Reason").inputValue()).toBe("it is owed");
        await shot(one.page, "still-server");
      } finally {
        process.kill(run.nats.pid, "SIGCONT");
      }
      await expect
        .poll(
          async () => {
            // Who was told that there was no answer presses again.
            for (const button of [signal.button, approve])
              if (await button.isEnabled({ timeout: 200 }).catch(() => false))
                await button.click({ timeout: 500 }).catch(() => undefined);
            return (await run.inspect("still-1")).status === "completed" && paid("still-2") > 0;
          },
          { ...slowly, interval: 1_000 },
        )
        .toBe(true);
      await one.page.getByRole("heading", { name: "completed still-1" }).waitFor(slowly);
      await two.page.getByText("approve by ana").waitFor(slowly);
      expect(await signalled("still-1")).toEqual(["go"]);
      expect(paid("still-2")).toBe(1);
      expect(await asked("still-2")).toBe(1);
      expect([one, two].flatMap(({ faults }) => faults)).toEqual([]);
    },
  );
});

describe("a console that is killed", () => {
  test(
    "after an act was stored and before it was told so is asked again by the same page, and the act counts once",
    { timeout: 180_000 },
    async () => {
      const port = await freePort();
      const first = await consoleByProxy(port);
      await run.start("bureau", "lost-1", rests);
      const { page, faults } = await openAt(first.base, "/sagas/lost-1");
      const raise = await toSignal(page, "budget", { steps: "5" });
      let isSent = false;
      sees = (sent) => {
        if (!sent.includes("saga.lost-1.signal.budget")) return;
        isSent = true;
        line.cut("from the server"); // It is stored, and nobody here hears of it.
      };
      await raise.button.click();
      await expect.poll(() => isSent, slowly).toBe(true);
      await expect.poll(() => stepsOf("lost-1"), slowly).toBe(20_005);
      await raise.dialog.getByRole("alert").getByText("No answer for").waitFor(slowly);
      first.cli.process.kill("SIGKILL");
      await raise.dialog.getByText("the console gives no answer").waitFor(slowly);
      await raise.dialog.getByText("it counts once").waitFor();
      expect(await raise.dialog.getByLabel("steps").inputValue()).toBe("5");
      await shot(page, "killed-console");
      expect(await seriousFaults(page)).toEqual([]);
      sees = () => undefined;
      line.heal();
      await consoleByProxy(port);
      await insist(raise);
      await page.getByText("budget is stored").waitFor();
      const next = await toSignal(page, "go", go);
      await insist(next);
      await page.getByRole("heading", { name: "completed lost-1" }).waitFor(slowly);
      expect(await stepsOf("lost-1")).toBe(20_005);
      expect(await signalled("lost-1")).toEqual(["budget", "go"]);
      expect(faults).toEqual([]);
    },
  );

  test(
    "and started again goes on under the open page, which shows what it missed and acts on",
    { timeout: 180_000 },
    async () => {
      const port = await freePort();
      const first = await consoleByProxy(port);
      await run.start("bureau", "meanwhile-1", rests);
      const [list, saga] = [
        await openAt(first.base, "/sagas"),
        await openAt(first.base, "/sagas/meanwhile-1"),
      ];
      await rowOf(list.page, "meanwhile-1").waitFor(slowly);
      const signal = await toSignal(saga.page, "go", go);
      first.cli.process.kill("SIGKILL");
      await list.page.getByRole("status", { name: "not live" }).waitFor(slowly);
      await run.start("bureau", "meanwhile-2", rests);
      await signal.button.click();
      await signal.dialog.getByText("the console gives no answer").waitFor(slowly);
      await consoleByProxy(port);
      await rowOf(list.page, "meanwhile-2").waitFor(slowly);
      await list.page.getByRole("status", { name: "live", exact: true }).waitFor(slowly);
      await insist(signal);
      await saga.page.getByRole("heading", { name: "completed meanwhile-1" }).waitFor(slowly);
      await saga.page.getByText("No answer for").waitFor({ state: "detached", ...slowly });
      expect(await signalled("meanwhile-1")).toEqual(["go"]);
      expect([list, saga].flatMap(({ faults }) => faults)).toEqual([]);
    },
  );
});
