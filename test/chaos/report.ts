/** Report: what a run comes to, in figures. Pure: the evidence and the verdict in. */
import { defineApp } from "../../services/app/app.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import { contractDigest } from "../../actors/contract/contract-digest.ts";
import { tools, undoTools } from "../simulation/contracts.ts";
import { errand, journey, planner } from "../simulation/sagas.ts";
import type { Evidence } from "./evidence.ts";
import { codeOf } from "./oracle.ts";
import type { Violation } from "./violation.ts";
import { measureRecovery, type Recovery } from "./recovery.ts";

export interface Report {
  readonly seed: number;
  readonly seconds: number;
  readonly settledAfterMs: number;
  readonly sagas: { readonly begun: number; readonly [status: string]: number };
  readonly turns: number;
  /** By effect class: how often the outside was asked, what it did, how often it was asked again. */
  readonly effects: Readonly<Record<string, { asked: number; performed: number; again: number }>>;
  /** Recorded as in doubt, corrected or not. */
  readonly doubts: number;
  readonly compensations: number;
  /** By what was done to whom. */
  readonly blows: Readonly<Record<string, number>>;
  readonly failedStarts: number;
  readonly duplicates: number;
  readonly losses: number;
  readonly inputs: number;
  readonly letters: Readonly<Record<string, number>>;
  readonly recovery: readonly Recovery[];
  /** Strikes by attack. */
  readonly attacks: Readonly<Record<string, number>>;
  /** Letters of what attackers sent, by code. */
  readonly lettersOfAttacks: Readonly<Record<string, number>>;
  readonly linearity: Evidence["linearity"];
  /** The longest that an event loop was held by its process's own work. */
  readonly heldMs: number;
  readonly violations: readonly Violation[];
  /** Of the proofs, those that were not found. */
  readonly unfound: readonly string[];
  /** Where everything is kept, if it is. */
  readonly folder: string | undefined;
}

export type Measured = Pick<
  Report,
  "seconds" | "settledAfterMs" | "failedStarts" | "violations" | "unfound" | "folder"
>;

const app = defineApp({ sagas: [journey, errand, planner] });

export function reportOf(evidence: Evidence, measured: Measured): Report {
  const { seed, ledgers, acts, asked, strikes, dead, inputs } = evidence;
  const byClass = Map.groupBy(asked, ({ effect }) => effect);
  const performed = (effect: string) => acts.filter((act) => act.effect === effect).length;
  return {
    ...{ seed, ...measured, inputs: inputs.length },
    sagas: { begun: ledgers.size, ...count([...ledgers.values()].map(statusOf)) },
    turns: [...ledgers.values()].reduce((sum, turns) => sum + turns.length, 0),
    effects: Object.fromEntries(
      [...byClass].map(([effect, all]) => {
        const keys = new Set(all.map(({ key }) => key)).size;
        return [effect, { asked: all.length, performed: performed(effect), again: all.length - keys }];
      }),
    ),
    doubts: [...ledgers.values()]
      .flat()
      .flatMap(({ turn }) => turn.steps)
      .filter(({ event }) => event.type === "result" && event.result.outcome === "in_doubt").length,
    compensations: acts.filter(({ undoes }) => undoes !== undefined).length,
    blows: count(
      strikes.map(({ blow, landed }) =>
        landed ? `${blow.victim.kind} ${blow.deed.do}` : `${blow.victim.kind} passed over`,
      ),
    ),
    duplicates: measured.violations.filter(({ promise }) => promise === "P1").length,
    losses: measured.violations.filter(({ promise, what }) => promise === "P2" && what.startsWith("lost"))
      .length,
    letters: count(dead.map(codeOf)),
    attacks: Object.fromEntries(evidence.struck.map(({ attack, strikes: n }) => [attack.name, n])),
    lettersOfAttacks: count(evidence.attacked.dead.map(codeOf)),
    linearity: evidence.linearity,
    heldMs: Math.max(0, ...[...evidence.beats.values()].flat().map(({ heldMs }) => heldMs)),
    recovery: measureRecovery({
      ...{ ledgers, strikes },
      definitionOf: (hash) => app.definitions.find((one) => one.hash === hash),
      placementOf: (contract) => placements.get(contract) ?? "worker",
    }),
  };
}

const placements = new Map(
  [...Object.values(tools), ...undoTools].map((tool) => [contractDigest(tool), tool.placement]),
);

const statusOf = (turns: readonly StoredTurn[]): string =>
  turns
    .flatMap(({ turn }) => turn.steps)
    .flatMap(({ intents }) => intents)
    .findLast((intent) => intent.kind === "end")?.status ?? "running";

const count = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(names, (name) => name)]
      .map(([name, all]) => [name, all.length] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

/** The report for a person. */
export function describeReport(report: Report): string {
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, n]) => `${n} ${name}`)
      .join(", ") || "none";
  const lines = [
    `seed ${report.seed}: ${(report.seconds / 60).toFixed(1)} minutes, at rest ${(report.settledAfterMs / 1000).toFixed(1)} s after the last blow`,
    `sagas       ${list(report.sagas)}; ${report.turns} turns, ${report.inputs} inputs`,
    ...Object.entries(report.effects).map(
      ([effect, { asked, performed, again }]) =>
        `effects     ${effect.padEnd(10)} asked ${asked}, performed ${performed}, asked again under the same key ${again}`,
    ),
    `            ${report.compensations} compensations, ${report.doubts} recorded as in doubt`,
    `blows       ${list(report.blows)}; ${report.failedStarts} starts that failed and were repeated`,
    `duplicates  ${report.duplicates}`,
    `losses      ${report.losses}; letters: ${list(report.letters)}`,
    `attacks     ${list(report.attacks)} strikes; letters: ${list(report.lettersOfAttacks)}`,
    `histories   ${describeLinearity(report.linearity)}`,
    `loops       held for at most ${report.heldMs} ms`,
    ...report.recovery.map(
      ({ after, blows, all, undisturbed }) =>
        `recovery    ${after.padEnd(14)} ${String(blows).padStart(4)} blows  ${figures(all)}; undisturbed ${figures(undisturbed)}`,
    ),
  ];
  return lines.join("\n");
}

function describeLinearity(linearity: Report["linearity"]): string {
  if (!("objects" in linearity)) return `not judged: ${linearity.missing}`;
  const { objects, operations, unknown, broken, late, undecided, ms } = linearity;
  const kinds = Object.entries(operations).map(([kind, n]) => `${n} ${kind}`);
  return (
    `${kinds.join(", ")} operations on ${objects} objects, ${unknown} of unknown outcome, judged in ${ms} ms: ` +
    `${broken.length} not linearizable, ${undecided.length} undecided, ${late.length} with an answer of a deposed leader`
  );
}

const figures = ({ sagas, p50Ms, p99Ms, maxMs }: Recovery["all"]): string =>
  sagas === 0 ? "no saga" : `${sagas} sagas p50 ${p50Ms} p99 ${p99Ms} max ${maxMs} ms`;
