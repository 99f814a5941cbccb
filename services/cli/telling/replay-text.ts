/**
 * Replay text: a replay as a person reads it.
 */
import type {
  Cost,
  DecisionDocument,
  Mean,
  Rate,
  ReplayDocument,
  ReplayRunDocument,
} from "../../../protocol/documents/replay.ts";
import { brief } from "./describe.ts";
import { table } from "../frame/table.ts";

const valueMax = 300;

export function describeReplay(document: ReplayDocument): string {
  const { saga, model, mode, decisions, variation, failedOn = [] } = document;
  const varied = [
    ...(variation?.prompt === undefined ? [] : [`instructions of ${variation.prompt.file}`]),
    ...(variation?.with === undefined ? [] : [`definition of ${variation.with.file}`]),
  ];
  return [
    `${saga} replayed with ${model}, ${mode === "free-run" ? "as a free run" : "step by step"}${varied.length === 0 ? "" : `, with the ${varied.join(" and the ")}`}`,
    ...decisions.map(lineOf),
    `${document.same} same, ${document.different} different, ${document.failed} failed, ${document.skipped} skipped${mode === "free-run" ? `, ${document.beyond} beyond the record` : ""}`,
    ...divergence(document),
    ...outcome(document),
    ...policies(document),
    ...document.leftOut.map(({ blocks, because }) => `${blocks} blocks were not sent: ${because}`),
    costTable(document),
    ...failedOn.map((one) => `failed on ${one}`),
  ].join("\n");
}

const lineOf = ({ intent, step, turn, verdict, what, leftOut = [] }: DecisionDocument): string => {
  const notes = [...what, ...leftOut.map(({ blocks, because }) => `${blocks} blocks not sent (${because})`)];
  return `  ${intent} (decision ${step}, turn ${turn})  ${verdict}${notes.length === 0 ? "" : `: ${notes.join("; ")}`}`;
};

function divergence({
  firstDivergence,
  decisions,
  agreement,
  leftRecordAt,
  same,
  different,
}: ReplayDocument): string[] {
  const of = agreement.compared;
  const rates = `same tools ${agreement.sameOrder} of ${of} (${agreement.sameSet} as a set), same arguments ${agreement.sameArguments}, exactly ${agreement.exact}`;
  const first = decisions.find((one) => one.intent === firstDivergence);
  if (first === undefined) return [...(same + different === 0 ? [] : [rates]), "no divergence"];
  return [
    rates,
    `first divergence at ${first.intent}:`,
    ...(first.recorded === undefined ? [] : [`  recorded ${brief(first.recorded, valueMax)}`]),
    `  got      ${brief(first.got, valueMax)}`,
    ...(leftRecordAt === undefined ? [] : [`it left the record at turn ${leftRecordAt}`]),
  ];
}

function outcome({ outcome: { equal, recorded, got }, stopped }: ReplayDocument): string[] {
  const said = ({ status, output, code, reason }: typeof recorded) =>
    `${status}${output === undefined ? "" : ` ${brief(output)}`}${code === undefined ? "" : ` [${code}] ${reason ?? ""}`}`;
  const ends =
    got === undefined
      ? []
      : [`outcome ${equal === true ? "equal" : "different"}: recorded ${said(recorded)}, got ${said(got)}`];
  return [...ends, ...(stopped === undefined ? [] : [`stopped (${stopped.because}): ${stopped.why}`])];
}

function policies({ fired: { recorded, got } }: ReplayDocument): string[] {
  const words = (all: typeof got) => all.map(({ type, name, why }) => `${type} ${name} (${why})`);
  const before = words(recorded);
  const now = words(got);
  const missing = (from: readonly string[], among: readonly string[]) => {
    const left = [...among];
    return from.filter((one) => {
      const at = left.indexOf(one);
      if (at !== -1) left.splice(at, 1);
      return at === -1;
    });
  };
  return [
    ...missing(now, before).map((one) => `would also have been ${one}`),
    ...missing(before, now).map((one) => `would not have been ${one}`),
  ];
}

/** What the recorded times leave out and hold is said beside them: the two are not measured alike. */
function costTable({ cost: { recorded, got } }: Pick<ReplayDocument, "cost">): string {
  const row = (name: string, { calls, inputTokens, outputTokens, usd, unpriced, latencyMs }: Cost) => [
    name,
    String(calls),
    String(inputTokens),
    String(outputTokens),
    usd === undefined
      ? "unknown"
      : `${usd.toFixed(4)}${unpriced === 0 ? "" : ` (${unpriced} calls unpriced)`}`,
    latencyMs === undefined ? "-" : `${Math.round(latencyMs)} ms`,
  ];
  const rows = table(
    ["", "CALLS", "INPUT", "OUTPUT", "USD", "TIME"],
    [row("recorded", recorded), row("got", got)],
  );
  return recorded.latencyMs === undefined
    ? rows
    : `${rows}\nrecorded times are from turn to turn: limits, attempts and pauses are in them, what failed in between costs nothing here`;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** A run over many sagas. */
export function describeRun(document: ReplayRunDocument): string {
  const { run, model, mode, sampled, meant, seed, done, missing, faults, stopped, folder } = document;
  const rate = ({ what, hit, of, share, low, high }: Rate) => [
    what,
    `${hit} of ${of}`,
    percent(share),
    `${percent(low)} to ${percent(high)}`,
  ];
  const figure = (value: number) => (Math.abs(value) < 10 ? value.toFixed(4) : value.toFixed(0));
  const mean = ({ what, n, mean: middle, low, high }: Mean) => [
    what,
    `n ${n}`,
    figure(middle),
    low === undefined || high === undefined ? "-" : `${figure(low)} to ${figure(high)}`,
  ];
  return [
    `${run}: ${sampled} of ${meant} sagas (seed ${seed}) replayed with ${model}, ${mode === "free-run" ? "as free runs" : "step by step"}`,
    table(["", "", "", "95 %"], [...document.rates.map(rate), ...document.means.map(mean)]),
    costTable(document),
    ...faults.map(({ saga, message }) => `${saga} could not be replayed: ${message}`),
    `${done} replayed, ${faults.length} with a fault, ${missing} missing${stopped === undefined ? "" : `: ${stopped}`}`,
    ...(missing === 0 ? [] : [`go on: sagamesh replay --resume ${run}, or the same words with other limits`]),
    `each saga's document: ${folder}`,
    ...(document.failedOn ?? []).map((one) => `failed on ${one}`),
  ].join("\n");
}
