/**
 * Repaired: what `repair` says of ledgers.
 */
import type { RepairDocument, RepairMessage } from "../../../protocol/documents/repair.ts";
import { table } from "../frame/table.ts";

/** One ledger: what is foreign there and what became of it, and what removing does not mend. */
export function repairText(document: RepairDocument): string {
  const { saga, turns, archived, would, removed, kept, rewritten, first, broken } = document;
  const count = would + removed + kept;
  const stand = archived ? "archived" : numbered(turns, "turn");
  const lines = [
    `${saga}: ${stand}, and ${count === 0 ? "nothing else" : `${numbered(count, "message")} that ${count === 1 ? "is" : "are"} none`}`,
  ];
  if (count > 0)
    lines.push(table(["SEQUENCE", "STORED", "BYTES", "BEGINS", "IS NO TURN", "IS"], first.map(rowOf)));
  if (count > first.length) lines.push(`and ${count - first.length} more`);
  if (would > 0) lines.push(`${numbered(would, "message")} would be removed; --yes does it`);
  if (removed > 0)
    lines.push(
      `${numbered(removed, "message")} removed${rewritten === 0 ? "" : `; ${numbered(rewritten, "turn")} written again`}`,
    );
  if (kept > 0 && broken === undefined)
    lines.push(
      `${numbered(kept, "message")} kept: compare with a backup; --also SEQUENCE names one that no host wrote`,
    );
  if (broken !== undefined)
    lines.push(`not repaired: [${broken.code}] ${broken.what}`, `remedy: ${broken.remedy}`);
  return lines.join("\n");
}

const rowOf = ({ seq, at, bytes, begins, why, fate, because }: RepairMessage): string[] => [
  String(seq),
  new Date(at).toISOString(),
  String(bytes),
  begins,
  why,
  because === undefined ? words[fate] : `${words[fate]}: ${because}`,
];

const words: Readonly<Record<RepairMessage["fate"], string>> = {
  would: "to be removed",
  removed: "removed",
  kept: "kept",
};

/** All that were looked at. */
export function totalText(looked: number, all: readonly RepairDocument[]): string {
  const sum = (of: "would" | "removed" | "kept") => all.reduce((total, one) => total + one[of], 0);
  const [would, removed, kept] = [sum("would"), sum("removed"), sum("kept")];
  const counts = [
    ...(would > 0 ? [`${numbered(would, "message")} would be removed; --yes does it`] : []),
    ...(removed > 0 ? [`${numbered(removed, "message")} removed`] : []),
    ...(kept > 0 ? [`${numbered(kept, "message")} kept`] : []),
  ];
  return `looked at ${numbered(looked, "saga")}: ${counts.join(", ") || "nothing but turns"}`;
}

const numbered = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
