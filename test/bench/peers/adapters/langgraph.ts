/** LangGraph.js: a library in the application's process, with each of its two checkpointers. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Peer } from "../peer.ts";
import { bytesBelow } from "../processes.ts";
import { postgresDurability, postgresVersion, startPostgres } from "./postgres.ts";

const file = fileURLToPath(new URL("langgraph-process.ts", import.meta.url));
const common = ["@langchain/langgraph@1.7.3", "@langchain/core@1.4.0", "zod@4.6.7"];
const about =
  "a graph whose node is a step, started and resumed in the application's own process, which after a crash resumes each thread by itself";

export const langgraphSqlite: Peer = {
  name: "langgraph-sqlite",
  packages: [...common, "@langchain/langgraph-checkpoint-sqlite@1.0.4"],
  // Those before 13 abort while their garbage is collected, on Node from 24.19 on.
  instead: { "better-sqlite3": "13.2.0" },
  about: `${about}; checkpoints in SQLite (better-sqlite3 13.2.0)`,
  durability: {
    always: '`durability: "sync"`, SQLite in WAL mode with `synchronous = FULL`',
    default:
      '`durability: "async"`, the next step begins before the checkpoint is written; `synchronous = NORMAL`',
  },
  cannot: {},
  asksForItself: true,
  start: ({ data, sync }) =>
    Promise.resolve({
      pids: [],
      app: { file, args: ["sqlite", join(data, "graph.db"), sync] },
      stored: () => bytesBelow(data, (path) => path.includes("graph.db")),
      stop: () => Promise.resolve(),
    }),
};

export const langgraphPostgres: Peer = {
  name: "langgraph-postgres",
  packages: [...common, "@langchain/langgraph-checkpoint-postgres@1.0.5"],
  about: `${about}; checkpoints in PostgreSQL`,
  durability: {
    always: `\`durability: "sync"\`; ${postgresDurability.always}`,
    default: `\`durability: "async"\`; ${postgresDurability.default}`,
  },
  fewer: { rounds: 2 },
  cannot: {},
  asksForItself: true,
  prepare: postgresVersion,
  start: async (place) => {
    const { url, pid, stored, stop } = await startPostgres(place);
    return { pids: [pid], app: { file, args: ["postgres", url, place.sync] }, stored, stop };
  },
};
