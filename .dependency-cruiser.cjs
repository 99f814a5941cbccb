// The import law, as a table: one row a folder, saying what it may import. What a row does not name is an
// error, type-only imports included. A folder without a row is an error too: give it one.

/** Paths as dependency-cruiser resolves them, from the root of the repository. A folder is its own files, not its subfolders. */
const folder = (/** @type {string[]} */ ...names) => `^(${names.join("|")})/[^/]+$`;
const protocol = "^protocol/";
const actors = (/** @type {string[]} */ ...names) => folder(...names.map((name) => `actors/${name}`));
const services = (/** @type {string[]} */ ...names) => folder(...names.map((name) => `services/${name}`));
const packages = (/** @type {string[]} */ ...names) => `^node_modules/(${names.join("|")})/`;

/** A user's folder as `sagamesh new` makes it. */
const template = "^services/new/template/";

/** What the kinds and the kernel stand on, the lowest first. */
const ground = ["values", "machine", "contract", "request"];
/** What each kind may import of the others. A kind that another runs on stands below it; two that do not know each other stand beside. */
const kinds = {
  saga: [],
  agent: [],
  validators: ["saga"],
  workflow: ["validators"],
  plan: ["saga", "agent", "validators", "workflow"],
  // No kind of its own: a saga that is built in.
  schedule: ["saga"],
};
const allActors = `^actors/(kinds\\.ts$|(${[...ground, "policies", ...Object.keys(kinds), "kernel"].join("|")})/[^/]+$)`;

/**
 * `node: true` allows node's own modules; `except` leaves out the files for which a row of their own speaks. A folder
 * may always import itself.
 */
