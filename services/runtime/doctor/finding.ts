/**
 * Finding: the words every judge has, and what a judge is given.
 */
import type { DoctorDocument, Finding } from "../../../protocol/documents/doctor.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Examination } from "../../nats/examine.ts";
import type { Durability } from "./durability.ts";

/** What the server said of itself on connecting. */
export interface AboutServer {
  readonly url: string;
  readonly embedded: boolean;
  /** No server ran for the folder; doctor started one to be able to look. */
  readonly startedToLook: boolean;
  readonly info:
    | {
        readonly version: string;
        readonly api_lvl?: number;
        readonly server_name: string;
        readonly cluster?: string;
        readonly jetstream?: boolean;
        readonly max_payload: number;
      }
    | undefined;
}

export type Judge = (
  document: DoctorDocument,
  examined: Examination,
  about: AboutServer,
  durability: Durability,
) => Finding[];

export const wrong = (code: string, what: string, remedy: string): Finding => ({
  severity: "wrong",
  code,
  what,
  remedy,
});
export const warning = (code: string, what: string, remedy: string): Finding => ({
  severity: "warning",
  code,
  what,
  remedy,
});
export const fine = (code: string, what: string): Finding => ({
  severity: "fine",
  code,
  what,
  remedy: "None.",
});
/** What is said, or that it is fine if there is nothing to say. */
export const orFine = (findings: Finding[], code: string, what: string): Finding[] =>
  findings.length > 0 ? findings : [fine(code, what)];

/** A queue whose head waits longer than this does not keep up. */
export const lagWarnMs = 10_000;
/** A message that comes back again and again for this long is no retry any more: twice the longest delay of one. */
export const stuckMs = 2 * limits.parkedDelayMs;

/** Whose, and for how long, where it is known. */
export const of = (saga: string | undefined, ageMs: number | undefined): string =>
  `${saga === undefined ? "" : `, saga ${saga}`}${ageMs === undefined ? "" : ` for ${span(ageMs)}`}`;

export const span = (ms: number): string =>
  ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;

/** What is said of sagas is said of those that were looked at. */
export const amongThem = ({ looked }: Pick<DoctorDocument, "looked">): string =>
  looked?.more === true ? ", of those that were looked at" : "";
