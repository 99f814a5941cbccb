/**
 * Page: what a person who opens a link sees: what is asked, a form if an answer needs one, and one button.
 *
 * GP1 Nothing is run, loaded or framed: no script, and headers that forbid all of it. The page's address is a secret,
 *     so no other site is told where a person came from.
 * GP2 All that is shown is escaped as text, also what models and outsiders wrote.
 */
import type { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { Asked, Taken } from "./asked.ts";
import { isObject } from "./reading.ts";

export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "x-frame-options": "DENY",
};

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (one) => escapes[one] ?? one); // GP2

const page = (title: string, body: readonly string[]): string =>
  [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    '<meta name="robots" content="noindex">',
    `<title>${escape(title)}</title>`,
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:3em auto;padding:0 1em}label{display:block;margin:1em 0}input,select,textarea{display:block;width:100%;font:inherit}button{font:inherit;padding:.4em 1.5em}pre{white-space:pre-wrap;overflow-wrap:anywhere}</style>",
    "</head><body>",
    `<h1>${escape(title)}</h1>`,
    ...body,
    "</body></html>",
    "",
  ].join("\n");

/** What is asked, with what the link's query already says. The form goes to the page's own address. */
export function askPage({ title, details, schema, isFixed }: Asked, query: URLSearchParams): string {
  const said = [...query].map(([name, value]) => `<pre>${escape(name)}: ${escape(value)}</pre>`);
  const fields = isFixed || query.size > 0 ? [] : fieldsOf(schema);
  return page(title, [
    ...details.map((line) => `<pre>${escape(line)}</pre>`),
    ...said,
    '<form method="post">',
    ...fields,
    '<p><button type="submit">Confirm</button></p>',
    "</form>",
  ]);
}

export const takenPage = (how: Taken): string =>
  page("Thank you", [
    `<p>${how === "stored" ? "Your answer is stored." : "Your answer was stored before; nothing has changed."}</p>`,
  ]);

export const errorPage = ({ message, remedy }: MeshError): string =>
  page("This does not work", [`<p>${escape(message)}</p>`, `<p>${escape(remedy)}</p>`]);

/** One field for each member that a person can type. */
function fieldsOf(schema: Json | undefined): string[] {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  if (!isObject(properties)) return [];
  const required = isObject(schema) && Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(properties).map(
    ([name, member]) => `<label>${escape(name)}${fieldOf(name, member, required.includes(name))}</label>`,
  );
}

function fieldOf(name: string, member: Json, isRequired: boolean): string {
  const attributes = `name="${escape(name)}"${isRequired ? " required" : ""}`;
  const choices = choicesOf(member);
  if (choices !== undefined)
    return `<select ${attributes}>${choices.map((one) => `<option>${escape(one)}</option>`).join("")}</select>`;
  const type = isObject(member) ? member["type"] : undefined;
  if (type === "number" || type === "integer") return `<input type="number" step="any" ${attributes}>`;
  return `<input type="text" ${attributes}>`;
}

function choicesOf(member: Json): string[] | undefined {
  if (!isObject(member)) return undefined;
  if (member["type"] === "boolean") return ["true", "false"];
  const choices = member["enum"];
  return Array.isArray(choices) ? choices.map(String) : undefined;
}
