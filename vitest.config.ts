import { defineConfig } from "vitest/config";
import { createClosingLine } from "./test/support/closing-line.ts";

/** Inside the repository `sagamesh` means its sources: `import "sagamesh"` is services/index.ts, unbuilt. */
const source = "sagamesh-source";

/** What runs whole processes or kills servers: `npm run test:e2e`. All else is `npm test`. */
const endToEnd = ["test/end-to-end/**/*.test.ts", "test/**/*.e2e.test.ts"];
/** What goes through cases by number: a share of them in `npm test`, all in `npm run test:e2e` (test/support/share.ts). */
const walks = "test/**/*.walk.test.ts";
/** What starts nothing and changes nothing outside its file: the files share processes, and load the sources once. */
const pure = ["test/{protocol,actors,examples}/**/*.test.ts", "test/services/{ledger,views}/**/*.test.ts"];
const quick = { provide: { walksAll: false } };

export default defineConfig({
  resolve: { conditions: [source, "module", "node"] },
  ssr: {
    resolve: { conditions: [source, "module", "node"], externalConditions: [source, "node", "module-sync"] },
  },
  test: {
    globalSetup: "test/support/server-binary-first.ts",
    setupFiles: "test/support/drawn-seed.ts",
    testTimeout: 90_000, // for what hangs: a test that starts ten processes takes half a minute on a busy machine
    hookTimeout: 120_000, // the first run may have to fetch a nats-server
    pool: "forks",
    maxWorkers: 3, // each file may run servers and processes of its own, and spends most of its time waiting for them
    execArgv: [`--conditions=${source}`], // for what node itself resolves, here and in forked processes
    reporters: ["default", createClosingLine()],
    projects: [
      {
        extends: true,
        test: { ...quick, name: "quick", include: ["test/**/*.test.ts"], exclude: [...endToEnd, ...pure] },
      },
      { extends: true, test: { ...quick, name: "pure", include: pure, exclude: endToEnd, isolate: false } },
      { extends: true, test: { name: "e2e", include: [...endToEnd, walks], provide: { walksAll: true } } },
    ],
  },
});
