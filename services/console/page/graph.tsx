/** Graph: what the saga wrote as it ran, drawn as the server laid it out. A child is a box that opens. */
import type { GraphPicture, PlacedNode } from "../documents.ts";
import { useAsked } from "./api.ts";
import { BoxMark, Canvas, LineMark, linesHeight, pressed } from "./drawing.tsx";
import { useLive, useSettled } from "./live.ts";
import { Refused, Waiting } from "./marks.tsx";
import { go, openIn, picked, toggled, usePlace } from "./route.ts";
import { many } from "./words.ts";

interface Props {
  readonly saga: string;
  readonly turn: number | undefined;
  readonly turns: number;
  /** What is chosen, and of which saga. */
  readonly at: string | undefined;
  readonly of: string;
  readonly isRunning: boolean;
}

/** How soon what open children did is drawn. Milliseconds. */
const againEveryMs = 2_000;

const dashed: ReadonlySet<string> = new Set(["undoes", "supersedes", "serves", "told of", "reads"]);
const round: ReadonlySet<string> = new Set(["start", "end", "signal", "sent", "timer"]);

export function GraphTab({ saga, turn, turns, at, of, isRunning }: Props) {
  const { query } = usePlace();
  const open = [...openIn(query)];
  // Of now the turns are named so that it is asked again as there are more; children go on without one of these.
  const base = `/sagas/${encodeURIComponent(saga)}/graph?${turn === undefined ? `turns=${turns}` : `turn=${turn}`}`;
  const path = open.length === 0 ? base : `${base}&open=${encodeURIComponent(open.join(","))}`;
  const { data: picture, error, again } = useAsked<GraphPicture>(path, true);
  const settled = useSettled(again, againEveryMs);
  useLive("moved", () => {
    if (isRunning && turn === undefined && open.length > 0) settled();
  });
  if (error !== undefined && picture === undefined) return <Refused error={error} />;
  if (picture === undefined) return <Waiting lines={10} />;
  const { width, height, nodes, leftOut } = picture;
  return (
    <Canvas
      name="graph"
      label={`the graph of ${saga}`}
      {...{ width, height }}
      words={`${many(nodes.length, "node")}${leftOut === 0 ? "" : `; the ${leftOut} before them are left out`}`}
    >
      <Picture picture={picture} own={saga} at={at} of={of} />
    </Canvas>
  );
}

interface PictureProps extends Pick<Props, "at" | "of"> {
  readonly picture: GraphPicture;
  /** The saga whose view this is. */
  readonly own: string;
}

function Picture({ picture: { saga, nodes, edges }, own, at, of }: PictureProps) {
  return (
    <>
      {edges.map((edge) => (
        <LineMark
          key={`${edge.from} ${edge.to} ${edge.reason}`}
          line={edge}
          words={edge.reason}
          tone={dashed.has(edge.reason) ? "dashed" : ""}
        />
      ))}
      {nodes.map((node) => (
        <g key={node.id}>
          <BoxMark
            box={node}
            tone={`${node.status} ${node.kind}`}
            isRound={round.has(node.kind) && node.inside === undefined}
            isChosen={of === saga && (node.intent ?? node.id) === at}
            onPick={() =>
              node.kind !== "repeat" && go(picked(node.id, saga === own ? undefined : saga), true)
            }
          />
          {node.kind === "child" && node.saga !== undefined ? <Opener node={node} saga={node.saga} /> : null}
          {node.inside === undefined ? null : (
            <g
              class="inside"
              transform={`translate(${node.x - node.inside.width / 2} ${node.y - node.height / 2 + linesHeight(node)})`}
            >
              <Picture picture={node.inside} own={own} at={at} of={of} />
            </g>
          )}
        </g>
      ))}
    </>
  );
}

/** At a child's corner: shows its graph in its box, or takes that away. */
function Opener({ node, saga }: { readonly node: PlacedNode; readonly saga: string }) {
  const { x, y, width, height, inside, closed } = node;
  const isOpen = inside !== undefined || closed !== undefined;
  const [left, top] = [x - width / 2 + 4, y - height / 2 + 4];
  return (
    <g
      class="opener"
      tabIndex={0}
      role="button"
      aria-expanded={isOpen}
      aria-label={`the graph of ${saga}`}
      {...pressed(() => go(toggled(saga), true))}
    >
      <rect x={left} y={top} width={24} height={24} rx={4} />
      <text x={left + 12} y={top + 16}>
        {isOpen ? "▾" : "▸"}
      </text>
    </g>
  );
}
