/**
 * Honest output: whether what a tool or an agent gave back as a success says that it failed.
 *
 * HQ1 Structure counts before words: a member that is a status, an error or a yes says the same in every language. A text
 *     elsewhere is only ever a reason to ask.
 * HQ2 What cannot be told is undecided, and never a yes: a status in letters that no word here is written in, a count of errors,
 *     a code that may be anything.
 */
import type { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import { builtin, type Common, foundOr, short } from "./built-in.ts";
import type { Validator } from "./validator.ts";

/**
 * Semantic, of what a tool or an agent gave back: it says that it failed, and was flagged as a success. Rejected: a member
 * that is an error and is not empty, a yes that is none (`ok: 0`, `success: "false"`), an HTTP status from 400, an exit code
 * other than 0, a status or the beginning of a text that says so in words. Undecided: a text that mentions a failure, and what
 * cannot be read. Members are read as deep as they stand.
 */
export const honestOutput = (config: Common<z.ZodType<Json>> = {}): Validator =>
  builtin("semantic", { name: "honest_output", ...config }, ({ item }) => {
    const said = [...saidIn(item, "", [])];
    const what = ({ value }: Said) => `it says ${short(value)}`;
    return foundOr(
      said
        .filter(({ how }) => how === "failed")
        .map((one) => ({ rule: "honest_output", what: what(one), at: one.at })),
      said.filter(({ how }) => how === "unclear").map((one) => `${one.at} says ${short(one.value)}`),
    );
  });

type How = "failed" | "unclear" | "fine";

interface Said {
  readonly at: string;
  readonly value: Json;
  readonly how: How;
}

/** What each member says by its name, and each text by its words. What is an error whole is not read further. */
function* saidIn(value: Json, at: string, name: readonly string[]): Generator<Said> {
  const byName = howByName(name, value);
  if (byName !== undefined) {
    yield { at, value, how: byName };
    if (byName !== "fine") return;
  }
  if (typeof value === "string") yield { at, value, how: howByWords(value, isStatus(name)) };
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value))
    yield* saidIn(
      member,
      `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      Array.isArray(value) ? name : wordsOfName(key),
    );
}

/** `errorMessage`, `error_message`, `HTTP-Status`: the words of a member's name, in small letters. */
const wordsOfName = (key: string): string[] =>
  key
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");

const yes: ReadonlySet<string> = new Set(["success", "successful", "succeeded", "ok"]);
const errors: ReadonlySet<string> = new Set(["error", "errors", "exception", "failure", "failures"]);
const ofErrors: ReadonlySet<string> = new Set([
  "code",
  "description",
  "detail",
  "details",
  "message",
  "messages",
  "name",
  "reason",
  "text",
  "type",
]);
const statuses: ReadonlySet<string> = new Set(["status", "state", "outcome", "result"]);

const isStatus = (name: readonly string[]): boolean =>
  name.some((word) => yes.has(word) || errors.has(word) || statuses.has(word));

/** HQ1. Undefined of a name that says nothing. */
function howByName(name: readonly string[], value: Json): How | undefined {
  const [first = ""] = name;
  const last = name.at(-1) ?? "";
  const number = typeof value === "string" && /^\d{1,3}$/.test(value.trim()) ? Number(value) : value;
  if (errors.has(first) && name.slice(1).every((word) => ofErrors.has(word)))
    return isEmpty(value) ? "fine" : "failed";
  if (name.some((word) => errors.has(word)) && last === "count") return isEmpty(value) ? "fine" : "unclear";
  if (yes.has(last) && value === null) return "unclear";
  if (yes.has(last)) return isNo(value) ? "failed" : "fine";
  if (typeof number !== "number") return undefined;
  if (first === "exit" || first === "exitcode" || name.join("") === "returncode")
    return number === 0 ? "fine" : "failed";
  const isHttp = number >= 400 && number <= 599;
  if (isHttp && (last === "status" || name.includes("http") || name.join("") === "statuscode"))
    return "failed";
  return isHttp && last === "code" ? "unclear" : undefined;
}

const isNo = (value: Json): boolean =>
  value === false ||
  value === 0 ||
  (typeof value === "string" && /^(?:false|no|n|0|off)$/i.test(value.trim()));

/** Of an error: that there is none. */
const isEmpty = (value: Json): boolean =>
  value === null ||
  value === false ||
  value === 0 ||
  (typeof value === "string" && /^(?:|none|no|null|nil|n\/?a|ok|false|0|-)$/i.test(value.trim())) ||
  (typeof value === "object" && Object.values(value).every(isEmpty));

const words = {
  /** At the start of a line or a field's whole text: a success is never reported so. */
  plain:
    /^\s*(?:["'*[(\s]*)(?:failed|failure|error|exception|traceback|unable to|could not|cannot|not found)\b/i,
  /** Anywhere: it may be about something else. */
  somewhere: /\b(?:failed|failure|error|exception|unable to|could not|rejected|declined|timed out)\b/i,
  /** Said of nothing: "no errors", "0 failed". */
  denied:
    /\b(?:no|zero|0|without(?: any)?|not a single|never)\s+(?:\w+\s+)?(?:failed|failures?|errors?|exceptions?)\b/gi,
  /** The same in other languages, as a status says it. */
  elsewhere:
    /fehlgeschlagen|fehler|abgelehnt|échec|échou|erreur|refusé|fallid[oa]|falló|rechazad[oa]|errore|fallit[oa]|rifiutat[oa]|falhou|recusad[oa]|mislukt|geweigerd|ошибк|отказ|失败|失敗|错误|錯誤|エラー|실패|오류|خطأ|فشل/iu,
} as const;

function howByWords(text: string, isOfStatus: boolean): How {
  if (words.plain.test(text)) return "failed";
  if (isOfStatus && (words.somewhere.test(text) || words.elsewhere.test(text))) return "failed";
  if (words.somewhere.test(text.replaceAll(words.denied, "")) || words.elsewhere.test(text)) return "unclear";
  return isOfStatus && isForeign(text) ? "unclear" : "fine"; // HQ2
}

/** Letters beyond those that the words above that are not told by structure are written in. */
const isForeign = (text: string): boolean => /[^\p{ASCII}\P{L}]/u.test(text);
