/**
 * Fail on: when a replay fails a check, in words for a command line.
 *
 *   different | outcome | policy | failed | stopped      any of it; with >N% more than that share
 *   cost+N% | tokens+N% | latency+N%                     more than the recorded, by more than N percent
 *
 * FN1 What cannot be known fails: a cost without prices, an outcome of a walk step by step.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Cost, ReplayDocument } from "../../protocol/documents/replay.ts";

const shares = ["different", "outcome", "policy", "failed", "stopped"] as const;
const amounts = ["cost", "tokens", "latency"] as const;

export type Condition =
  | { readonly share: (typeof shares)[number]; readonly over: number; readonly text: string }
  | { readonly amount: (typeof amounts)[number]; readonly over: number; readonly text: string };

/** Conditions as `--fail-on` takes them, several separated by commas. Throws USAGE. */
export function parseFailOn(words: readonly string[], mode: ReplayDocument["mode"]): Condition[] {
  return words
    .flatMap((word) => word.split(","))
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .map((text) => {
      const [, name = "", share, , more] =
        /^([a-z]+)(?:>(\d+(\.\d+)?)%|\+(\d+(?:\.\d+)?)%)?$/.exec(text) ?? [];
      const kind = shares.find((one) => one === name);
      if (kind !== undefined && more === undefined) {
        if (mode === "step-by-step" && (kind === "outcome" || kind === "stopped"))
          throw unusable(text, `${kind} is known only of a free run`, "Add --free, or leave it out.");
        return { share: kind, over: Number(share ?? 0), text };
      }
      const amount = amounts.find((one) => one === name);
      if (amount === undefined || more === undefined)
        throw unusable(text, "it is none of the conditions", grammar);
      return { amount, over: Number(more), text };
    });
}

export const grammar =
  "Use different, outcome, policy, failed or stopped, each with >N% for a share, or cost+N%, tokens+N%, latency+N%.";

const unusable = (text: string, why: string, remedy: string): MeshError =>
  new MeshError("USAGE", `--fail-on "${text}": ${why}`, { remedy });

/** One replayed saga, as far as a condition looks at it. */
export type Judged = Pick<
  ReplayDocument,
  "different" | "beyond" | "failed" | "outcome" | "fired" | "stopped" | "cost" | "agreement"
>;

/** Which of the conditions hold, each with what was found. Of several sagas a share is one of sagas. */
export function failedOn(conditions: readonly Condition[], documents: readonly Judged[]): string[] {
  return conditions.flatMap((condition) => {
    const found = "share" in condition ? overShare(condition, documents) : overAmount(condition, documents);
    return found === undefined ? [] : [`${condition.text}: ${found}`];
  });
}

const holds = {
  different: ({ different, beyond }: Judged) => different + beyond > 0,
  outcome: ({ outcome }: Judged) => outcome.equal !== true,
  policy: ({ fired }: Judged) => policiesDiffer(fired),
  failed: ({ failed }: Judged) => failed > 0,
  stopped: ({ stopped }: Judged) => stopped !== undefined,
} as const;

/** Whether other calls would have been refused, put before people or rewritten, or the same ones otherwise. */
export function policiesDiffer({ recorded, got }: ReplayDocument["fired"]): boolean {
  const said = (all: typeof got) =>
    all
      .map(({ type, name, why }) => `${type} ${name} ${why}`)
      .sort()
      .join("\n");
  return said(recorded) !== said(got);
}

function overShare(
  { share, over }: Extract<Condition, { share: string }>,
  documents: readonly Judged[],
): string | undefined {
  const [only] = documents;
  const isOne = documents.length === 1 && only !== undefined && share === "different" && over > 0;
  const [hit, of] = isOne
    ? [only.different + only.beyond, only.agreement.compared + only.beyond]
    : [documents.filter(holds[share]).length, documents.length];
  if (hit === 0 || (100 * hit) / of <= over) return undefined;
  return `${hit} of ${of} ${isOne ? "decisions" : documents.length === 1 ? "saga" : "sagas"}`;
}

function overAmount(
  { amount, over }: Extract<Condition, { amount: string }>,
  documents: readonly Judged[],
): string | undefined {
  const of = (side: "recorded" | "got") => documents.map(({ cost }) => amountOf(amount, cost[side]));
  const sum = (values: readonly (number | undefined)[]) =>
    values.some((value) => value === undefined)
      ? undefined
      : values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const [before, now] = [sum(of("recorded")), sum(of("got"))];
  if (before === undefined || now === undefined) return "it is not known of every call"; // FN1
  const limit = before * (1 + over / 100);
  return now > limit + 1e-9 ? `${rounded(now)} instead of ${rounded(before)}` : undefined;
}

const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;

function amountOf(amount: (typeof amounts)[number], cost: Cost): number | undefined {
  if (cost.calls === 0) return 0;
  if (amount === "tokens") return cost.inputTokens + cost.outputTokens;
  return amount === "latency" ? cost.latencyMs : cost.unpriced > 0 ? undefined : cost.usd;
}
