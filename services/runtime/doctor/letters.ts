/** Dead letters by the reason they were set aside for, the newest first. */
import type { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { readLetterHeaders } from "../../wire/dead-letter.ts";
import type { StoredMessage } from "../../wire/ports.ts";

export function lettersByCode(letters: readonly StoredMessage[]): DoctorDocument["deadByCode"] {
  const groups = new Map<string, DoctorDocument["deadByCode"][number]>();
  for (const letter of letters) {
    const { code, origin } = readLetterHeaders(letter.headers);
    const source = letter.subject.split(".")[1] ?? "";
    const key = `${source} ${code}`;
    const before = groups.get(key);
    groups.delete(key); // They come oldest first: the last to be set is the newest.
    groups.set(key, {
      code,
      source,
      count: (before?.count ?? 0) + 1,
      newestAt: letter.storedAt,
      newestSubject: origin || letter.subject,
    });
  }
  return [...groups.values()].reverse();
}
