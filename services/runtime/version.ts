/** Version: what package.json says, from the sources and from the build alike. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export function packageVersion(): string {
  const file = manifest();
  return file === undefined
    ? "unknown"
    : (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** The package's own folder; undefined where its files were taken out of it. */
export function packageFolder(): string | undefined {
  const file = manifest();
  return file === undefined ? undefined : fileURLToPath(new URL(".", file));
}

function manifest(): URL | undefined {
  for (let folder = new URL(".", import.meta.url); ; folder = new URL("..", folder)) {
    const file = new URL("package.json", folder);
    if (existsSync(file)) return file;
    if (folder.pathname === "/") return undefined;
  }
}
