/**
 * The package's JavaScript: the sources in few files, for Node takes half a millisecond for each file that it loads.
 *
 * BN1 What a start of a host, of a worker and of any command loads is one file. What a command loads besides stays apart.
 * BN2 A process or thread of its own has a file of its own, where the sources have it; what the small ones need they do not get with a host.
 * BN3 Nobody's package is in it: an application has one zod, one XState and one client of NATS, and gets their mends by `npm update`.
 * BN4 Names stay as they are, and the files are no smaller than their code: a stack is read by people.
 *
 * Types are the compiler's (`npm run build`), file by file.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Plugin, rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
const sourceOf = (path: string): string => `${root}${path}.ts`;

/** What is started by its name: `ownFile` of services/process, and what the command's entry loads. */
const started = [
  ...["services/cli/main", "services/cli/begin", "services/demo/process"],
  ...["services/runtime/isolated-process", "services/runtime/holds-thread", "services/sandbox/thread"],
  "services/tables/asked-process",
];

/** Files that hold what these need, and what they import. What two of them need is in the first. */
const parts: Readonly<Record<string, readonly string[]>> = {
  entry: ["services/cli/begin"],
  holds: ["services/runtime/holds-thread"],
  sandbox: ["services/sandbox/thread"],
  asked: ["services/tables/asked-process"],
  host: [
    ...["services/index", "services/cli/commands", "services/cli/frame/run", "services/nats/capacity"],
    ...["services/cli/commands/host", "services/runtime/run-host"],
    ...["services/cli/commands/worker", "services/runtime/run-worker"],
  ],
};

/** The files of `exports` in package.json, as paths without an extension. */
async function exported(): Promise<string[]> {
  const { exports } = JSON.parse(await readFile(`${root}package.json`, "utf8")) as {
    exports: Record<string, { "sagamesh-source": string }>;
  };
  return Object.values(exports).map((entry) =>
    entry["sagamesh-source"].replace(/^\.\//, "").replace(/\.ts$/, ""),
  );
}

const entries = [...(await exported()), ...started];
const apart = new Set(entries.map(sourceOf));
const partOf = new Map<string, string>();

/** Notes, once all is read, which part each file is in. */
const dividing: Plugin = {
  name: "dividing",
  buildEnd() {
    for (const [part, paths] of Object.entries(parts)) {
      const left = paths.map(sourceOf);
      for (let file = left.pop(); file !== undefined; file = left.pop()) {
        const info = this.getModuleInfo(file);
        if (info === null || !file.startsWith(root) || partOf.has(file)) continue;
        partOf.set(file, part);
        left.push(...info.importedIds);
      }
    }
  },
};

const build = await rolldown({
  input: Object.fromEntries(entries.map((path) => [path, sourceOf(path)])),
  platform: "node",
  external: (id) => !id.startsWith(".") && !id.startsWith(root), // BN3
  plugins: [dividing],
  checks: { ineffectiveDynamicImport: false }, // What is loaded late may be in a file that is there already.
});
await build.write({
  dir: `${root}dist`,
  entryFileNames: "[name].js",
  chunkFileNames: "services/parts/[name].js", // As deep as own-file.ts is.
  codeSplitting: {
    groups: Object.keys(parts).map((name) => ({
      name,
      test: (id: string) => !apart.has(id) && partOf.get(id) === name,
    })),
  },
});
await build.close();
