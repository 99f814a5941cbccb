/**
 * Refusal: why a start never became a saga, as the dead letters tell.
 */
import { type ErrorCode, isErrorCode, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import { readLetterHeaders } from "../wire/dead-letter.ts";
import type { Ports } from "../wire/ports.ts";

/** The newest letter, to tell those that come later. */
export const newestLetter = async ({ dead }: Pick<Ports, "dead">): Promise<number> =>
  (await dead.list()).at(-1)?.seq ?? 0;

/** Undefined where none was set aside since. The newest counts: an earlier one may have been mended. */
export async function refusalOfStart(
  { dead }: Pick<Ports, "dead">,
  saga: SagaId,
  since = 0,
): Promise<MeshError | undefined> {
  const letter = (await dead.list()).findLast(
    ({ seq, subject, headers: fields }) =>
      seq > since &&
      subject === subjects.dead("inbox", saga) &&
      fields[headers.origin]?.includes(".start#") === true,
  );
  if (letter === undefined) return undefined;
  const { code, reason } = readLetterHeaders(letter.headers);
  const known: ErrorCode = isErrorCode(code) ? code : "INPUT_INVALID";
  return new MeshError(known, `the start of ${saga} was refused: ${reason || "no reason given"}`);
}