const law = [
  {
    name: "protocol",
    from: folder("protocol"),
    except: "^protocol/digest\\.ts$",
    may: [packages("zod", "msgpackr")],
  },
  { name: "protocol-digest", from: "^protocol/digest\\.ts$", may: [folder("protocol"), "^(node:)?crypto$"] },
  {
    name: "protocol-documents",
    from: folder("protocol/documents"),
    may: [folder("protocol"), packages("zod")],
  },

  // Lower folders know nothing of higher ones.
  { name: "actors-values", from: actors("values"), may: [protocol, packages("zod")] },
  {
    name: "actors-machine",
    from: actors("machine"),
    may: [protocol, actors("values"), packages("zod", "xstate")],
  },
  {
    name: "actors-contract",
    from: actors("contract"),
    may: [protocol, actors("values", "machine"), packages("zod")],
  },
  {
    name: "actors-request",
    from: actors("request"),
    may: [protocol, actors("values", "machine", "contract"), packages("zod")],
  },
  // Ready-made guardrails: nothing in actors/ needs them.
  {
    name: "actors-policies",
    from: actors("policies"),
    may: [protocol, actors("values", "machine", "contract"), packages("zod")],
  },
  // No kind imports the kernel, and the kernel imports no kind.
  ...Object.entries(kinds).map(([kind, below]) => ({
    name: `actors-${kind}`,
    from: actors(kind),
    may: [protocol, actors(...ground, ...below), packages("zod", "xstate")],
  })),
  { name: "actors-kernel", from: actors("kernel"), may: [protocol, actors(...ground), packages("zod")] },
  // The list of kinds.
  {
    name: "actors-kinds",
    from: "^actors/kinds\\.ts$",
    may: [protocol, actors("contract", ...Object.keys(kinds))],
  },

  // What crosses a wire, and how long one waits for it.
  {
    name: "services-wire",
    from: services("wire"),
    node: true,
    may: [protocol, packages("zod", "pino")],
  },
  // What a process has of its own: nothing of it crosses a wire.
  {
    name: "services-process",
    from: services("process"),
    may: [protocol, services("wire")],
  },
  { name: "services-http", from: services("http"), node: true, may: [protocol, services("wire")] },
  // Which definition a start becomes a saga of, and which host takes a saga: clients and hosts choose alike.
  {
    name: "services-deployments",
    from: services("deployments"),
    may: [protocol, services("wire"), packages("zod")],
  },
  // What an application is.
  {
    name: "services-app",
    from: services("app"),
    except: "^services/app/sample\\.ts$",
    node: true,
    may: [protocol, allActors, services("wire"), packages("zod")],
  },
  // Values that a schema accepts: nothing else needs the package that makes them.
  {
    name: "services-sample",
    from: "^services/app/sample\\.ts$",
    may: [protocol, allActors, packages("zod", "json-schema-faker")],
  },
  // What a ledger says: no definition is known here.
  {
    name: "services-ledger",
    from: services("ledger"),
    may: [protocol, actors("contract", "request", "kernel"), services("wire", "process"), packages("zod")],
  },
  // What is shown of a ledger: rows and documents, then the graph, then the story, none knowing a later one.
  {
    name: "services-views",
    from: services("views"),
    node: true,
    may: [protocol, allActors, services("wire", "app", "ledger"), packages("zod")],
  },
  {
    name: "services-views-graph",
    from: services("views/graph"),
    except: "^services/views/graph/layout\\.ts$",
    may: [protocol, services("ledger", "views")],
  },
  {
    name: "services-views-why",
    from: services("views/why"),
    may: [
      protocol,
      actors("contract", "kernel"),
      services("app", "ledger", "views", "views/graph"),
      packages("zod"),
    ],
  },
  // Only who draws loads the layout.
  { name: "services-views-layout", from: "^services/views/graph/layout\\.ts$", may: [packages("@dagrejs")] },
  // A ledger as spans, by the names that tracing systems know.
  {
    name: "services-traces",
    from: services("traces"),
    may: [protocol, actors("contract", "kernel"), services("ledger")],
  },
  // Spans on their way out: what they are of is not known here.
  {
    name: "services-otlp",
    from: services("otlp"),
    node: true,
    may: [protocol, services("wire"), packages("zod")],
  },
  // Rows by which sagas are found: hosts write them, clients go by them, and where they are missing they are made of ledgers.
  {
    name: "services-listing",
    from: services("listing"),
    may: [protocol, actors("contract", "kernel"), services("wire", "process", "ledger", "views")],
  },
  // Due times: nothing else reckons with time zones, or needs the package that does.
  { name: "services-calendar", from: services("calendar"), may: [protocol, packages("croner")] },
  {
    name: "services-client",
    from: services("client"),
    node: true,
    may: [
      protocol,
      allActors,
      services("wire", "process", "deployments", "calendar", "app", "ledger", "views", "listing"),
      packages("zod", "pino"),
    ],
  },

  // The ledgers as tables for SQL: a cache that any process can fill, and lose.
  {
    name: "services-tables",
    from: services("tables"),
    except: "^services/tables/pg-module\\.ts$",
    node: true,
    may: [protocol, actors("kernel"), services("wire", "process", "ledger", "views")],
  },
  // Only who opens a database loads its client.
  {
    name: "services-tables-pg",
    from: "^services/tables/pg-module\\.ts$",
    may: [protocol, packages("pg", "@types/pg")],
  },
  // What a host does for schedules: it begins and ends sagas as a client does.
  {
    name: "services-schedules",
    from: services("schedules"),
    may: [protocol, allActors, services("wire", "process", "calendar", "app", "ledger", "client")],
  },

  // How one intent is performed: host and worker both do it, and never import each other.
  {
    name: "services-perform",
    from: services("perform"),
    node: true,
    may: [protocol, allActors, services("wire", "process", "ledger"), packages("zod", "pino")],
  },
  // The share of one process in what may be used only so fast: hosts for models, workers for tools.
  {
    name: "services-throttle",
    from: services("throttle"),
    node: true,
    may: [protocol, services("wire", "process"), packages("zod", "pino")],
  },
  // What died with its process is taken in one of its own: hosts for sagas, workers for calls.
  {
    name: "services-suspects",
    from: services("suspects"),
    node: true,
    may: [protocol, services("wire", "process"), packages("zod", "pino")],
  },
  {
    name: "services-host",
    from: services("host"),
    node: true,
    may: [
      protocol,
      allActors,
      services(
        ...["wire", "process", "deployments", "app", "ledger", "listing", "perform", "throttle", "suspects"],
      ),
      packages("zod", "pino"),
    ],
  },
  {
    name: "services-worker",
    from: services("worker"),
    node: true,
    may: [
      protocol,
      allActors,
      services("wire", "process", "app", "perform", "throttle", "suspects"),
      packages("zod", "pino"),
    ],
  },

  // Ledgers decided anew: reads as a client does, asks models, performs nothing.
  {
    name: "services-replay",
    from: services("replay"),
    node: true,
    may: [protocol, allActors, services("wire", "app", "ledger", "views"), packages("zod", "xstate")],
  },
  // Answers from outside over HTTP: reads and writes as a client does, and judges who may.
  {
    name: "services-gateway",
    from: services("gateway"),
    node: true,
    may: [
      protocol,
      allActors,
      services("wire", "process", "http", "views", "client"),
      packages("zod", "pino"),
    ],
  },
  // The console's server: reads and acts as a client does, and shows it to a browser.
  {
    name: "services-console",
    from: services("console"),
    node: true,
    may: [
      protocol,
      actors("contract", "kernel", "values"),
      services(
        ...[
          "wire",
          "process",
          "app",
          "deployments",
          "http",
          "ledger",
          "listing",
          "tables",
          "views",
          "views/graph",
          "views/why",
          "client",
          "bulk",
          "throttle",
        ],
      ),
    ],
  },
  // What runs in the browser: of the rest it knows the documents, by their types, and nothing else.
  {
    name: "services-console-page",
    from: services("console/page"),
    may: [folder("protocol/documents"), "^services/console/documents\\.ts$", packages("preact", "vite")],
  },
  // Finished sagas to files: reads ledgers as a client does, and purges what it has read back.
  {
    name: "services-archive",
    from: services("archive"),
    node: true,
    may: [
      protocol,
      allActors,
      services("wire", "process", "app", "ledger", "views", "client"),
      packages("zod", "pino"),
    ],
  },

  // What is done to many sagas at once, as commands and the console do it.
  {
    name: "services-bulk",
    from: services("bulk"),
    may: [protocol, services("wire", "ledger", "listing", "views", "tables", "client", "archive")],
  },

  {
    name: "services-nats",
    from: services("nats"),
    node: true,
    may: [protocol, services("wire"), packages("@nats-io", "zod", "pino")],
  },
  // The server itself: its binary and its process.
  {
    name: "services-nats-server",
    from: services("nats/server"),
    node: true,
    may: [protocol, services("wire", "nats"), packages("@nats-io", "env-paths", "zod")],
  },
  // The memory mesh is the model of the ports: it has nothing but them, not even node.
  { name: "services-memory", from: services("memory"), may: [protocol, services("wire")] },
  {
    name: "services-models",
    from: services("models"),
    except: "^services/models/index\\.ts$",
    node: true,
    may: [protocol, services("wire"), packages("@anthropic-ai/sdk", "eventsource-parser", "zod")],
  },
  {
    name: "services-models-index",
    from: "^services/models/index\\.ts$",
    may: [protocol, services("models", "app")],
  },
  // Tools of other people's servers: a contract loads without the client, which only a performer's process opens.
  {
    name: "services-mcp",
    from: services("mcp"),
    node: true,
    may: [protocol, allActors, services("wire"), packages("@modelcontextprotocol/client", "zod")],
  },
  // Code that a model writes: the engine is loaded in the thread that runs it, and nowhere else.
  {
    name: "services-sandbox",
    from: services("sandbox"),
    node: true,
    may: [
      protocol,
      allActors,
      services("wire", "process"),
      packages("quickjs-emscripten-core", "@jitl/quickjs-wasmfile-release-sync", "zod"),
    ],
  },
  // Conversations recorded elsewhere: read in the shapes of providers, and written as bundles.
  {
    name: "services-recordings",
    from: services("recordings"),
    node: true,
    may: [
      protocol,
      allActors,
      services("wire", "app", "archive", "client", "models", "mcp"),
      packages("@anthropic-ai/sdk", "zod"),
    ],
  },

  // What a new application is copied from is no part of the product: services/new/template has no row.
  { name: "services-new", from: services("new"), node: true, may: [protocol] },

  // From here on: the places that wire things together.
  // What is wrong with a mesh that was read.
  {
    name: "services-runtime-doctor",
    from: services("runtime/doctor"),
    node: true,
    may: [protocol, services("wire", "deployments", "nats", "nats/server"), packages("zod")],
  },
  // What a process tells of itself: fed by what the parts tell of their work.
  {
    name: "services-runtime-health",
    from: services("runtime/health"),
    node: true,
    may: [protocol, allActors, services("wire", "http", "nats", "otlp", "perform", "host", "worker")],
  },
  {
    name: "services-runtime",
    from: services("runtime"),
    node: true,
    may: [protocol, allActors, "^services/(?!cli/|demo/|testing/|check/)[^/]+/", packages("zod", "pino")],
  },
  {
    name: "services-cli-frame",
    from: services("cli/frame"),
    node: true,
    may: [
      protocol,
      services("wire", "app", "ledger", "views", "client", "archive", "recordings", "runtime"),
      packages("zod"),
    ],
  },
  {
    name: "services-cli-telling",
    from: services("cli/telling"),
    node: true,
    may: [
      protocol,
      allActors,
      services(
        "wire",
        "deployments",
        "app",
        "ledger",
        "views",
        "views/graph",
        "traces",
        "client",
        "tables",
        "runtime",
        "cli/frame",
      ),
      packages("zod"),
    ],
  },
  {
    name: "services-cli",
    from: services("cli"),
    node: true,
    may: [protocol, services("runtime", "cli/frame", "cli/commands")],
  },
  {
    name: "services-cli-commands",
    from: services("cli/commands"),
    node: true,
    may: [
      protocol,
      allActors,
      "^services/(wire|process|deployments|app|workflow|ledger|listing|tables|views|traces|client|archive|bulk|recordings|replay|throttle|runtime|demo|new|check)/",
      services("cli/frame", "cli/telling"),
      packages("zod", "pino"),
    ],
  },
  {
    name: "services-testing",
    from: services("testing"),
    node: true,
    may: [
      protocol,
      allActors,
      services(
        "wire",
        "process",
        "app",
        "ledger",
        "views",
        "client",
        "replay",
        "host",
        "worker",
        "perform",
        "memory",
        "models",
        "schedules",
        "runtime",
      ),
      packages("zod"),
    ],
  },
  // What a machine of plain XState needs, and a play of it: it reads files of people and runs none of their effects.
  {
    name: "services-check",
    from: services("check"),
    node: true,
    may: [
      protocol,
      allActors,
      services("app", "views"),
      "^services/testing/index\\.ts$",
      packages("zod", "xstate"),
    ],
  },
  {
    name: "services-demo",
    from: services("demo"),
    node: true,
    may: [
      protocol,
      allActors,
      "^(services|actors)/((testing|models|workflow|validators|policies)/)?index\\.ts$",
      services("app", "ledger", "runtime", "client", "process"),
      packages("zod", "xstate"),
    ],
  },
  // What starts servers for tests and for a person who tries a cluster; no part of the package.
  {
    name: "deploy",
    from: "^deploy/.*\\.ts$",
    node: true,
    may: ["^deploy/", protocol, services("wire", "nats", "nats/server"), packages("rolldown")],
  },
  // What a program imports to have workflows, and the planner, whose judge is performed like any tool.
  {
    name: "services-workflow",
    from: services("workflow"),
    may: [protocol, allActors, services("app")],
  },
  {
    name: "services-index",
    from: "^services/index\\.ts$",
    may: [protocol, allActors, services("wire", "app", "ledger", "client", "runtime")],
  },
];

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...law.map(({ name, from, except, node, may }) => ({
      name,
      severity: "error",
      comment: `See the row "${name}" of the import law.`,
      from: { path: from, ...(except && { pathNot: except }) },
      to: { pathNot: [from, ...may], ...(node && { dependencyTypesNot: ["core"] }) },
    })),
    {
      name: "folder-without-a-row",
      severity: "error",
      comment: "Every folder has a row in the import law: add one.",
      from: {
        path: "^(protocol|actors|services|deploy)/",
        pathNot: [...law.map(({ from }) => from), "^deploy/[^/]+\\.cjs$", template],
      },
      to: {},
    },
    {
      name: "nats-only-in-services-nats",
      severity: "error",
      comment: "Everybody else speaks to a port.",
      from: { pathNot: ["^services/nats/", "^test/"] },
      to: { path: packages("@nats-io") },
    },
    {
      name: "model-vendor-only-in-services-models",
      severity: "error",
      comment: "Everybody else speaks to a model port.",
      from: { pathNot: ["^services/models/", "^services/recordings/anthropic\\.ts$", "^test/"] },
      to: { path: packages("@anthropic-ai") },
    },
    {
      name: "mcp-client-only-in-services-mcp",
      severity: "error",
      comment: "Everybody else has tools.",
      from: { pathNot: ["^services/mcp/", "^test/"] },
      to: { path: packages("@modelcontextprotocol") },
    },
    {
      name: "code-engine-only-in-services-sandbox",
      severity: "error",
      comment: "Code of a model runs in its own thread, and nowhere else.",
      from: { pathNot: ["^services/sandbox/", "^test/"] },
      to: { path: packages("quickjs-emscripten-core", "@jitl") },
    },
    {
      name: "nobody-imports-test",
      severity: "error",
      from: { pathNot: "^test/" },
      to: { path: "^test/" },
    },
    {
      name: "no-cycle",
      severity: "error",
      comment: "A cycle of types counts: what needs each other belongs together.",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-unresolvable",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "declared-in-package-json",
      severity: "error",
      comment:
        "The package must bring what its code imports when it is installed elsewhere, but for what who wants it installs beside it.",
      // The page is built into the package with all it needs.
      from: { path: "^(protocol|actors|services)/", pathNot: "^services/console/page/" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only", "npm-peer"],
      },
    },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    doNotFollow: { path: "^(node_modules|dist)/" },
    // Runs beside another product's packages, which nothing here needs.
    exclude: { path: "^test/bench/peers/adapters/temporal-workflows\\.js$" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["sagamesh-source", "types", "import", "node", "default"],
      extensions: [".ts", ".tsx", ".js", ".cjs", ".mjs", ".json", ".d.ts"],
    },
  },
};
