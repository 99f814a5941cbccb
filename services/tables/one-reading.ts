/**
 * One reading: whether a text is one statement of SQL that reads. What it reads, and that it writes nothing, the connection sees to,
 * which is opened to read alone (asked-process.ts): this is for an error that says what is wrong before a process is started.
 */
import { MeshError } from "../../protocol/errors.ts";

/** White space, comments, quoted text and names, words, and any other sign. */
const token =
  /\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|\w+|[\s\S]/y;

const reading: ReadonlySet<string> = new Set(["select", "with", "values", "explain"]);

/** Throws USAGE. */
export function assertOneReading(sql: string): void {
  const words = tokensOf(sql);
  const [first] = words;
  if (first === undefined) throw wrong("is empty");
  if (!reading.has(first.toLowerCase()))
    throw wrong(`begins with ${first}: it may read alone, by select, with, values or explain`);
  const end = words.indexOf(";");
  if (end >= 0 && words.length > end + 1)
    throw wrong(`is more than one: after its end stands ${words[end + 1] ?? ""}`);
}

const wrong = (what: string): MeshError =>
  new MeshError("USAGE", `the statement ${what}`, {
    remedy:
      "For example: select status, count(*) from sagas group by status. `sagamesh index --schema` shows the tables.",
  });

function tokensOf(sql: string): string[] {
  const found: string[] = [];
  token.lastIndex = 0;
  for (let match = token.exec(sql); match !== null; match = token.exec(sql)) {
    const [text] = match;
    if (!/^(?:\s|--|\/\*)/.test(text)) found.push(text);
  }
  return found;
}
