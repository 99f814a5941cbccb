/**
 * Fields: a form's fields made of a JSON schema, and the value that was typed into them. What a schema says in other ways than by
 * members of plain types is typed as JSON. Whether it fits is judged where it is sent.
 *
 * BX1 A value that was put into fields and left as it is comes out as it was.
 */

/** One member of an object, or the whole value where its name is empty. */
export interface Field {
  readonly name: string;
  readonly kind: "text" | "number" | "whole" | "choice" | "yesno" | "json";
  readonly isRequired: boolean;
  readonly help: string;
  /** Of a choice. */
  readonly choices: readonly string[];
}

/** What stands in the fields, by their names; nothing is an absent member. */
export type Typed = ReadonlyMap<string, string>;

interface Schema {
  readonly type?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly anyOf?: unknown;
  readonly description?: unknown;
  readonly additionalProperties?: unknown;
}

/** One for each member, in the schema's order; of what is no object with named members, one for all of it. */
export function fieldsOf(given: unknown): readonly Field[] {
  const schema = schemaIn(given);
  const members = objectIn(schema.properties);
  const names = Object.keys(members);
  const isOpen = schema.additionalProperties === true || isObject(schema.additionalProperties);
  if (schema.type !== "object" || names.length === 0 || isOpen) return [fieldOf("", given, true)];
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : [];
  return names.map((name) => fieldOf(name, members[name], required.includes(name)));
}

function fieldOf(name: string, given: unknown, isRequired: boolean): Field {
  const schema = schemaIn(given);
  const help = typeof schema.description === "string" ? schema.description : "";
  const choices =
    Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === "string") ? schema.enum : [];
  return { name, kind: kindOf(schema, choices.length > 0), isRequired, help, choices };
}

function kindOf({ type, ...schema }: Schema, isChoice: boolean): Field["kind"] {
  if (isChoice) return "choice";
  if ("enum" in schema || "const" in schema || "anyOf" in schema) return "json";
  if (type === "string") return "text";
  if (type === "number") return "number";
  if (type === "integer") return "whole";
  return type === "boolean" ? "yesno" : "json";
}

/** BX1. What stands in the fields for a value; undefined where it has something that none of them is for. */
export function typedOf(fields: readonly Field[], value: unknown): Typed | undefined {
  const [whole] = fields;
  if (whole?.name === "") return new Map([["", textOf(whole, value) ?? ""]]);
  if (!isObject(value)) return undefined;
  const typed = new Map<string, string>();
  for (const [name, member] of Object.entries(value)) {
    const field = fields.find((one) => one.name === name);
    const text = field === undefined ? undefined : textOf(field, member);
    if (text === undefined || (text === "" && field?.isRequired !== true)) return undefined;
    typed.set(name, text);
  }
  return typed;
}

function textOf({ kind, choices, name }: Field, value: unknown): string | undefined {
  if (kind === "json" || name === "") return JSON.stringify(value, null, 2);
  if (kind === "text") return typeof value === "string" ? value : undefined;
  if (kind === "choice") return typeof value === "string" && choices.includes(value) ? value : undefined;
  if (kind === "yesno") return typeof value === "boolean" ? String(value) : undefined;
  const isOne = kind === "whole" ? Number.isSafeInteger(value) : typeof value === "number";
  return isOne ? String(value) : undefined;
}

/** What was typed, or what is wrong with it. */
export type Read = { readonly value: unknown } | { readonly fault: string };

/** The value that the fields say. An empty one is an absent member, but for a text that is required. */
export function valueIn(fields: readonly Field[], typed: Typed): Read {
  const [whole] = fields;
  if (whole?.name === "") return { value: jsonOrText(typed.get("") ?? "") };
  const value: Record<string, unknown> = {};
  for (const field of fields) {
    const text = typed.get(field.name) ?? "";
    if (text === "" && !(field.kind === "text" && field.isRequired)) continue;
    const read = memberIn(field, text);
    if ("fault" in read) return read;
    // A plain assignment would make a prototype of a member of that name.
    Object.defineProperty(value, field.name, { value: read.value, enumerable: true, writable: true });
  }
  return { value };
}

function memberIn({ name, kind }: Field, text: string): Read {
  if (kind === "text" || kind === "choice") return { value: text };
  if (kind === "yesno") return { value: text === "true" };
  if (kind === "json") {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return { fault: `${name} is no JSON` };
    }
  }
  const number = Number(text);
  const isOne =
    text.trim() !== "" && (kind === "whole" ? Number.isSafeInteger(number) : Number.isFinite(number));
  return isOne ? { value: number } : { fault: `${name} is no ${kind === "whole" ? "whole " : ""}number` };
}

/** As the command line reads a signal's data: what is no JSON is a text. */
export function jsonOrText(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const objectIn = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
const schemaIn = (value: unknown): Schema => objectIn(value);
