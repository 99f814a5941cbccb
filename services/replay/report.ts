/**
 * Report: the decisions of a replay, added up.
 */
import { canonicalJson, type Json } from "../../protocol/json.ts";
import type { Cost, DecisionDocument, Outcome, ReplayDocument } from "../../protocol/documents/replay.ts";
import { sumOfCosts } from "./cost.ts";
import type { Normalize } from "./normalize.ts";
import type { AnswerOrigins } from "./path.ts";
import type { Summed } from "./summed.ts";

export interface Reported extends Pick<
  ReplayDocument,
  "mode" | "model" | "variation" | "stopped" | "leftRecordAt"
> {
  readonly normalize: Normalize;
  /** Of a free run: itself, and where the answers to what it asked for came from. */
  readonly run?: { readonly summed: Summed; readonly origins: AnswerOrigins };
  /** Calls that decide nothing and cost all the same. */
  readonly others?: { readonly recorded: readonly Cost[]; readonly got: readonly Cost[] };
}

export function documentOf(
  recorded: Summed,
  decisions: readonly DecisionDocument[],
  { normalize, run, others, ...head }: Reported,
): ReplayDocument {
  const count = (verdict: DecisionDocument["verdict"]) =>
    decisions.filter((one) => one.verdict === verdict).length;
  const compared = decisions.filter((one) => one.agreement !== undefined);
  const agreeing = (test: (agreement: NonNullable<DecisionDocument["agreement"]>) => boolean) =>
    compared.filter(({ agreement }) => agreement !== undefined && test(agreement)).length;
  const diverged = decisions.find(({ verdict }) => verdict === "different" || verdict === "beyond");
  const firedOf = (side: "recorded" | "got") => compared.flatMap(({ fired }) => fired?.[side] ?? []);
  const leftOut = decisions.flatMap((one) => one.leftOut ?? []);
  return {
    saga: recorded.saga,
    definition: recorded.definition,
    ...head,
    same: count("same"),
    different: count("different"),
    skipped: count("skipped"),
    failed: count("failed"),
    beyond: count("beyond"),
    agreement: {
      compared: compared.length,
      sameOrder: agreeing(({ tools }) => tools === "order"),
      sameSet: agreeing(({ tools }) => tools !== "different"),
      sameArguments: agreeing((agreement) => agreement.arguments),
      exact: agreeing(({ exact }) => exact),
    },
    ...(diverged === undefined ? {} : { firstDivergence: diverged.intent }),
    outcome: outcomesOf(recorded, run?.summed, normalize),
    fired:
      run === undefined
        ? { recorded: firedOf("recorded"), got: firedOf("got") }
        : { recorded: [...recorded.fired], got: [...run.summed.fired] },
    cost: {
      recorded: sumOfCosts([...decisions.map(({ cost }) => cost?.recorded), ...(others?.recorded ?? [])]),
      got: sumOfCosts([...decisions.map(({ cost }) => cost?.got), ...(others?.got ?? [])]),
    },
    leftOut: sumOfBlocks(leftOut),
    decisions: [...decisions],
    path: { recorded: recorded.path(), got: run === undefined ? [] : run.summed.path(run.origins) },
  };
}

function sumOfBlocks(all: ReplayDocument["leftOut"]): ReplayDocument["leftOut"] {
  const reasons = [...new Set(all.map(({ because }) => because))];
  return reasons.map((because) => ({
    because,
    blocks: all.filter((one) => one.because === because).reduce((sum, { blocks }) => sum + blocks, 0),
  }));
}

function outcomesOf(
  { outcome: before }: Summed,
  got: Summed | undefined,
  normalize: Normalize,
): ReplayDocument["outcome"] {
  if (got === undefined) return { recorded: before };
  const now = got.outcome;
  const said = (outcome: Outcome) => [
    outcome.status,
    normalOutput(outcome.output, normalize),
    outcome.code ?? "",
  ];
  return { equal: canonicalJson(said(before)) === canonicalJson(said(now)), recorded: before, got: now };
}

/** An output is compared as the call that brings it: `--ignore finish.output.member`. */
const normalOutput = (output: Json | undefined, normalize: Normalize): Json =>
  output === undefined ? null : normalize("finish", { output });
