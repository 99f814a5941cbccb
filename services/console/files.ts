/**
 * Files: the page as it was built, read once and held zipped. Its assets are named by their content, so a browser asks for
 * each of them once; the page itself is asked for each time.
 */
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { type Answer, packed } from "./answers.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const plain = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
const nothingThere: Answer = { status: 404, headers: plain, body: "There is nothing here.\n" };
const notBuilt: Answer = {
  status: 503,
  headers: plain,
  body: "The console's page is not built here: npm run page\n",
};

/** The file at a path, the page where that is none of them. `page` gives its folder; `missing` is told why there is none. */
export function createFiles(
  page: () => Promise<string>,
  missing: (error: unknown) => void,
): (path: string) => Promise<Answer> {
  let files: Promise<ReadonlyMap<string, Answer>> | undefined;
  return async (path) => {
    files ??= page().then(readFiles);
    try {
      const found = await files;
      const named = found.get(path);
      if (named !== undefined) return named;
      return path.startsWith("/assets/") ? nothingThere : (found.get("/") ?? nothingThere);
    } catch (error) {
      files = undefined; // It may be built by the next time.
      missing(error);
      return notBuilt;
    }
  };
}

/** The page's files by their paths from its root; `/` is the page. Rejects where it was not built. */
async function readFiles(folder: string): Promise<ReadonlyMap<string, Answer>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Map<string, Answer>();
  for (const entry of found) {
    const type = types[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const name = `/${relative(folder, path).split(sep).join("/")}`;
    const isPage = name === "/index.html";
    const headers = {
      "content-type": type,
      "cache-control": isPage ? "no-cache" : "public, max-age=31536000, immutable",
    };
    const answer = await packed({ status: 200, headers, body: await readFile(path) }, "gzip");
    files.set(isPage ? "/" : name, answer);
  }
  if (!files.has("/")) throw new Error(`${folder} has no page`);
  return files;
}
