/**
 * Page: a replay as one file for a browser, with both runs side by side.
 *
 * RB1 It needs nothing but itself: no script, no font, no address. A policy in its head holds a browser to that.
 * RB2 All that a model, a tool or a person wrote is text: nothing of it can become markup.
 */
import type { Cost, DecisionDocument, PathStep, ReplayDocument } from "../../protocol/documents/replay.ts";
import { align, type Row } from "./align.ts";

/** Drawings of both runs, as `svgOf` in services/views/graph/svg.ts makes them. */
export interface Drawings {
  readonly recorded: string;
  readonly got: string;
}

/** The whole page. */
export function replayPage(document: ReplayDocument, drawings?: Drawings): string {
  const { saga, model, mode, definition } = document;
  const title = `${saga} replayed with ${model}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${text(title)}</h1>
<p>${text(`${definition.name} version ${definition.version}, ${mode === "free-run" ? "a free run" : "step by step"}${variationOf(document)}`)}</p>
${summary(document)}
${mode === "free-run" ? `<h2>Both runs</h2>${columns(align(document.path.recorded, document.path.got))}` : ""}
${drawings === undefined ? "" : `<h2>Both graphs</h2><div class="graphs"><figure>${drawings.recorded}<figcaption>Recorded</figcaption></figure><figure>${drawings.got}<figcaption>Got</figcaption></figure></div>`}
<h2>Decisions</h2>
${document.decisions.map(decision).join("\n")}
</body>
</html>
`;
}

/** RB2 */
const text = (value: string): string =>
  value.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

function variationOf({ variation }: ReplayDocument): string {
  const { prompt, with: other } = variation ?? {};
  return [
    prompt === undefined ? "" : `, with the instructions of ${prompt.file}`,
    other === undefined ? "" : `, with the definition of ${other.file} (version ${other.version})`,
  ].join("");
}

function summary(document: ReplayDocument): string {
  const { outcome, agreement, cost, stopped, leftOut, fired } = document;
  const share = (n: number) => `${n} of ${agreement.compared}`;
  const rows: [string, string][] = [
    [
      "Decisions",
      `${document.same} same, ${document.different} different, ${document.beyond} beyond the record, ${document.failed} failed, ${document.skipped} skipped`,
    ],
    ["Same tools", `${share(agreement.sameOrder)} in order, ${share(agreement.sameSet)} as a set`],
    ["Same arguments", `${share(agreement.sameArguments)}, ${agreement.exact} of them exactly`],
    ["First divergence", document.firstDivergence ?? "none"],
    [
      "Outcome",
      outcome.got === undefined
        ? `recorded: ${outcome.recorded.status}`
        : `${outcome.equal === true ? "equal" : "different"}: ${outcome.recorded.status} recorded, ${outcome.got.status} got`,
    ],
    ["Refused, asked about, rewritten", `${fired.recorded.length} recorded, ${fired.got.length} got`],
    ["Cost", `${costText(cost.recorded)} recorded, ${costText(cost.got)} got`],
    ...leftOut.map(({ blocks, because }): [string, string] => [
      "Blocks not sent",
      `${blocks}, of ${because}`,
    ]),
    ...(stopped === undefined
      ? []
      : ([["Stopped", `${stopped.because}: ${stopped.why}`]] as [string, string][])),
  ];
  return `<table>${rows.map(([name, value]) => `<tr><th>${text(name)}</th><td>${text(value)}</td></tr>`).join("")}</table>`;
}

const costText = ({ calls, inputTokens, outputTokens, usd, unpriced, latencyMs }: Cost): string =>
  [
    `${calls} calls`,
    `${inputTokens} + ${outputTokens} tokens`,
    ...(usd === undefined ? [] : [`$${usd.toFixed(4)}`]),
    ...(unpriced === 0 ? [] : [`${unpriced} without a price`]),
    ...(latencyMs === undefined ? [] : [`${Math.round(latencyMs)} ms`]),
  ].join(", ");

const columns = (rows: readonly Row[]): string =>
  `<div class="runs"><h3>Recorded</h3><h3>Got</h3>${rows.map(row).join("")}</div>`;

function row({ recorded, got }: Row): string {
  const alone = recorded === undefined || got === undefined;
  const differs = alone || recorded.detail !== got.detail || recorded.outcome !== got.outcome;
  const mark = alone ? " alone" : differs ? " differs" : "";
  return cell(recorded, mark) + cell(got, mark);
}

function cell(step: PathStep | undefined, mark: string): string {
  if (step === undefined) return `<div class="gap"></div>`;
  const { kind, title, detail, outcome, from, turn } = step;
  const how = [outcome, from === undefined || from === "recorded" ? undefined : `from ${from}`];
  return (
    `<div class="step ${kind}${mark}"><b>${text(title)}</b> <i>${text(kind)}, turn ${turn}</i>` +
    `<p>${text(detail)}</p><p>${text(how.filter((one) => one !== undefined).join(", "))}</p></div>`
  );
}

const decision = ({
  step,
  intent,
  turn,
  verdict,
  what,
  recorded,
  got,
  leftOut = [],
}: DecisionDocument): string => {
  const notes = [...what, ...leftOut.map(({ blocks, because }) => `${blocks} blocks of ${because} not sent`)];
  const side = (name: string, value: unknown) =>
    value === undefined ? "" : `<h4>${name}</h4><pre>${text(JSON.stringify(value, undefined, 2))}</pre>`;
  return (
    `<details class="${verdict}"${verdict === "same" || verdict === "skipped" ? "" : " open"}>` +
    `<summary>${text(`${step}. ${intent}, turn ${turn}: ${verdict}`)}${notes.length === 0 ? "" : text(` — ${notes.join("; ")}`)}</summary>` +
    `<div class="both"><div>${side("Recorded", recorded)}</div><div>${side("Got", got)}</div></div></details>`
  );
};

const style = `
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
th { text-align: left; padding-right: 1rem; vertical-align: top; }
.runs, .both { display: grid; grid-template-columns: 1fr 1fr; gap: .4rem 1rem; }
.graphs { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; } figure { margin: 0; overflow: auto; background: #fff; color: #000; }
.both > div { min-width: 0; }
.step { border: 1px solid #8886; border-left: .35rem solid #888; border-radius: .3rem; padding: .2rem .6rem; min-width: 0; overflow-wrap: anywhere; }
.step p { margin: 0; } .step i { opacity: .7; font-size: .85em; }
.model { border-left-color: #58c; } .tool { border-left-color: #4a8; } .saga { border-left-color: #84c; }
.task, .denied { border-left-color: #c84; } .end { border-left-color: #444; } .signal { border-left-color: #c48; }
.differs { background: #cc02; } .alone { background: #c002; }
pre { overflow: auto; padding: .5rem; background: #8882; } summary { cursor: pointer; }
details.different > summary, details.failed > summary, details.beyond > summary { color: #c30; }
`;
