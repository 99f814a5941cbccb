import { existsSync } from "node:fs";
import type { IndexDocument } from "../../../protocol/documents/index-of-sagas.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { redactDatabase } from "../../runtime/config.ts";
import { fillingOf, openTables, tablesAt } from "../../runtime/tables.ts";
import { catchUp, type KeepDeps, keepTables } from "../../tables/keep.ts";
import { publicSql } from "../../tables/schema.ts";
import type { TablesAt } from "../../tables/question.ts";
import { publicPostgresSql } from "../../tables/schema-postgres.ts";
import { type Standing, writerTtlMs } from "../../tables/store.ts";
import { type CommandContext, type CommandMesh, withMesh } from "../frame/context.ts";
import { defineCommand } from "../frame/command.ts";
import { countedTo, tellProgress } from "../telling/tables-text.ts";
import { dialectOf, indexUrlOption, withTables } from "./query.ts";

/** The tables that queries read. Named so because an `index.ts` is a door. */
export const indexing = defineCommand({
  name: "index",
  summary: "keep the tables that `query` reads up with the ledgers",
  details:
    "A file in the cache folder (SAGAMESH_CACHE) with sagas, turns, intents, effects, tasks, spending and texts, made of the\n" +
    "ledgers alone: it may be deleted at any moment. Runs until it is ended; `query` needs no such process, and is faster\n" +
    "beside one. Of several one fills the tables, and another one takes over within seconds of its end.\n" +
    "With --url they are in a PostgreSQL database that several share, in a schema of this mesh alone; `npm install pg` first.",
  serves: true,
  positionals: {},
  options: {
    status: { type: "boolean", help: "only say how far the tables are" },
    once: { type: "boolean", help: "fill them up to where the ledgers end now, and end" },
    rebuild: { type: "boolean", help: "empty them first" },
    url: indexUrlOption,
    schema: { type: "boolean", help: "only print the tables: what each column says" },
    archive: {
      type: "string",
      hint: "DIR",
      paths: "folders",
      help: "folder of archives in which turns of archived sagas are looked for; archive/ in the data folder unless given",
    },
  },
  examples: ["sagamesh index", "sagamesh index --status", "sagamesh index --schema"],
  run: async ({ status, once, rebuild, schema, archive, url }, given) => {
    const context = withTables(given, url);
    const { output, config, signal } = context;
    if ([status, once || rebuild, schema].filter(Boolean).length > 1)
      throw new MeshError("USAGE", "index: --status and --schema stand alone");
    if (schema) {
      const sql = dialectOf(context) === "postgres" ? publicPostgresSql : publicSql;
      output.print({ schema: sql }, () => sql.trim());
      return 0;
    }
    return withMesh(context, async (mesh) => {
      if (status) return showStatus(context, mesh);
      const told = tellProgress(output);
      const filling = fillingOf(config, mesh, { signal, archive, ...told });
      if (rebuild) await emptied(filling);
      else if (config.indexUrl !== undefined) await filling.open().then((store) => store.close()); // What is wrong with it is told at once.
      if (once) {
        const standing = await catchUp(filling);
        const document = documentOf(context, mesh, standing, await mesh.ports.ledger.end());
        output.print(document, () => describe(document));
        return 0;
      }
      output.note(`fills ${nameOf(tablesAt(config, mesh.meshId))} from the ledgers; Ctrl-C ends it`);
      await keepTables(filling);
      return 0;
    });
  },
});

/** Empties the tables. Throws INDEX_UNUSABLE. */
async function emptied({ open, mesh, writer }: KeepDeps): Promise<void> {
  const store = await open();
  const isCleared = (await store.claim(writer)) && (await store.clear(mesh, writer));
  if (isCleared) await store.release(writer);
  await store.close();
  if (isCleared) return;
  throw new MeshError("INDEX_UNUSABLE", "another process fills the tables", {
    remedy:
      "End that process (`sagamesh index`), or wait for the query that fills them, and send the same again.",
  });
}

async function showStatus(context: CommandContext, mesh: CommandMesh): Promise<number> {
  const { output, config } = context;
  const at = tablesAt(config, mesh.meshId);
  if ("file" in at && !existsSync(at.file)) {
    output.note(
      `there are no tables of this mesh yet: \`sagamesh index\` or \`sagamesh query\` makes them (${at.file})`,
    );
    return 1;
  }
  const store = await openTables(at);
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
    ...namesOf(tablesAt(config, mesh)),
    mesh,
    ...countedTo(places, stored),
    ...(checkedAt > 0 ? { wholeUntil: checkedAt } : {}),
    isKept: writer !== undefined && Math.abs(Date.now() - writer.at) < writerTtlMs,
  };
}

const namesOf = (at: TablesAt): Pick<IndexDocument, "file" | "url" | "schema"> =>
  "file" in at ? at : { url: redactDatabase(at.url), schema: at.schema };

const nameOf = (at: TablesAt): string =>
  "file" in at ? at.file : `${redactDatabase(at.url)} (${at.schema})`;

const describe = ({ file, url = "", schema = "", read, stored, wholeUntil, isKept }: IndexDocument): string =>
  [
    file ?? nameOf({ url, schema }),
    `${read} of ${stored} messages are in it${wholeUntil === undefined ? "" : `; whole until ${new Date(wholeUntil).toISOString()}`}`,
    isKept ? "a process fills it" : "no process fills it now",
  ].join("\n");
