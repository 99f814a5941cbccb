import { defineConfig } from "vitest/config";
import { createClosingLine } from "./test/support/closing-line.ts";
import { LongFirst } from "./test/support/long-first.ts";

/** Inside the repository `sagamesh` means its sources: `import "sagamesh"` is services/index.ts, unbuilt. */
const source = "sagamesh-source";

/** What runs whole processes or kills servers: `npm run test:e2e`. All else is `npm test`. */
const endToEnd = ["test/end-to-end/**/*.test.ts", "test/**/*.e2e.test.ts"];
/** What goes through cases by number: a share of them in `npm test`, all in `npm run test:e2e` (test/support/share.ts). */
const walks = "test/**/*.walk.test.ts";
/** What puts another module in one's place, silences or hears its process, or counts what is held there: it needs one of its own. */
const alone = "!(by-pages|conversation|zero-divergence.walk|families.walk|test-mesh).test.ts";
/** What leaves nothing behind in its process: the files share processes, and load the sources once. */
const pure = [
  "test/{protocol,actors,examples,model}/**/*.test.ts",
  `test/services/{app,archive,calendar,client,console,demo,deployments,host,ledger,listing}/**/${alone}`,
  `test/services/{memory,perform,recordings,replay,suspects,testing,throttle,traces,views,wire,worker}/**/${alone}`,
];
const quick = { provide: { walksAll: false } };

export default defineConfig({
  resolve: { conditions: [source, "module", "node"] },
  ssr: {
    resolve: { conditions: [source, "module", "node"], externalConditions: [source, "node", "module-sync"] },
  },
  test: {
    globalSetup: "test/support/server-binary-first.ts",
    setupFiles: ["test/support/drawn-seed.ts", "test/support/compiled-once.ts"],
    testTimeout: 90_000, // for what hangs: a test that starts ten processes takes half a minute on a busy machine
    hookTimeout: 120_000, // the first run may have to fetch a nats-server
    pool: "forks",
    maxWorkers: 4, // most files wait for a while: for a lease, a process, a server
    execArgv: [`--conditions=${source}`], // for what node itself resolves, here and in forked processes
    reporters: ["default", createClosingLine()],
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        test: { ...quick, name: "quick", include: ["test/**/*.test.ts"], exclude: [...endToEnd, ...pure] },
      },
      { extends: true, test: { ...quick, name: "pure", include: pure, exclude: endToEnd, isolate: false } },
      {
        extends: true,
        test: {
          ...{ name: "e2e", include: [...endToEnd, walks], provide: { walksAll: true } },
          maxWorkers: 3, // each file may run servers and processes of its own, by which time is kept
          sequence: { groupOrder: 1 }, // after the others, where all are run
        },
      },
    ],
  },
});
