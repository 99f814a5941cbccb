/**
 * Verdicts: what several of them come to. Pure.
 *
 * VS1 A refusal outweighs everything; not to know outweighs every yes. Where one yes is enough, the other way round.
 * VS2 What one of several says is kept beside what they come to, each with who said it and on what.
 */
import { canonicalJson, type Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type {
  ValidatorAnswer,
  VerdictChange,
  PartVerdict,
  ValidatorVerdict,
  VerdictKind,
} from "../../protocol/verdict.ts";

/** How verdicts are combined: every one must hold, one must, or the first that is no doubt counts. */
export type Mode = "all" | "any" | "tiered";

/** VS1. The first of these that any of them said is what they all come to. */
const outweighs: Record<"all" | "any", readonly VerdictKind[]> = {
  all: ["reject", "undecided", "augment", "feedback", "accept"],
  any: ["accept", "feedback", "augment", "undecided", "reject"],
};

/** Whether nothing that is still to be said can change what these come to. */
export function isSettled(mode: Mode, said: readonly ValidatorVerdict[]): boolean {
  if (mode === "all") return said.some(({ verdict }) => verdict === "reject");
  if (mode === "any") return said.some(({ verdict }) => verdict === "accept");
  return said.some(({ verdict }) => verdict !== "undecided");
}

/** What verdicts come to. Of none: undecided. */
export function combined(mode: Mode, said: readonly ValidatorVerdict[]): ValidatorAnswer {
  const kind =
    mode === "tiered"
      ? (said.find(({ verdict }) => verdict !== "undecided") ?? said.at(-1))?.verdict
      : outweighs[mode].find((one) => said.some(({ verdict }) => verdict === one));
  if (kind === undefined) return { verdict: "undecided", reason: "no validator was asked" };
  const counted = mode === "tiered" ? said.filter(({ verdict }) => verdict === kind) : said;
  const leading = counted.filter(({ verdict }) => verdict === kind);
  const findings = counted.flatMap((one) => one.findings ?? []).slice(0, limits.findingsMax);
  const shares = Object.assign({}, ...said.map((one) => one.shares ?? {})) as Record<string, Json>;
  const common = {
    ...(findings.length === 0 ? {} : { findings }),
    ...(Object.keys(shares).length === 0 ? {} : { shares }),
  };
  const reason = reasonsOf(leading);
  switch (kind) {
    case "accept":
      return { verdict: "accept", ...common };
    case "augment":
      return withChanges(leading, reason, common);
    case "undecided": {
      const code = leading
        .map((one) => ("code" in one ? one.code : undefined))
        .find((one) => one !== undefined);
      return { verdict: "undecided", reason, ...(code === undefined ? {} : { code }), ...common };
    }
    case "reject":
    case "feedback":
      return { verdict: kind, reason, ...common };
  }
}

function reasonsOf(said: readonly ValidatorVerdict[]): string {
  const reasons = said.map(({ validator, reason }) => `${validator}: ${reason ?? "no reason was given"}`);
  return reasons.join("; ").slice(0, limits.reasonLengthMax);
}

/** Changes of several at once; two that make different things of one place are refused. */
function withChanges(
  said: readonly ValidatorVerdict[],
  reason: string,
  common: Pick<ValidatorAnswer, "findings" | "shares">,
): ValidatorAnswer {
  const changes: VerdictChange[] = [];
  for (const one of said)
    for (const change of one.verdict === "augment" ? one.changes : []) {
      const same = changes.find(({ at }) => at === change.at);
      if (same === undefined) changes.push(change);
      else if (canonicalJson(same.to) !== canonicalJson(change.to))
        return {
          verdict: "undecided",
          reason: `two validators make different things of "${change.at}": ${reason}`.slice(
            0,
            limits.reasonLengthMax,
          ),
          ...common,
        };
    }
  return { verdict: "augment", reason, changes: changes.slice(0, limits.changesMax), ...common };
}

/** VS2. The leaves of these verdicts, in order. */
export const partsOf = (said: readonly ValidatorVerdict[]): PartVerdict[] =>
  said.flatMap((one) => one.parts ?? [partOf(one)]);

function partOf(one: ValidatorVerdict): PartVerdict {
  const { validator, type, by, shown, verdict, reason } = one;
  const code = one.verdict === "undecided" ? one.code : undefined;
  return {
    validator,
    ...(type === undefined ? {} : { type }),
    ...{ by, shown, verdict },
    ...(reason === undefined ? {} : { reason }),
    ...(code === undefined ? {} : { code }),
  };
}
