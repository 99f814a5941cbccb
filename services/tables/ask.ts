/**
 * Ask: one statement of SQL, answered by a process of its own (asked-process.ts) within a time and in so many rows.
 *
 * TV1 However the asking ends, that process is ended: answered, too late or called off. One whose asker died ends once it has its
 *     answer.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { MeshError } from "../../protocol/errors.ts";
import { ownFile } from "../process/own-file.ts";
import { assertOneReading } from "./one-reading.ts";
import type { Question, Said, TablesAt } from "./question.ts";
import type { Cell } from "./rows.ts";

/** How much a statement may take. */
export interface AskBounds {
  /** Milliseconds, its process's start among them. */
  readonly withinMs: number;
  readonly rowsMax: number;
}

/** What most people wait for, and read. */
export const askDefaults: AskBounds = { withinMs: 10_000, rowsMax: 1_000 };

/** What came of a statement. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** There were more rows. */
  readonly isCut: boolean;
}

const entry = fileURLToPath(ownFile("services/tables/asked-process"));

/**
 * Asks tables. `values` stand in place of the statement's question marks. Throws USAGE for what is no reading statement, or none that
 * their database takes, QUERY_TOO_LONG, INDEX_UNUSABLE, UNAVAILABLE where that cannot be reached, and what the signal says.
 */
export async function ask(
  at: TablesAt,
  { sql, values = [] }: { readonly sql: string; readonly values?: readonly Cell[] },
  { withinMs, rowsMax }: AskBounds = askDefaults,
  signal?: AbortSignal,
): Promise<Answer> {
  assertOneReading(sql);
  signal?.throwIfAborted();
  const child = fork(entry, { serialization: "advanced", stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const end = () => void child.kill("SIGKILL");
  try {
    return await new Promise<Answer>((resolve, reject) => {
      const late = setTimeout(() => reject(tooLong(withinMs)), withinMs);
      const called = () => reject(signal?.reason as Error);
      signal?.addEventListener("abort", called, { once: true });
      const rows: (readonly Cell[])[] = [];
      let columns: readonly string[] = [];
      child.on("message", (message) => {
        const said = message as Said; // Proof: the process is asked-process.ts of this package.
        if (said.type === "columns") ({ columns } = said);
        else if (said.type === "rows") for (const row of said.rows) rows.push(row);
        else if (said.type === "end") resolve({ columns, rows, isCut: said.isCut });
        else reject(refusal(said, withinMs));
      });
      child.once("error", reject);
      child.once("exit", (code, name) => {
        clearTimeout(late);
        signal?.removeEventListener("abort", called);
        reject(new MeshError("INDEX_UNUSABLE", `the process that reads the tables ended (${name ?? code})`));
      });
      const question: Question = { at, sql, values, rowsMax, withinMs };
      child.send(question, () => undefined); // One that does not get through is followed by the process's end.
    });
  } finally {
    end(); // TV1
  }
}

const schemaHint = "`sagamesh index --schema` shows the tables and what each column says.";

function refusal({ code, why, remedy }: Extract<Said, { type: "refused" }>, withinMs: number): MeshError {
  if (code === "QUERY_TOO_LONG") return tooLong(withinMs);
  if (code !== "USAGE") return new MeshError(code, why, remedy === undefined ? {} : { remedy });
  return new MeshError("USAGE", `the statement cannot be run: ${why}`, { remedy: schemaHint });
}

const tooLong = (withinMs: number): MeshError =>
  new MeshError("QUERY_TOO_LONG", `the statement was not answered within ${withinMs / 1_000} s`);
