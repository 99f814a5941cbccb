/**
 * Refusal: why a start never became a saga, as the dead letters tell.
 */
import { type ErrorCode, isErrorCode, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import { readLetterHeaders } from "../dead-letter.ts";
import type { Ports } from "../ports.ts";

/** Undefined where none was set aside. The newest counts: an earlier one may have been mended since. */
export async function refusalOfStart(
  { dead }: Pick<Ports, "dead">,
  saga: SagaId,
): Promise<MeshError | undefined> {
  const letter = (await dead.list()).findLast(
    ({ subject, headers: fields }) =>
      subject === subjects.dead("inbox", saga) && fields[headers.origin]?.includes(".start#") === true,
  );
  if (letter === undefined) return undefined;
  const { code, reason } = readLetterHeaders(letter.headers);
  const known: ErrorCode = isErrorCode(code) ? code : "INPUT_INVALID";
  return new MeshError(known, `the start of ${saga} was refused: ${reason || "no reason given"}`);
}
