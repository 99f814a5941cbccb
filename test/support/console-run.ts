/**
 * A console that runs: a server, `up` with the page as processes, and a browser that opens it in contexts of their own.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { InspectDocument } from "../../protocol/documents/inspect.ts";
import { ServingDocument } from "../../protocol/documents/process.ts";
import { faultsOf, openBrowser } from "./browser.ts";
import { runCli, type RunningCli, startCli } from "./cli.ts";
import { startTestServer, type TestServer } from "./nats-server.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}
export const desk: Size = { width: 1200, height: 800 };
export const phone: Size = { width: 400, height: 800 };

export interface ConsoleRun {
  /** Where the console of `up` is. */
  readonly base: string;
  readonly nats: TestServer;
  readonly env: Readonly<Record<string, string>>;
  /** Starts another process of the mesh; resolves with what it says of itself. */
  serve(...words: string[]): Promise<{ readonly cli: RunningCli; readonly said: ServingDocument }>;
  /** Throws what the command says where it does not store the start. */
  start(name: string, id: string, input: unknown): Promise<void>;
  inspect(saga: string): Promise<InspectDocument>;
  /** A page at a path, in a context that holds nothing; `faults` is what it did that no page may. */
  open(
    path: string,
    viewport?: Size,
    colorScheme?: "light" | "dark",
  ): Promise<{ readonly page: Page; readonly faults: string[] }>;
  context(viewport: Size): Promise<BrowserContext>;
  /** Closes what was opened since. */
  closePages(): Promise<void>;
  close(): Promise<void>;
}

export async function runConsole(
  app: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ConsoleRun> {
  const nats = await startTestServer();
  const home = await mkdtemp(join(tmpdir(), "sagamesh-console-"));
  const own = { ...env, NATS_URL: nats.url, SAGAMESH_DATA: home };
  const running: RunningCli[] = [];
  const contexts: BrowserContext[] = [];
  let browser: Browser | undefined;

  const serve: ConsoleRun["serve"] = async (...words) => {
    const cli = startCli([...words, "--json"], { env: own });
    running.push(cli);
    const line = (await cli.says(/"role":.*\n/)).split("\n").find((one) => one.includes('"role"')) ?? "";
    return { cli, said: ServingDocument.parse(JSON.parse(line)) };
  };
  const close = async () => {
    await browser?.close();
    for (const { process, ended } of running) {
      process.kill("SIGKILL");
      await ended;
    }
    await nats.stop();
    await rm(home, { recursive: true, force: true });
  };
  const context: ConsoleRun["context"] = async (viewport) => {
    const opened = await browser!.newContext({ viewport });
    contexts.push(opened);
    return opened;
  };

  try {
    const { said } = await serve("up", "--app", app, "--no-gateway", "--console-port", "0");
    const base = said.console ?? "";
    browser = await openBrowser();
    return {
      ...{ base, nats, env: own, serve, close, context },
      start: async (name, id, input) => {
        const words = ["start", name, "--id", id, "--input", JSON.stringify(input)];
        const { code, stderr } = await runCli(words, { env: own });
        if (code !== 0) throw new Error(stderr);
      },
      inspect: async (saga) =>
        InspectDocument.parse(JSON.parse((await runCli(["inspect", saga, "--json"], { env: own })).stdout)),
      open: async (path, viewport = desk, colorScheme = "light") => {
        const page = await (await context(viewport)).newPage();
        await page.emulateMedia({ colorScheme });
        const faults = faultsOf(page);
        await page.goto(`${base}${path}`);
        return { page, faults };
      },
      closePages: async () => {
        for (const opened of contexts.splice(0)) await opened.close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The row of a list that holds a text. */
export const rowOf = (page: Page, text: string) => page.locator("ul.rows li", { hasText: text });
