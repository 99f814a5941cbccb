// The import law, as a table: one row a folder, saying what it may import. What a row does not name is an
// error, type-only imports included. A folder without a row is an error too: give it one.

/** Paths as dependency-cruiser resolves them, from the root of the repository. */
const protocol = "^protocol/";
const actors = "^actors/";
const ports = "^services/ports\\.ts$";
/** Files directly under services/ are shared by all of it (ports, config, logger); its index is not. */
const shared = "^services/(?!index\\.ts$)[^/]+\\.ts$";
const service = (/** @type {string[]} */ ...names) => `^services/(${names.join("|")})/`;
const packages = (/** @type {string[]} */ ...names) => `^node_modules/(${names.join("|")})/`;

/**
 * `node: true` allows node's own modules; `except` leaves out the files for which a row of their own speaks.
 */
const law = [
  {
    name: "protocol",
    from: protocol,
    except: "^protocol/digest\\.ts$",
    may: [protocol, packages("zod", "msgpackr")],
  },
  { name: "protocol-digest", from: "^protocol/digest\\.ts$", may: [protocol, "^(node:)?crypto$"] },
  { name: "actors", from: actors, may: [protocol, actors, packages("zod", "xstate")] },

  {
    name: "services-shared",
    from: shared,
    except: "^services/sample\\.ts$",
    node: true,
    may: [protocol, actors, shared, packages("zod", "pino")],
  },
  // Values that a schema accepts: nothing else needs the package that makes them.
  {
    name: "services-sample",
    from: "^services/sample\\.ts$",
    may: [protocol, actors, packages("zod", "json-schema-faker")],
  },
  {
    name: "services-host",
    from: service("host"),
    node: true,
    may: [
      protocol,
      actors,
      shared,
      service("host", "perform", "throttle", "suspects"),
      packages("zod", "pino"),
    ],
  },
  {
    name: "services-worker",
    from: service("worker"),
    node: true,
    may: [
      protocol,
      actors,
      shared,
      service("worker", "perform", "throttle", "suspects"),
      packages("zod", "pino"),
    ],
  },
  // How one intent is performed: host and worker both do it, and never import each other.
  {
    name: "services-perform",
    from: service("perform"),
    node: true,
    may: [protocol, actors, shared, service("perform"), packages("zod", "pino")],
  },
  // The share of one process in what may be used only so fast: hosts for models, workers for tools.
  {
    name: "services-throttle",
    from: service("throttle"),
    node: true,
    may: [protocol, shared, service("throttle"), packages("zod", "pino")],
  },
  // What died with its process is taken in one of its own: hosts for sagas, workers for calls.
  {
    name: "services-suspects",
    from: service("suspects"),
    node: true,
    may: [protocol, shared, service("suspects"), packages("zod", "pino")],
  },
  {
    name: "services-client",
    from: service("client"),
    except: "^services/client/graph-layout\\.ts$",
    node: true,
    may: [protocol, actors, shared, service("client"), packages("zod", "pino")],
  },
  // Only who draws loads the layout.
  {
    name: "services-client-layout",
    from: "^services/client/graph-layout\\.ts$",
    may: [packages("@dagrejs")],
  },
  // Ledgers decided anew: reads as a client does, asks models, performs nothing.
  {
    name: "services-replay",
    from: service("replay"),
    node: true,
    may: [
      protocol,
      actors,
      shared,
      "^services/sample\\.ts$",
      service("replay", "client"),
      packages("zod", "xstate"),
    ],
  },
  // Answers from outside over HTTP: reads and writes as a client does, and judges who may.
  {
    name: "services-gateway",
    from: service("gateway"),
    node: true,
    may: [protocol, actors, shared, service("gateway", "client"), packages("zod", "pino")],
  },
  // Finished sagas to files: reads ledgers as a client does, and purges what it has read back.
  {
    name: "services-archive",
    from: service("archive"),
    node: true,
    may: [protocol, actors, shared, service("archive", "client"), packages("zod", "pino")],
  },
  {
    name: "services-nats",
    from: service("nats"),
    node: true,
    may: [protocol, shared, service("nats"), packages("@nats-io", "zod", "pino")],
  },
  // The memory mesh is the model of the ports: it has nothing but them, not even node.
  { name: "services-memory", from: service("memory"), may: [protocol, ports, service("memory")] },
  {
    name: "services-models",
    from: service("models"),
    node: true,
    may: [protocol, shared, service("models"), packages("@anthropic-ai/sdk", "zod", "pino")],
  },
  // Tools of other people's servers: a contract loads without the client, which only a performer's process opens.
  {
    name: "services-mcp",
    from: service("mcp"),
    node: true,
    may: [protocol, actors, shared, service("mcp"), packages("@modelcontextprotocol/client", "zod")],
  },
  // Code that a model writes: the engine is loaded in the thread that runs it, and nowhere else.
  {
    name: "services-sandbox",
    from: service("sandbox"),
    node: true,
    may: [
      protocol,
      actors,
      shared,
      service("sandbox"),
      packages("quickjs-emscripten-core", "@jitl/quickjs-wasmfile-release-sync", "zod"),
    ],
  },

  // Conversations recorded elsewhere: read in the shapes of providers, and written as bundles.
  {
    name: "services-recordings",
    from: service("recordings"),
    node: true,
    may: [
      protocol,
      actors,
      shared,
      service("recordings", "archive", "client", "models", "mcp"),
      packages("@anthropic-ai/sdk", "zod"),
    ],
  },

  // From here on: the places that wire things together.
  {
    name: "services-runtime",
    from: service("runtime"),
    node: true,
    may: [protocol, actors, "^services/", packages("zod", "pino")],
  },
  {
    name: "services-cli",
    from: service("cli"),
    node: true,
    may: [
      protocol,
      actors,
      shared,
      service("cli", "runtime", "client", "replay", "demo", "throttle", "archive", "recordings"),
      packages("zod", "pino"),
    ],
  },
  {
    name: "services-testing",
    from: service("testing"),
    node: true,
    may: [
      protocol,
      actors,
      shared,
      service("testing", "runtime", "client", "replay", "host", "worker", "perform", "memory", "models"),
      packages("zod"),
    ],
  },
  {
    name: "services-demo",
    from: service("demo"),
    node: true,
    may: [
      protocol,
      actors,
      "^services/(testing/)?index\\.ts$",
      shared,
      service("demo", "runtime", "client", "models"),
      packages("zod", "xstate"),
    ],
  },
  // What starts servers for tests and for a person who tries a cluster; no part of the package.
  {
    name: "deploy",
    from: "^deploy/.*\\.ts$",
    node: true,
    may: ["^deploy/", protocol, shared, service("nats")],
  },
  {
    name: "services-index",
    from: "^services/index\\.ts$",
    node: true,
    may: [protocol, actors, shared, service("runtime", "client", "models")],
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
      to: { pathNot: may, ...(node && { dependencyTypesNot: ["core"] }) },
    })),
    {
      name: "folder-without-a-row",
      severity: "error",
      comment: "Every folder has a row in the import law: add one.",
      from: {
        path: "^(protocol|actors|services|deploy)/",
        pathNot: [...law.map(({ from }) => from), "^deploy/preflight\\.cjs$"],
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
      comment: "The package must bring what its code imports when it is installed elsewhere.",
      from: { path: "^(protocol|actors|services)/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["type-only"] },
    },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    doNotFollow: { path: "^(node_modules|dist)/" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["sagamesh-source", "types", "import", "node", "default"],
      extensions: [".ts", ".js", ".cjs", ".mjs", ".json", ".d.ts"],
    },
  },
};
