/**
 * Batch report: what a run over many sagas came to, with how far each figure may be trusted.
 */
import { createHash } from "node:crypto";
import type { SagaId } from "../../protocol/ids.ts";
import {
  type Mean,
  type Rate,
  type ReplayDocument,
  ReplayedOrFault,
  type ReplayedSaga,
  type ReplayRunDocument,
} from "../../protocol/documents/replay.ts";
import type { Turn } from "../../protocol/turn.ts";
import { recordedCalls } from "../ledger/recorded-results.ts";
import { replayOne } from "./batch.ts";
import { sumOfCosts } from "./cost.ts";
import { type Condition, failedOn, policiesDiffer } from "./fail-on.ts";
import { meanOf, rateOf } from "./interval.ts";

/** What the run keeps of one saga. */
export const keptOf = ({ saga, outcome, fired, ...document }: ReplayDocument): ReplayedSaga => ({
  saga,
  same: document.same,
  different: document.different,
  skipped: document.skipped,
  failed: document.failed,
  beyond: document.beyond,
  agreement: document.agreement,
  ...(document.firstDivergence === undefined ? {} : { firstDivergence: document.firstDivergence }),
  ...(document.stopped === undefined ? {} : { stopped: document.stopped }),
  cost: document.cost,
  outcome: {
    ...(outcome.equal === undefined ? {} : { equal: outcome.equal }),
    recorded: { status: outcome.recorded.status },
    ...(outcome.got === undefined ? {} : { got: { status: outcome.got.status } }),
  },
  policiesDiffer: policiesDiffer(fired),
});

/** The same sagas for the same seed, whatever order they come in; one that is added later displaces few. */
export const sampleBySeed = (sagas: readonly SagaId[], count: number, seed: string): SagaId[] =>
  sagas
    .map((saga) => [createHash("sha256").update(`${seed}:${saga}`).digest("hex"), saga] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, count)
    .map(([, saga]) => saga);

export interface RunHead extends Pick<
  ReplayRunDocument,
  "run" | "mode" | "model" | "query" | "seed" | "meant" | "sampled" | "folder" | "unreadable"
> {
  readonly conditions: readonly Condition[];
}

/** Of the run's own ledger, ended or not. */
export function runDocument(turns: readonly Turn[], { conditions, ...head }: RunHead): ReplayRunDocument {
  const results = recordedCalls(turns).filter(({ name }) => name === replayOne.name);
  const kept = results.flatMap(({ result, input }): ReplayedOrFault[] => {
    if (result.outcome === "succeeded") return [ReplayedOrFault.parse(result.output)];
    const { saga } = replayOne.input.parse(input);
    return [{ saga, fault: { code: result.code, message: result.reason } }];
  });
  const sagas = kept.filter((one): one is ReplayedSaga => !("fault" in one));
  const faults = kept.flatMap((one) => ("fault" in one ? [{ saga: one.saga, ...one.fault }] : []));
  const end = turns
    .at(-1)
    ?.steps.flatMap(({ intents }) => intents)
    .find(({ kind }) => kind === "end");
  const output = end?.kind === "end" ? (end.output as { stopped?: string } | undefined) : undefined;
  const missing = head.sampled - kept.length;
  const failed = failedOn(conditions, sagas.map(judgedAs));
  const stopped = output?.stopped ?? (end === undefined && missing > 0 ? "it has not ended" : undefined);
  return {
    ...head,
    ...{ done: sagas.length, faults, missing },
    ...(stopped === undefined ? {} : { stopped }),
    rates: ratesOf(sagas, head.mode),
    means: meansOf(sagas),
    cost: {
      recorded: sumOfCosts(sagas.map(({ cost }) => cost.recorded)),
      got: sumOfCosts(sagas.map(({ cost }) => cost.got)),
    },
    sagas: [...sagas].sort((a, b) => (a.saga < b.saga ? -1 : 1)),
    ...(conditions.length === 0 || failed.length === 0 ? {} : { failedOn: failed }),
  };
}

const judgedAs = ({ policiesDiffer: isOther, outcome, ...one }: ReplayedSaga) => ({
  ...one,
  outcome: { ...outcome, recorded: outcome.recorded },
  // A condition asks only whether they differ.
  fired: {
    recorded: [],
    got: isOther ? [{ type: "denied" as const, intent: "1-0" as never, name: "", why: "" }] : [],
  },
});

function ratesOf(sagas: readonly ReplayedSaga[], mode: ReplayRunDocument["mode"]): Rate[] {
  const share = (what: string, test: (one: ReplayedSaga) => boolean) =>
    rateOf(what, sagas.filter(test).length, sagas.length);
  const sum = (of: (one: ReplayedSaga) => number) => sagas.reduce((total, one) => total + of(one), 0);
  const compared = sum(({ agreement }) => agreement.compared);
  const decisions = (what: string, of: (agreement: ReplayedSaga["agreement"]) => number) =>
    rateOf(
      what,
      sum(({ agreement }) => of(agreement)),
      compared,
    );
  return [
    share("sagas without divergence", ({ different, beyond, failed }) => different + beyond + failed === 0),
    ...(mode === "free-run"
      ? [
          share("sagas with an equal outcome", ({ outcome }) => outcome.equal === true),
          share("sagas that came to an end", ({ stopped }) => stopped === undefined),
        ]
      : []),
    share("sagas that policies would have treated otherwise", (one) => one.policiesDiffer),
    share("sagas in which the model failed", ({ failed }) => failed > 0),
    decisions("decisions with the same tools in order", ({ sameOrder }) => sameOrder),
    decisions("decisions with the same tools as a set", ({ sameSet }) => sameSet),
    decisions("decisions with the same arguments", ({ sameArguments }) => sameArguments),
  ];
}

/** Of what is known: a saga with an unpriced call says nothing of dollars, one whose model answers at once nothing of time. */
function meansOf(sagas: readonly ReplayedSaga[]): Mean[] {
  const known = (of: (cost: ReplayedSaga["cost"]["got"]) => number | undefined, side: "recorded" | "got") =>
    sagas.flatMap(({ cost }) => of(cost[side]) ?? []);
  const usd = (cost: ReplayedSaga["cost"]["got"]) => (cost.unpriced > 0 ? undefined : cost.usd);
  const tokens = (cost: ReplayedSaga["cost"]["got"]) => cost.inputTokens + cost.outputTokens;
  const ms = (cost: ReplayedSaga["cost"]["got"]) => cost.latencyMs;
  return [
    meanOf("USD a saga, recorded", known(usd, "recorded")),
    meanOf("USD a saga, got", known(usd, "got")),
    meanOf("tokens a saga, recorded", known(tokens, "recorded")),
    meanOf("tokens a saga, got", known(tokens, "got")),
    meanOf("ms of models a saga, recorded", known(ms, "recorded")),
    meanOf("ms of models a saga, got", known(ms, "got")),
  ].filter((mean) => mean !== undefined);
}
