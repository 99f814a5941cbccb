/**
 * May issue: what may stand between a call and its intent, beside the policies: the budget, an equal call in doubt, an
 * approval that is missing. issue.ts asks in this order.
 */
import type { ErrorCode } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { Doubt, ProposedCall } from "../contract/state.ts";
import type { LineTerms } from "../contract/terms.ts";
import { approvalOf, termsFor } from "./asking.ts";
import { refusalOfCall } from "./budget.ts";
import { argumentsDigest, type Folding } from "./folding.ts";
import { agreement, type Callee, type Refusal, type Ruling } from "./judge.ts";
import { openingOf } from "./line.ts";

/** Why what is left of the budget does not allow it, or the shape of the tree. */
export function budgetRefusal(f: Folding, callee: Callee): { code: ErrorCode; reason: string } | undefined {
  if (callee.kind !== "tool") {
    const opening = openingOf(f, callee.name);
    return "code" in opening ? opening : undefined;
  }
  const reason = refusalOfCall(f);
  return reason === undefined ? undefined : { code: "BUDGET_EXCEEDED", reason };
}

/** The intent of an equal call that is in doubt. One that was undone holds up only sagas of former versions. */
export function equalDoubt(f: Folding, callee: Callee, input: Json): string | undefined {
  if (callee.kind !== "tool") return undefined;
  const isOver = (one: Doubt): boolean => one.undone === true && f.state.follows !== undefined;
  const doubts = Object.entries(f.state.doubts).filter(
    ([, one]) =>
      one.outcome === "in_doubt" && one.undoes === undefined && one.tool === callee.name && !isOver(one),
  );
  if (doubts.length === 0) return undefined;
  const digest = argumentsDigest(callee, input);
  return doubts.find(([, one]) => one.argumentsDigest === digest)?.[0];
}

/**
 * The first terms, of the policies and then of the tool, on which no human has agreed to exactly this call yet, and the
 * call as it will be once they have. No terms if nothing is missing.
 */
export function missingApproval(
  f: Folding,
  callee: Callee,
  { call, demands }: Ruling,
): Refusal | { terms: LineTerms | undefined; call: ProposedCall } {
  const granted = call.granted ?? [];
  const asked = demands.map(({ by, terms }) => termsFor(f.definition, `the policy ${by}`, terms));
  const own = callee.kind === "tool" ? [approvalOf(f.definition, callee, call.input)] : [];
  for (const terms of [...asked, ...own]) {
    if (typeof terms === "string") return { code: "CALL_INVALID", reason: terms };
    if (terms === false) continue;
    const yes = agreement(call, terms);
    if (!granted.includes(yes)) return { terms, call: { ...call, granted: [...granted, yes] } };
  }
  return { terms: undefined, call };
}
