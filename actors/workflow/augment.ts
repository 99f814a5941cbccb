/**
 * Augment: a validator's changes to what it judged, bounded by a budget of the workflow that asked.
 *
 * AU1 All changes of a verdict are made or none.
 * AU2 How much a change is, is counted and not believed: between two numbers it is their difference, and a change
 *     that says less is refused.
 * AU3 What is changed is judged again by everybody; an item is changed a bounded number of times.
 */
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { VerdictChange } from "../../protocol/verdict.ts";
import { replacedAt } from "../values/pick.ts";
import { atPointer, isPointer } from "../values/reference.ts";

/** What validators may change. Nothing unless a unit is named. */
export interface AugmentBudget {
  /** By unit, how much in all, over the whole workflow. */
  readonly units: Readonly<Record<string, number>>;
  /** Only below these places of an item (JSON pointers); anywhere unless given. */
  readonly under?: readonly string[];
  /** How often one item is changed; 3 unless given. */
  readonly times?: number;
  /** What is over the budget: refused (`reject`, the default), or put before people as it is. */
  readonly over?: "reject" | "ask";
}

/** What was used of it, by unit. */
export type Augmented = Readonly<Record<string, number>>;

/** AU1. The item with the changes and what they used, or why not. */
export function augmented(
  item: Json,
  changes: readonly VerdictChange[],
  budget: AugmentBudget | undefined,
  used: Augmented = {},
): { item: Json; used: Augmented } | { refused: string } {
  if (budget === undefined) return { refused: "no budget allows a change" };
  let [next, sum] = [item, used];
  for (const change of changes) {
    const refused = refusalOf(next, change, budget);
    if (refused !== undefined) return { refused };
    const { unit, amount } = change;
    const total = (Object.hasOwn(sum, unit) ? (sum[unit] ?? 0) : 0) + amount;
    const most = Object.hasOwn(budget.units, unit) ? (budget.units[unit] ?? 0) : 0;
    if (total > most)
      return {
        refused: `"${change.what}" takes ${amount} ${unit}, and ${most - (total - amount)} of ${most} are left`,
      };
    const changed = replacedAt(next, change.at, change.to);
    if (changed === undefined) return { refused: `there is no place "${change.at}"` };
    next = changed;
    sum = { ...sum, [unit]: total };
  }
  return { item: next, used: sum };
}

/** AU2. */
function refusalOf(item: Json, change: VerdictChange, { under }: AugmentBudget): string | undefined {
  const { at: place, to, amount, what } = change;
  if (!isPointer(place)) return `"${place}" is no JSON pointer`;
  if (under !== undefined && !under.some((one) => place === one || place.startsWith(`${one}/`)))
    return `"${what}" changes "${place}", and only what is under ${under.join(", ")} may be changed`;
  const before = atPointer(item, place);
  if (typeof before !== "number" || typeof to !== "number") return undefined;
  const real = Math.abs(to - before);
  return real > amount ? `"${what}" says ${amount} and is ${real}` : undefined;
}

/** How often one item may be changed. */
export const timesOf = (budget: AugmentBudget | undefined): number =>
  budget?.times ?? limits.augmentationsMax;

/** What is wrong with a budget of changes. */
export function augmentFaults(where: string, budget: AugmentBudget | undefined): string[] {
  if (budget === undefined) return [];
  const { units, under = [], times } = budget;
  return [
    ...Object.entries(units)
      .filter(([, most]) => !(most >= 0 && most <= Number.MAX_SAFE_INTEGER))
      .map(([unit, most]) => `${where}: ${most} ${unit} are no bound of changes`),
    ...under.filter((one) => !isPointer(one)).map((one) => `${where}: "${one}" is no JSON pointer`),
    ...(times === undefined || (Number.isInteger(times) && times >= 1)
      ? []
      : [`${where}: an item is changed ${times} times, not a whole number from 1`]),
  ];
}
