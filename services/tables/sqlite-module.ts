/**
 * SQLite module: Node's own, where it has it. It is loaded when tables are opened, and nowhere else: a host carries nothing of it.
 */
import type * as sqlite from "node:sqlite";
import { MeshError } from "../../protocol/errors.ts";

export type Sqlite = typeof sqlite;

/** Throws INDEX_UNUSABLE on a Node that has none. */
export function loadSqlite(): Sqlite {
  const emitWarning = process.emitWarning.bind(process);
  // Node says at the first use of it that it may still change. What is used of it is tried by tests; stderr is for documents.
  process.emitWarning = () => undefined;
  try {
    const found = process.getBuiltinModule("node:sqlite") as Sqlite | undefined;
    if (found !== undefined) return found;
  } finally {
    process.emitWarning = emitWarning;
  }
  throw new MeshError("INDEX_UNUSABLE", `this Node, ${process.version}, has no SQLite of its own`, {
    remedy: "Use Node 22.18 or newer, built with SQLite as the usual ones are.",
  });
}
