/** What is wrong with the room that is left to store in. Pure. */
import type { MeshError } from "../../../protocol/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Finding } from "../../../protocol/documents/doctor.ts";
import { fine, type Judge, warning, wrong } from "./finding.ts";

const lowWarn = 0.8;
const lowWrong = 0.95;

export const judgeStorage: Judge = (...looked) => [...full(looked[1].full), ...account(...looked)];

/** One finding for what has one cause: on a full disk stream after stream fails to write. */
function full(errors: readonly MeshError[]): Finding[] {
  const [first, ...others] = errors;
  if (first === undefined) return [];
  const more =
    others.length === 0
      ? ""
      : `, and ${others.length} other stream${others.length === 1 ? "" : "s"} likewise`;
  return [
    wrong("STORAGE_FULL", `${first.message.replace(/^\[\w+\] /, "")}${more}: every saga waits`, first.remedy),
  ];
}

const account: Judge = (_document, { account: used }) => {
  if (used?.storageMax === undefined) return [];
  const share = used.storage / used.storageMax;
  const what = `${Math.round(share * 100)} % of the account's storage is used (${used.storage} of ${used.storageMax} bytes)`;
  const remedy =
    "Raise the account's `max_file`, or archive ended sagas; when it is full nothing is stored and every saga waits.";
  if (used.storageMax - used.storage < limits.inlineBytesMax && share >= lowWrong)
    return [wrong("STORAGE_FULL", `the account's limit is reached: ${what}`, remedy)];
  if (share >= lowWrong) return [wrong("STORAGE_LOW", what, remedy)];
  return share >= lowWarn ? [warning("STORAGE_LOW", what, remedy)] : [fine("STORAGE", what)];
};
