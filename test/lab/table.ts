/**
 * Table: the runs of the lab as a person reads them, in deploy/runbook.md between two markers.
 *
 * LT1 A row is of one fault on so many servers, and says when and on what machine it was run, or that it was not; a run
 *     replaces its row and leaves all others as they are.
 */
import type { Fault } from "./fault.ts";
import type { Outcome } from "./run-fault.ts";

const begin = "<!-- made: lab -->";
const end = "<!-- /made: lab -->";

const columns = [
  ...["fault", "servers", "twice", "lost", "standing", "said first", "doctor", "first effect", "stood still"],
  ...["then", "run"],
] as const;

/** A row by its columns' order; the first two name it. */
export type Row = readonly string[];

const seconds = (ms: number | undefined): string => (ms === undefined ? "" : `${(ms / 1_000).toFixed(1)} s`);

/** `run`: the day and the machine. */
export function rowOf({ fault, servers, verdict }: Outcome, { remedyIs }: Fault, run: string): Row {
  const { twice, lost, standing, named, bereft, allIsWell, firstWord, doctorsWord, effects, sagas } = verdict;
  return [
    ...[fault, String(servers)],
    twice.once + twice.probe + twice.idempotent === 0
      ? `none of ${effects}`
      : `once ${twice.once}, probe ${twice.probe}, two keys ${twice.idempotent} of ${effects}`,
    lost.sagas + lost.turns + lost.inputs === 0
      ? "none"
      : `sagas ${lost.sagas}, cut short ${lost.turns}, inputs ${lost.inputs}`,
    standing === 0
      ? `none of ${sagas}`
      : `${standing} of ${sagas}, ${named} named${bereft === 0 ? "" : `, ${bereft} for want of a lost input`}${allIsWell ? ", all is well" : ""}`,
    firstWord === undefined ? "" : `${firstWord.word} by ${firstWord.by}, ${seconds(firstWord.afterMs)}`,
    doctorsWord === undefined ? "" : `${doctorsWord.word}, ${seconds(doctorsWord.afterMs)}`,
    ...[seconds(verdict.firstEffectMs), seconds(verdict.stillMs), remedyIs ?? "nothing"],
    `${run}${verdict.holds ? "" : ", does not hold"}`,
  ];
}

/** Of a fault that this machine cannot make. */
export const skippedRow = (name: string, size: number, why: string, run: string): Row => [
  ...[name, String(size), `skipped: ${why}`],
  ...columns.slice(3, -1).map(() => ""),
  run,
];

export function readRows(runbook: string): Row[] {
  const made = runbook.split(begin)[1]?.split(end)[0];
  if (made === undefined) throw new Error(`the runbook has no ${begin}`);
  const lines = made.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** A row that the table must have. */
export interface Due {
  readonly fault: string;
  readonly servers: number;
}

/** The rows of all faults, in the order of the table. */
export const dueRows = (faults: readonly Fault[]): Due[] =>
  faults.flatMap(({ name, sizes = [1, 3] }) => sizes.map((servers) => ({ fault: name, servers })));

export const notYetRun = "not yet run";

/** The runbook with these rows in place of those of the same name (LT1), one for each that is due and no other. */
export function withRows(runbook: string, rows: readonly Row[], due: readonly Due[]): string {
  const all = new Map([...readRows(runbook), ...rows].map((row) => [`${row[0]} ${row[1]}`, row]));
  const made = due.map(
    ({ fault, servers }) =>
      all.get(`${fault} ${servers}`) ?? [
        fault,
        String(servers),
        notYetRun,
        ...columns.slice(3).map(() => ""),
      ],
  );
  const lines = [columns, columns.map(() => "---"), ...made];
  const [before = ""] = runbook.split(begin);
  const after = runbook.split(end)[1] ?? "";
  return `${before}${begin}\n\n${lines.map((row) => `| ${row.join(" | ")} |`).join("\n")}\n\n${end}${after}`;
}
