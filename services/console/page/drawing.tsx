/** Drawing: boxes and lines where the server has placed them, for graphs and plans. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { PlacedBox, PlacedLine } from "../documents.ts";

const margin = 24;
/** As the server lays it out: the lines of a box take this, and what is in it lies below them. */
const lineHeight = 16;

/** How much of a box its lines take. */
export const linesHeight = ({ lines }: PlacedBox): number => lines.length * lineHeight + 16;

interface CanvasProps {
  /** What it is of, for who cannot see it. */
  readonly label: string;
  readonly name: string;
  readonly width: number;
  readonly height: number;
  /** What stands above it. */
  readonly words: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Canvas({ label, name, width, height, words, children }: CanvasProps) {
  const [isFitted, setFitted] = useState(false);
  const [w, h] = [width + 2 * margin, height + 2 * margin];
  return (
    <div class="graph">
      <p class="graph-bar muted">
        <span role="status">{words}</span>
        <button class="quiet" aria-pressed={isFitted} onClick={() => setFitted(!isFitted)}>
          {isFitted ? "full size" : "fit"}
        </button>
      </p>
      <div class="canvas" tabIndex={0} role="region" aria-label={name}>
        <svg
          width={isFitted ? "100%" : w}
          height={isFitted ? "100%" : h}
          viewBox={`${-margin} ${-margin} ${w} ${h}`}
          role="group"
          aria-label={label}
        >
          <defs>
            <marker
              id="tip"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto"
            >
              <path class="tip" d="M0 0L8 4L0 8z" />
            </marker>
          </defs>
          {children}
        </svg>
      </div>
    </div>
  );
}

interface BoxProps {
  readonly box: PlacedBox;
  /** How it stands and what it is, by which it has its colours. */
  readonly tone: string;
  readonly isRound?: boolean;
  readonly isChosen: boolean;
  readonly onPick: () => void;
}

export function BoxMark({ box, tone, isRound = false, isChosen, onPick }: BoxProps) {
  const { x, y, width, height, lines } = box;
  return (
    <g
      class={`box ${tone}${isChosen ? " chosen" : ""}`}
      tabIndex={0}
      role="button"
      aria-label={lines.join(" ")}
      {...pressed(onPick)}
    >
      <rect
        x={x - width / 2}
        y={y - height / 2}
        width={width}
        height={height}
        rx={isRound ? height / 2 : 6}
      />
      {lines.map((line, k) => (
        <text key={k} class={k === 0 ? "title" : "more"} x={x} y={y - height / 2 + 20 + k * lineHeight}>
          {line}{" "}
        </text>
      ))}
    </g>
  );
}

/** What a button in a drawing hears. */
export const pressed = (act: () => void) => ({
  onClick: act,
  onKeyDown: (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // A space would scroll.
    act();
  },
});

export function LineMark({ line, words, tone = "" }: { line: PlacedLine; words: string; tone?: string }) {
  const { points, x, y } = line;
  const path = points.map((point, k) => `${k === 0 ? "M" : "L"}${point.x} ${point.y}`).join("");
  return (
    <g class={`edge ${tone}`}>
      <path d={path} marker-end="url(#tip)" />
      <text x={x} y={y + 3}>
        {words}
      </text>
    </g>
  );
}
