/**
 * A schedule as a Gantt chart in SVG, its broken rules marked and numbered, and a page around it that needs nothing from
 * elsewhere: no script, no font, no link.
 *
 * GA1 Every text is escaped. GA2 The same check gives the same bytes.
 */
import { type Bar, type Broken, type Checked, timeText, verdictOf, whenAndWhere } from "./checked.ts";

const laneHeight = 30;
const barHeight = 20;
/** Of a lane's name where it stands above it, and the room for a number below it. */
const nameHeight = 22;
/** Of the face at 11 px, and a little more: no text leaves its bar. */
const characterWidth = 7;
const colours = [
  "#3b6ea8",
  "#4f8a5b",
  "#a8703b",
  "#7a5ba6",
  "#2f8f8f",
  "#a65b7a",
  "#6b7280",
  "#8a7a2f",
  "#4a5fb0",
  "#5b8a2f",
];

interface Frame {
  readonly width: number;
  readonly left: number;
  readonly top: number;
  /** Lanes' names stand above them where the picture is narrow. */
  readonly narrow: boolean;
  readonly from: number;
  readonly to: number;
  readonly x: (time: number) => number;
  readonly y: (lane: string) => number;
  readonly height: number;
}

/** The picture alone, `width` pixels wide; from 600 on the lanes' names stand beside them. */
export function svgOf(checked: Checked, width = 1_152): string {
  const frame = frameOf(checked, width);
  const kinds = [...new Set(checked.bars.map(({ kind }) => kind))];
  const colour = (kind: string) => colours[kinds.indexOf(kind) % colours.length] ?? "#6b7280";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${frame.height}" viewBox="0 0 ${width} ${frame.height}" role="img" font-family="system-ui, sans-serif" font-size="11">`,
    `<title>${escaped(checked.title)}</title>`,
    `<rect width="${width}" height="${frame.height}" fill="#ffffff"/>`,
    ...ticks(checked, frame),
    ...checked.lanes.map((lane) => laneOf(lane, frame)),
    ...stacked(checked.bars).map((bar) => barOf(bar, checked, frame, colour(bar.kind))),
    ...marks(checked, frame),
    "</svg>",
    "",
  ].join("\n");
}

function frameOf({ lanes, bars, broken }: Checked, width: number): Frame {
  const narrow = width < 600;
  const longest = Math.max(4, ...lanes.map(({ length }) => length));
  const left = narrow ? 16 : Math.min(180, Math.ceil(longest * characterWidth) + 20);
  const times = [
    ...bars.flatMap(({ from, to }) => [from, to]),
    ...broken.flatMap(({ at, until }) => [at ?? NaN, until ?? NaN]),
  ].filter(Number.isFinite);
  const from = Math.min(...times, ...(times.length === 0 ? [0] : []));
  const to = Math.max(from + 1, ...times);
  const top = 28;
  const step = laneHeight + (narrow ? nameHeight : 0);
  return {
    width,
    left,
    top,
    narrow,
    from,
    to,
    x: (time) => Math.round((left + ((time - from) / (to - from)) * (width - left - 24)) * 10) / 10,
    y: (lane) => top + Math.max(0, lanes.indexOf(lane)) * step + (narrow ? nameHeight : 0),
    height: top + Math.max(1, lanes.length) * step + 12,
  };
}

/** Round times, no closer than their words are wide. */
function ticks({ unit }: Checked, { x, from, to, width, top, height, left }: Frame): string[] {
  const room = Math.max(2, Math.floor((width - left) / 64));
  const steps =
    unit === "clock"
      ? [5, 10, 15, 30, 60, 120, 240, 480, 1_440]
      : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
  const step = steps.find((one) => (to - from) / one <= room) ?? Math.ceil((to - from) / room);
  const first = Math.ceil(from / step) * step;
  return Array.from(
    { length: Math.floor((to - first) / step) + 1 },
    (_, index) => first + index * step,
  ).flatMap((time) => [
    `<line x1="${x(time)}" y1="${top - 8}" x2="${x(time)}" y2="${height - 10}" stroke="#e3e8ee"/>`,
    `<text x="${x(time)}" y="${top - 14}" text-anchor="${x(time) < 18 ? "start" : "middle"}" fill="#52606d">${escaped(timeText(unit, time))}</text>`,
  ]);
}

function laneOf(lane: string, { y, left, width, narrow }: Frame): string {
  const line = `<line x1="${left}" y1="${y(lane) + laneHeight - 3}" x2="${width - 24}" y2="${y(lane) + laneHeight - 3}" stroke="#cbd2d9"/>`;
  const [x, baseline] = narrow ? [left, y(lane) - 8] : [left - 10, y(lane) + 18];
  return `${line}<text x="${x}" y="${baseline}" text-anchor="${narrow ? "start" : "end"}" font-weight="600" fill="#1f2933">${escaped(lane)}</text>`;
}

/** A bar that begins while one before it in its lane goes on is drawn in the lower half, over it. */
function stacked(bars: readonly Bar[]): (Bar & { readonly low: boolean })[] {
  const ends = new Map<string, number>();
  return bars
    .toSorted((one, other) => one.from - other.from || other.to - one.to)
    .map((bar) => {
      const low = bar.to > bar.from && bar.from < (ends.get(bar.lane) ?? -Infinity);
      ends.set(bar.lane, Math.max(ends.get(bar.lane) ?? -Infinity, bar.to));
      return { ...bar, low };
    });
}

