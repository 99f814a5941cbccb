/** Graph: what the saga wrote as it ran, drawn as the server laid it out. */
import { useState } from "preact/hooks";
import type { GraphPicture, PlacedEdge, PlacedNode } from "../documents.ts";
import { useAsked } from "./api.ts";
import { Refused, Waiting } from "./marks.tsx";
import { chosen, go } from "./route.ts";
import { many } from "./words.ts";

interface Props {
  readonly saga: string;
  readonly turn: number | undefined;
  readonly turns: number;
  readonly at: string | undefined;
}

const margin = 24;
const dashed: ReadonlySet<string> = new Set(["undoes", "supersedes", "serves", "told of", "reads"]);
const round: ReadonlySet<string> = new Set(["start", "end", "signal", "sent", "timer"]);

export function GraphTab({ saga, turn, turns, at }: Props) {
  const base = `/sagas/${encodeURIComponent(saga)}/graph`;
  const { data: picture, error } = useAsked<GraphPicture>(`${base}?turn=${turn ?? turns}`, true);
  const [isFitted, setFitted] = useState(false);
  if (error !== undefined && picture === undefined) return <Refused error={error} />;
  if (picture === undefined) return <Waiting lines={10} />;
  const [width, height] = [picture.width + 2 * margin, picture.height + 2 * margin];
  return (
    <div class="graph">
      <p class="graph-bar muted">
        {many(picture.nodes.length, "node")}
        {picture.leftOut === 0 ? "" : `; the ${picture.leftOut} before them are left out`}
        <button class="quiet" aria-pressed={isFitted} onClick={() => setFitted(!isFitted)}>
          {isFitted ? "full size" : "fit"}
        </button>
      </p>
      <div class="canvas" tabIndex={0} role="region" aria-label="graph">
        <svg
          width={isFitted ? "100%" : width}
          height={isFitted ? "100%" : height}
          viewBox={`${-margin} ${-margin} ${width} ${height}`}
          role="group"
          aria-label={`the graph of ${saga}`}
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
          {picture.edges.map((edge) => (
            <Edge key={`${edge.from} ${edge.to} ${edge.reason}`} edge={edge} />
          ))}
          {picture.nodes.map((node) => (
            <Node key={node.id} node={node} isChosen={(node.intent ?? node.id) === at} />
          ))}
        </svg>
      </div>
    </div>
  );
}

function Node({ node, isChosen }: { readonly node: PlacedNode; readonly isChosen: boolean }) {
  const { x, y, width, height, lines, status, kind, id } = node;
  const pick = () => kind !== "repeat" && go(chosen({ at: id }), true);
  return (
    <g
      class={`box ${status} ${kind}${isChosen ? " chosen" : ""}`}
      tabIndex={0}
      role="button"
      aria-label={lines.join(" ")}
      onClick={pick}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") pick();
      }}
    >
      <rect
        x={x - width / 2}
        y={y - height / 2}
        width={width}
        height={height}
        rx={round.has(kind) ? height / 2 : 6}
      />
      {lines.map((line, k) => (
        <text key={k} class={k === 0 ? "title" : "more"} x={x} y={y - height / 2 + 20 + k * 16}>
          {line}{" "}
        </text>
      ))}
    </g>
  );
}

function Edge({ edge }: { readonly edge: PlacedEdge }) {
  const { points, reason, x, y } = edge;
  const path = points.map((point, k) => `${k === 0 ? "M" : "L"}${point.x} ${point.y}`).join("");
  return (
    <g class={dashed.has(reason) ? "edge dashed" : "edge"}>
      <path d={path} marker-end="url(#tip)" />
      <text x={x} y={y + 3}>
        {reason}
      </text>
    </g>
  );
}
