/**
 * Waits: sagas that wait for a signal without a deadline, and for long. Pure.
 *
 * WX1 Who could send a signal is not known to a mesh: any program and any person with access may. So a long wait is told
 *     of as a warning, whatever it waits for, and a saga that is meant to wait for weeks is named, too.
 */
import type { AwaitedDocument } from "../../../protocol/documents/saga.ts";
import type { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { briefDefinition } from "../../../protocol/definition-text.ts";
import type { DefinitionRef } from "../../../protocol/event.ts";
import { limits } from "../../../protocol/limits.ts";
import { amongThem, fine, type Judge, span, warning } from "./finding.ts";

/** Sagas that are named of each group. */
const someMax = 3;

/** A living saga as far as it tells of a wait. */
interface Waiting {
  readonly saga: string;
  readonly definition: DefinitionRef;
  readonly awaits?: AwaitedDocument;
  readonly updatedAt: number;
}

/** Those that only a signal moves on, by definition and signals. `signalsOf` tells what a definition declares. */
export function waitsOf(
  living: readonly Waiting[],
  now: number,
  signalsOf: (ref: DefinitionRef) => readonly string[] | undefined,
): NonNullable<DoctorDocument["waits"]> {
  const waiting = living
    .flatMap(({ saga, definition, awaits, updatedAt }) => {
      if (awaits === undefined) return [];
      const signals = awaits.signals ?? signalsOf(definition);
      return [{ saga, definition, updatedAt, ...(signals === undefined ? {} : { signals: [...signals] }) }];
    })
    .sort((a, b) => a.updatedAt - b.updatedAt);
  const groups = Map.groupBy(waiting, ({ definition: { name, hash }, signals }) =>
    JSON.stringify([name, hash, signals]),
  );
  return [...groups.values()].flatMap((sagas) => {
    const [first] = sagas;
    if (first === undefined) return [];
    const { definition, signals, updatedAt } = first;
    return [
      {
        definition,
        ...(signals === undefined ? {} : { signals }),
        sagas: sagas.length,
        some: sagas.slice(0, someMax).map(({ saga }) => saga),
        longestMs: Math.max(0, Math.round(now - updatedAt)),
      },
    ];
  });
}

/** WX1. */
export const judgeWaits: Judge = (document) => {
  const { waits } = document;
  if (waits === undefined) return [];
  const findings = waits.map(({ definition, signals, sagas, some, longestMs }) =>
    warning(
      "SIGNAL_AWAITED",
      `${sagas} saga${sagas === 1 ? "" : "s"} of ${briefDefinition(definition)} ${sagas === 1 ? "waits" : "wait"} for ${named(signals)}, without a deadline, for up to ${span(longestMs)}: ${some.join(", ")}${sagas > some.length ? ", …" : ""}`,
      `If its sender is known, nothing is to be done. Else send it: \`sagamesh signal SAGA ${signals?.[0] ?? "NAME"} JSON\`; or end the saga: \`sagamesh cancel SAGA\`. So that it does not happen again, let the wait have a time: \`forMs\` of an agent's wait, \`after\` of a state.`,
    ),
  );
  const long = `longer than ${span(limits.signalAwaitedMs)}`;
  return findings.length > 0
    ? findings
    : [fine("WAITS", `no saga waits for a signal without a deadline for ${long}${amongThem(document)}`)];
};

function named(signals: readonly string[] | undefined): string {
  if (signals === undefined) return "a signal";
  const last = signals.at(-1);
  if (last === undefined) return "a signal, of which its definition declares none";
  return `signal ${[signals.slice(0, -1).join(", "), last].filter((text) => text !== "").join(" or ")}`;
}
