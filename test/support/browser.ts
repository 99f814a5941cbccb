/**
 * A browser for tests of the console's page: a Chromium that this machine has, driven by Playwright's core, which brings none
 * of its own. `CHROMIUM` names another one.
 */
import { accessSync, constants, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

const names = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/** Where it is. Throws where there is none: a page that nobody opened was not tested. */
function chromiumPath(): string {
  const { CHROMIUM, PATH = "" } = process.env;
  const all =
    CHROMIUM === undefined
      ? PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)))
      : [CHROMIUM];
  const found = all.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found !== undefined) return found;
  throw new Error("no Chromium is on the PATH: apt-get install chromium, or name one with CHROMIUM");
}

/** Starts it. Its own sandbox needs rights that a container's root seldom has; only our own page is opened in it. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** What a page must never do: each is a line. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = [];
  const own = () => new URL(page.url()).origin;
  page.on("pageerror", (error) => faults.push(`threw ${error.message}`));
  page.on("console", (message) => {
    // What a refused or cut request leaves there is not the page's fault.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(`said ${message.text()}`);
  });
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== "data:" && page.url() !== "about:blank" && origin !== own())
      faults.push(`asked ${origin}`);
  });
  return faults;
}

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe finds of serious faults in what is shown, a line each. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(axe, "utf8")); // By the debugger: the page's own policy allows no such script.
  const { violations } = await page.evaluate<AxeResult>("axe.run()");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, impact, nodes }) =>
        `${impact} ${id}: ${nodes
          .map(({ html }) => html)
          .join(" | ")
          .slice(0, 400)}`,
    );
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** Keeps a picture where `SHOTS` names a folder. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env["SHOTS"];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
