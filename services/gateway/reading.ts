/**
 * Reading: what a request's body and query say, before it is known what the saga expects.
 *
 * GR1 JSON says one thing. A form and a plain text may be read in several ways: as texts, as what the texts look like,
 *     as a text or the one member of an object. All of them are handed on, the most literal first, and the contract
 *     chooses.
 * GR2 A form's fields may stand in the query too, so that a link in a mail can hold a whole answer.
 */
import { contentTypes, decode } from "../../protocol/codec.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { assertValue } from "../../protocol/value.ts";

/** What the outside says of a call. `success`: in each way it can be read. */
export type Said =
  | { readonly outcome: "succeeded"; readonly readings: readonly Json[] }
  | { readonly outcome: "failed"; readonly reason: string };

export interface Given {
  readonly query: URLSearchParams;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

/** The members of the query that say how a call ended; all others are fields. */
const outcomeField = "outcome";
const reasonField = "reason";
const reasonCharsMax = 2_000;

const form = "application/x-www-form-urlencoded";

/** Throws BAD_MESSAGE, TOO_LARGE, and UNSUPPORTED for a content type that is not read here. */
export function readSaid(given: Given): Said {
  const [outcome = null, ...others] = new Set(given.query.getAll(outcomeField));
  if (others.length > 0) throw bothOutcomes("the query");
  if (outcome !== null && outcome !== "failed" && outcome !== "succeeded")
    throw new MeshError(
      "BAD_MESSAGE",
      `outcome: expected failed or succeeded, got "${outcome.slice(0, 40)}"`,
      {
        remedy: "Leave `outcome` out for a success.",
      },
    );
  const readings = readData(given);
  if (outcome === "failed") return failed(reasonIn(given, readings));
  const [value] = readings;
  const wrapped = outcome === null && readings.length === 1 ? unwrap(value) : undefined;
  return wrapped ?? { outcome: "succeeded", readings };
}

/**
 * Why it failed, by the query or the body. Throws BAD_MESSAGE for a body that is no reason: whoever sends an output beside
 * `?outcome=failed` means one of the two, and only they know which.
 */
function reasonIn({ query, body }: Given, readings: readonly Json[]): string {
  const named = query.get(reasonField);
  const isEmpty = body.length === 0 || readings[0] === null;
  const said = readings.map(textIn).find((one) => one !== undefined);
  if (!isEmpty && said === undefined)
    throw new MeshError("BAD_MESSAGE", "the body beside outcome=failed is no reason", {
      remedy: 'Send the reason as a text or as {"reason":"why"}, or leave `outcome` out for a success.',
    });
  return named ?? said ?? "the outside gave no reason";
}

const failed = (reason: string): Said => ({ outcome: "failed", reason: reason.slice(0, reasonCharsMax) });

/**
 * `{"failed": "why"}` and `{"succeeded": OUTPUT}`, alone in their object. Throws BAD_MESSAGE for both in one; beside
 * `?outcome=succeeded` it is an output like any other.
 */
function unwrap(value: Json | undefined): Said | undefined {
  if (!isObject(value)) return undefined;
  const { failed: why, succeeded, ...rest } = value;
  if (Object.keys(rest).length > 0) return undefined;
  if (typeof why === "string" && succeeded !== undefined) throw bothOutcomes("the body");
  if (why !== undefined && succeeded !== undefined) return undefined; // Counts, say: an output of these two members.
  if (typeof why === "string") return failed(why);
  return succeeded === undefined ? undefined : { outcome: "succeeded", readings: [succeeded] };
}

/** A body in each way it can be read (GR1); nothing at all is null or an empty object. */
export function readData({ query, contentType, body }: Given): Json[] {
  const type = (contentType?.split(";", 1)[0] ?? "").trim().toLowerCase();
  const fields = new URLSearchParams(
    [...query].filter(([name]) => name !== outcomeField && name !== reasonField),
  );
  const readings = readAs(type, body, fields);
  for (const reading of readings) assertValue(reading, "the body");
  return readings;
}

function readAs(type: string, body: Uint8Array, fields: URLSearchParams): Json[] {
  if (body.length === 0) return fields.size === 0 ? [null, {}] : formReadings(fields);
  if (type === contentTypes.json || type.endsWith("+json")) return [decode(body, contentTypes.json)];
  if (type === contentTypes.msgpack) return [decode(body, contentTypes.msgpack)];
  if (type === contentTypes.text) return [textOf(body)];
  if (type === "") return [decode(body)];
  if (type === form) return readForm(textOf(body), fields);
  throw new UnsupportedType(type);
}

const textOf = (body: Uint8Array): string => decode(body, contentTypes.text) as string; // By that content type.

/** `curl -d` calls everything a form. */
function readForm(text: string, fields: URLSearchParams): Json[] {
  if (/^\s*[[{]/.test(text))
    try {
      return [decode(Buffer.from(text), contentTypes.json)];
    } catch {
      // A form after all.
    }
  const merged = new URLSearchParams([...fields]);
  const said = new URLSearchParams(text);
  for (const name of said.keys()) merged.delete(name);
  for (const [name, value] of said) merged.append(name, value);
  return formReadings(merged);
}

function formReadings(fields: URLSearchParams): Json[] {
  const names = [...new Set(fields.keys())];
  const object = (read: (text: string) => Json): Json =>
    Object.fromEntries(
      names.map((name) => {
        const values = fields.getAll(name).map(read);
        return [name, values.length === 1 ? (values[0] ?? null) : values];
      }),
    );
  return [object((text) => text), object(scalarOf)];
}

const scalarOf = (text: string): Json =>
  /^(true|false|null|-?(0|[1-9]\d{0,14})(\.\d+)?)$/.test(text) ? (JSON.parse(text) as Json) : text;

/** Adds, for a text, the object whose one member it may be. */
export const readingsFor = (readings: readonly Json[], schema: Json | undefined): Json[] => {
  const member = onlyMemberOf(schema);
  return readings.flatMap((one) =>
    typeof one === "string" && member !== undefined ? [one, { [member]: one }] : [one],
  );
};

function onlyMemberOf(schema: Json | undefined): string | undefined {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  const names = isObject(properties) ? Object.keys(properties) : [];
  return names.length === 1 ? names[0] : undefined;
}

export const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const bothOutcomes = (what: string): MeshError =>
  new MeshError("BAD_MESSAGE", `${what} says both failed and succeeded`, {
    remedy: 'Say one of them: {"succeeded":OUTPUT}, or {"failed":"why"}.',
  });

/** A reason: a text, or the one member of an object that is one. */
const textIn = (value: Json | undefined): string | undefined => {
  const isAlone = isObject(value) && Object.keys(value).length === 1;
  const said = isAlone ? (value[reasonField] ?? value["failed"]) : value;
  return typeof said === "string" && said !== "" ? said : undefined;
};

/** A content type that is not read here: 415. */
export class UnsupportedType extends MeshError {
  constructor(type: string) {
    super("BAD_MESSAGE", `a body of type ${type.slice(0, 80)} is not read`, {
      remedy: "Send JSON, text/plain or application/x-www-form-urlencoded.",
    });
  }
}
