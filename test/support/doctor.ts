/**
 * The doctor as tests ask it: its document as a program gets it, and what it found by code.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import { DoctorDocument as Schema } from "../../protocol/documents/doctor.ts";
import { readConfig } from "../../services/runtime/config.ts";
import { examine } from "../../services/runtime/doctor.ts";

/** Examines the mesh at this address. */
export const doctor = async (
  url: string,
  options: { monitors?: readonly string[]; deep?: boolean } = {},
): Promise<DoctorDocument> => {
  const { signal } = new AbortController();
  const document = await examine(readConfig({ server: url }, {}), {
    monitors: options.monitors,
    deep: options.deep,
    report: () => undefined,
    signal,
  });
  return Schema.parse(JSON.parse(JSON.stringify(document))); // As a program gets it.
};

/** The codes of what was found, of one severity. */
export const codes = (document: DoctorDocument, severity: "wrong" | "warning" | "fine" = "wrong"): string[] =>
  [...new Set(document.findings.filter((one) => one.severity === severity).map((one) => one.code))].sort();
/** What was said under a code. */
export const saying = (document: DoctorDocument, code: string): string =>
  document.findings
    .filter((one) => one.code === code)
    .map((one) => one.what)
    .join("\n");

/** Examines again and again, for a minute at most, until this holds. */
export async function lookUntil(
  url: string,
  holds: (document: DoctorDocument) => boolean,
): Promise<DoctorDocument> {
  for (const giveUpAt = Date.now() + 60_000; ;) {
    const document = await doctor(url);
    if (holds(document)) return document;
    if (Date.now() > giveUpAt) throw new Error(`it never held: ${JSON.stringify(document.findings)}`);
    await sleep(200);
  }
}
