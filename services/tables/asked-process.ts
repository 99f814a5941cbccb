/**
 * Asked process: answers one question to the tables and ends. It is a process of its own, so that one that takes too long, or too much
 * memory, is ended from outside in the middle of whatever it does.
 */
import { describeError, isMeshError } from "../../protocol/errors.ts";
import { answerFromPostgres } from "./asked-postgres.ts";
import { answerFromSqlite } from "./asked-sqlite.ts";
import { codeOf } from "./pg-module.ts";
import type { Question, RefusedFor, Said } from "./question.ts";

const say = (said: Said): void => void process.send?.(said);

process.once("message", (message) => {
  const question = message as Question; // Proof: ask.ts sends nothing else.
  const { at } = question;
  const answering = async () =>
    "file" in at ? answerFromSqlite(at.file, question, say) : answerFromPostgres(at, question, say);
  answering().catch((error: unknown) => say(refusedBy(error)));
});
process.once("disconnect", () => process.exit(0)); // Who asked has gone.

/** PostgreSQL's word for a statement that it has ended at its time. */
const endedAtItsTime = "57014";

function refusedBy(error: unknown): Said {
  const why = describeError(error).replace(/^\[\w+\] /, ""); // It is an error of its code again, where it arrives.
  if (isMeshError(error, "UNAVAILABLE") || isMeshError(error, "INDEX_UNUSABLE"))
    return { type: "refused", code: error.code as RefusedFor, why, remedy: error.remedy };
  return { type: "refused", code: codeOf(error) === endedAtItsTime ? "QUERY_TOO_LONG" : "USAGE", why };
}
