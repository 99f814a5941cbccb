/**
 * Children: the sagas that a saga has started, as its own ledger tells of them.
 */
import type { ChildDocument } from "../../protocol/documents/intent.ts";
import type { IntentView } from "./view.ts";

/** In the order in which they were started. */
export const childrenOf = (intents: readonly IntentView[]): ChildDocument[] =>
  intents.flatMap(({ intent, outcome, reason, inLine }) =>
    intent.kind === "saga" && intent.undoes === undefined
      ? [
          {
            ...{ saga: intent.saga, name: intent.name, intent: intent.id },
            ...(inLine === undefined ? {} : { inLine }),
            ...(outcome === undefined ? {} : { outcome }),
            ...(reason === undefined ? {} : { reason }),
          },
        ]
      : [],
  );

/** The place of one that waits for its turn, in words. */
export const describePlace = (inLine: number): string => `in line (${inLine}${suffixOf(inLine)})`;

/** As a place is said: 1st, 12th, 22nd. */
function suffixOf(place: number): string {
  const isTeen = place % 100 > 10 && place % 100 < 14;
  return (isTeen ? undefined : ["st", "nd", "rd"][(place % 10) - 1]) ?? "th";
}

/** A row that may have a parent among the others. */
interface Born {
  readonly saga: string;
  readonly parent?: { readonly saga: string } | undefined;
}

/**
 * The same rows as trees: each behind its parent and one deeper, brothers in the order given. One whose parent is not
 * among them stands at the top. Ids are hashes of the parent's, so no row is its own ancestor; should a ledger say
 * otherwise, its rows stand at the top too.
 */
export function inTrees<T extends Born>(rows: readonly T[]): { readonly row: T; readonly depth: number }[] {
  const known = new Set(rows.map(({ saga }) => saga));
  const below = new Map<string, T[]>();
  const tops: T[] = [];
  for (const row of rows) {
    const parent = row.parent?.saga;
    if (parent === undefined || !known.has(parent)) tops.push(row);
    else below.set(parent, [...(below.get(parent) ?? []), row]);
  }
  const told: { row: T; depth: number }[] = [];
  const seen = new Set<T>();
  for (const top of [...tops, ...rows]) {
    const stack = seen.has(top) ? [] : [{ row: top, depth: 0 }];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      if (seen.has(next.row)) continue;
      seen.add(next.row);
      told.push(next);
      const { row, depth } = next;
      stack.push(
        ...(below.get(row.saga) ?? []).toReversed().map((child) => ({ row: child, depth: depth + 1 })),
      );
    }
  }
  return told;
}
