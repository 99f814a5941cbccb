/**
 * JSON from the command line.
 */
import { decode, encodeJson } from "../../../protocol/codec.ts";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import type { Json } from "../../../protocol/json.ts";

/** A word as JSON. Throws BAD_JSON, TOO_LARGE, or BAD_MESSAGE for what nests too deeply. */
export function parseJson(text: string, what: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new MeshError("BAD_JSON", `${what} is not JSON: ${describeError(error)}`, { cause: error });
  }
  return decode(encodeJson(value), "application/json");
}

/** A word as JSON if it looks like JSON, else as the text it is. Throws BAD_JSON for JSON cut short. */
export function parseJsonOrText(text: string, what: string): Json {
  if (/^\s*[[{"]/.test(text)) return parseJson(text, what);
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // A plain word: a signal's text.
  }
}