function barOf(bar: Bar & { low: boolean }, { unit }: Checked, { x, y }: Frame, fill: string): string {
  const { lane, from, to, text, low } = bar;
  const [left, top] = [x(Math.min(from, to)), y(lane) + 3 + (low ? barHeight / 2 : 0)];
  const span = from === to ? timeText(unit, from) : `${timeText(unit, from)}-${timeText(unit, to)}`;
  const title = `<title>${escaped(`${lane}: ${text}, ${span}`)}</title>`;
  if (from === to) {
    const middle = y(lane) + 3 + barHeight / 2;
    return `<g>${title}<path d="M${left} ${middle - 7}l7 7l-7 7l-7 -7z" fill="${fill}" stroke="#ffffff"/></g>`;
  }
  const width = Math.max(2, Math.round((x(Math.max(from, to)) - left) * 10) / 10);
  const fits = Math.floor((width - 6) / characterWidth);
  const long = text.length + (text.includes("→") ? 1 : 0); // An arrow is as wide as two letters.
  const shown = long <= fits ? text : fits >= 4 ? `${text.slice(0, fits - 2)}…` : "";
  const height = low ? barHeight / 2 + 3 : barHeight;
  const words =
    shown === ""
      ? ""
      : `<text x="${left + 4}" y="${top + height - 6 + (low ? 3 : 0)}" fill="#ffffff">${escaped(shown)}</text>`;
  return `<g>${title}<rect x="${left}" y="${top}" width="${width}" height="${height}" rx="3" fill="${fill}" stroke="#ffffff"/>${words}</g>`;
}

/** The numbers of the broken rules, each in the lanes and at the time that it is about. */
function marks({ broken, lanes }: Checked, { x, y, width }: Frame): string[] {
  const taken = new Map<string, number>();
  return broken.flatMap(({ at, until, who, rule, what }, index) => {
    if (at === undefined) return [];
    return who
      .filter((lane) => lanes.includes(lane))
      .flatMap((lane) => {
        const place = `${lane} ${Math.round(x(at) / 16)}`;
        const nth = taken.get(place) ?? 0;
        taken.set(place, nth + 1);
        const cx = Math.min(width - 12, x(at) + nth * 15);
        const span =
          until !== undefined && until > at
            ? `<rect x="${x(at)}" y="${y(lane)}" width="${Math.round((x(until) - x(at)) * 10) / 10}" height="${barHeight + 6}" rx="4" fill="none" stroke="#c81e1e" stroke-width="2" stroke-dasharray="4 2"/>`
            : "";
        return [
          `<g><title>${escaped(`${rule}: ${what}`)}</title>${span}<circle cx="${cx}" cy="${y(lane) + 2}" r="7.5" fill="#c81e1e" stroke="#ffffff"/><text x="${cx}" y="${y(lane) + 6}" text-anchor="middle" font-size="9.5" font-weight="700" fill="#ffffff">${index + 1}</text></g>`,
        ];
      });
  });
}

/** The page: verdict, picture in two widths, broken rules by number, every rule with its state, what nobody could judge. */
export function htmlOf(checked: Checked): string {
  const { title, broken, rules, unjudged, unit, notes = [] } = checked;
  const open = new Set(unjudged.map(({ what }) => what));
  const state = (id: string) => broken.flatMap(({ rule }, index) => (rule === id ? [index + 1] : []));
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title><style>${style}</style></head><body>`,
    `<h1>${escaped(title)}</h1><p class="${broken.length === 0 ? "good" : "bad"}">The schedule ${verdictOf(checked)}.</p>`,
    ...notes.map((note) => `<p>${escaped(note)}</p>`),
    `<div class="wide">${svgOf(checked, 1_152)}</div><div class="narrow">${svgOf(checked, 368)}</div>`,
    ...(broken.length === 0
      ? []
      : ["<h2>Broken</h2><ol>", ...broken.map((one) => itemOf(unit, one)), "</ol>"]),
    "<h2>Rules</h2><ul class=rules>",
    ...rules.map(({ id, says }) => {
      const found = state(id);
      return `<li class="${found.length > 0 ? "broken" : open.has(id) ? "open" : "kept"}"><b>${escaped(id)}</b> ${escaped(says)}${found.length === 0 ? "" : ` <i>see ${found.join(", ")}</i>`}</li>`;
    }),
    "</ul>",
    ...(unjudged.length === 0
      ? []
      : [
          "<h2>Not judged</h2><ul>",
          ...unjudged.map(({ what, why }) => `<li><b>${escaped(what)}</b>: ${escaped(why)}</li>`),
          "</ul>",
        ]),
    "</body></html>\n",
  ].join("\n");
}

function itemOf(unit: string, one: Broken): string {
  const { when, where } = whenAndWhere(unit, one);
  return `<li><b>${escaped(one.rule)}</b> ${[when, where, one.what]
    .filter((part) => part !== "")
    .map(escaped)
    .join(" · ")}</li>`;
}

const style = `
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; background: #fff; max-width: 1152px; margin: 0 auto; padding: 16px; overflow-wrap: anywhere; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 24px 0 6px; }
.good { color: #1f6f3a; font-weight: 600; } .bad { color: #c81e1e; font-weight: 600; }
ol, ul { padding-left: 26px; margin: 0; } li { margin: 3px 0; }
.rules { list-style: none; padding: 0; } .rules li::before { display: inline-block; width: 22px; }
.kept::before { content: "✓"; color: #1f6f3a; } .broken::before { content: "✗"; color: #c81e1e; } .open::before { content: "?"; color: #8a6d00; }
svg { display: block; max-width: 100%; } .narrow { display: none; }
@media (max-width: 700px) { .wide { display: none; } .narrow { display: block; } }
`;

const escaped = (text: string): string =>
  text
    .replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`)
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "");
