/**
 * Report: the decisions of a replay, added up.
 */
import type { IntentOf } from "../../protocol/intent.ts";
import { canonicalJson, type Json } from "../../protocol/json.ts";
import type { Cost, DecisionDocument, Outcome, ReplayDocument } from "../../protocol/documents/replay.ts";
import type { Turn } from "../../protocol/turn.ts";
import { presentDefinition } from "../../actors/kernel/replay.ts";
import { sumOfCosts } from "./cost.ts";
import { firedInTurns } from "./fired.ts";
import type { Normalize } from "./normalize.ts";
import { type AnswerOrigins, pathOf } from "./path.ts";

export interface Reported extends Pick<
  ReplayDocument,
  "mode" | "model" | "variation" | "stopped" | "leftRecordAt"
> {
  readonly normalize: Normalize;
  /** Of a free run: its own turns, and where the answers to what it asked for came from. */
  readonly run?: { readonly turns: readonly Turn[]; readonly origins: AnswerOrigins };
  /** Calls that decide nothing and cost all the same. */
  readonly others?: { readonly recorded: readonly Cost[]; readonly got: readonly Cost[] };
}

export function documentOf(
  turns: readonly Turn[],
  decisions: readonly DecisionDocument[],
  { normalize, run, others, ...head }: Reported,
): ReplayDocument {
  const [first] = turns as [Turn, ...Turn[]]; // Proof: decisions are only there once a definition was found in it.
  const count = (verdict: DecisionDocument["verdict"]) =>
    decisions.filter((one) => one.verdict === verdict).length;
  const compared = decisions.filter((one) => one.agreement !== undefined);
  const agreeing = (test: (agreement: NonNullable<DecisionDocument["agreement"]>) => boolean) =>
    compared.filter(({ agreement }) => agreement !== undefined && test(agreement)).length;
  const diverged = decisions.find(({ verdict }) => verdict === "different" || verdict === "beyond");
  const firedOf = (side: "recorded" | "got") => compared.flatMap(({ fired }) => fired?.[side] ?? []);
  const leftOut = decisions.flatMap((one) => one.leftOut ?? []);
  return {
    saga: first.saga,
    definition: presentDefinition(turns),
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
    outcome: outcomesOf(turns, run?.turns, normalize),
    fired:
      run === undefined
        ? { recorded: firedOf("recorded"), got: firedOf("got") }
        : { recorded: firedInTurns(turns), got: firedInTurns(run.turns) },
    cost: {
      recorded: sumOfCosts([...decisions.map(({ cost }) => cost?.recorded), ...(others?.recorded ?? [])]),
      got: sumOfCosts([...decisions.map(({ cost }) => cost?.got), ...(others?.got ?? [])]),
    },
    leftOut: sumOfBlocks(leftOut),
    decisions: [...decisions],
    path: { recorded: pathOf(turns), got: run === undefined ? [] : pathOf(run.turns, run.origins) },
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
  recorded: readonly Turn[],
  got: readonly Turn[] | undefined,
  normalize: Normalize,
): ReplayDocument["outcome"] {
  const before = outcomeOf(recorded);
  if (got === undefined) return { recorded: before };
  const now = outcomeOf(got);
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

/** The first end counts: what a parent has undone later is another story. */
function outcomeOf(turns: readonly Turn[]): Outcome {
  const ends = turns.flatMap(({ steps }) =>
    steps.flatMap(({ intents }) => intents.filter((one): one is IntentOf<"end"> => one.kind === "end")),
  );
  const [end] = ends;
  if (end === undefined) return { status: "running" };
  const { status, output, code, reason } = end;
  return {
    status,
    ...(output === undefined ? {} : { output }),
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason }),
  };
}
