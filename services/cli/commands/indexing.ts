import { statSync } from "node:fs";
import type { IndexDocument } from "../../../protocol/documents/index-of-sagas.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { fillingOf, tablesFile } from "../../runtime/tables.ts";
import { catchUp, type KeepDeps, keepTables } from "../../tables/keep.ts";
import { publicSql } from "../../tables/schema.ts";
import { openSqliteStore } from "../../tables/sqlite.ts";
import { type Standing, type TableStore, writerTtlMs } from "../../tables/store.ts";
import { type CommandContext, type CommandMesh, withMesh } from "../frame/context.ts";
import { defineCommand } from "../frame/command.ts";
import { countedTo, tellProgress } from "../telling/tables-text.ts";

/** The tables that queries read. Named so because an `index.ts` is a door. */
export const indexing = defineCommand({
  name: "index",
  summary: "keep the tables that `query` reads up with the ledgers",
  details:
    "A file in the cache folder (SAGAMESH_CACHE) with sagas, turns, intents, effects, tasks, spending and texts, made of the\n" +
    "ledgers alone: it may be deleted at any moment. Runs until it is ended; `query` needs no such process, and is faster\n" +
    "beside one. Of several one fills the tables, and another one takes over within seconds of its end.",
  serves: true,
  positionals: {},
  options: {
    status: { type: "boolean", help: "only say how far the tables are" },
    once: { type: "boolean", help: "fill them up to where the ledgers end now, and end" },
    rebuild: { type: "boolean", help: "empty them first" },
    schema: { type: "boolean", help: "only print the tables: what each column says" },
    archive: {
      type: "string",
      hint: "DIR",
      paths: "folders",
      help: "folder of archives in which turns of archived sagas are looked for; archive/ in the data folder unless given",
    },
  },
  examples: ["sagamesh index", "sagamesh index --status", "sagamesh index --schema"],
  run: async ({ status, once, rebuild, schema, archive }, context) => {
    const { output, config, signal } = context;
    if ([status, once || rebuild, schema].filter(Boolean).length > 1)
      throw new MeshError("USAGE", "index: --status and --schema stand alone");
    if (schema) {
      output.print({ schema: publicSql }, () => publicSql.trim());
      return 0;
    }
    return withMesh(context, async (mesh) => {
      if (status) return showStatus(context, mesh);
      const told = tellProgress(output);
      const filling = await fillingOf(config, mesh, { signal, archive, ...told });
      const store = rebuild ? await emptied(filling) : undefined;
      await store?.close();
      if (once) {
        const standing = await catchUp(filling);
        const document = documentOf(context, mesh, standing, await mesh.ports.ledger.end());
        output.print(document, () => describe(document));
        return 0;
      }
      output.note(`fills ${tablesFile(config, mesh.meshId)} from the ledgers; Ctrl-C ends it`);
      await keepTables(filling);
      return 0;
    });
  },
});

/** The tables, with nothing in them. */
async function emptied({ open, mesh, writer }: KeepDeps): Promise<TableStore> {
  const store = await open();
  if (await store.claim(writer)) {
    await store.clear(mesh);
    await store.release(writer);
    return store;
  }
  await store.close();
  throw new MeshError("INDEX_UNUSABLE", "another process fills the tables", {
    remedy:
      "End that process (`sagamesh index`), or wait for the query that fills them, and send the same again.",
  });
}

async function showStatus(context: CommandContext, mesh: CommandMesh): Promise<number> {
  const { output, config } = context;
  const file = tablesFile(config, mesh.meshId);
  if (statSync(file, { throwIfNoEntry: false }) === undefined) {
    output.note(
      `there are no tables of this mesh yet: \`sagamesh index\` or \`sagamesh query\` makes them (${file})`,
    );
    return 1;
  }
  const store = openSqliteStore(file);
  try {
    const document = documentOf(context, mesh, await store.standing(), await mesh.ports.ledger.end());
    output.print(document, () => describe(document));
    return 0;
  } finally {
    await store.close();
  }
}

function documentOf(
  { config }: CommandContext,
  { meshId: mesh }: CommandMesh,
  { places, checkedAt, writer }: Standing,
  stored: readonly number[],
): IndexDocument {
  return {
    ...{ file: tablesFile(config, mesh), mesh },
    ...countedTo(places, stored),
    ...(checkedAt > 0 ? { wholeUntil: checkedAt } : {}),
    isKept: writer !== undefined && Math.abs(Date.now() - writer.at) < writerTtlMs,
  };
}

const describe = ({ file, read, stored, wholeUntil, isKept }: IndexDocument): string =>
  [
    file,
    `${read} of ${stored} messages are in it${wholeUntil === undefined ? "" : `; whole until ${new Date(wholeUntil).toISOString()}`}`,
    isKept ? "a process fills it" : "no process fills it now",
  ].join("\n");
