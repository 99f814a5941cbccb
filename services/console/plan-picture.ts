/**
 * Plan picture: a workflow's graph as it stands, with the place of each box and line, and beside each node what judged it and
 * what ran for it.
 */
import type { DependencyState, OperationState } from "../../protocol/documents/state.ts";
import { ValidatorVerdict } from "../../protocol/verdict.ts";
import type { PlanPicture } from "./documents.ts";
import type { GivenVerdict } from "./pictures.ts";

type Node = DependencyState["nodes"][number];

/** The picture of both sides of a state, which are of the same turn. */
export async function planPictureOf(
  { saga, turn, nodes, edges }: DependencyState,
  { transactions }: OperationState,
): Promise<PlanPicture> {
  const [{ boxFor, boxLine, lineFor }, { layoutOf }] = await Promise.all([
    import("../views/graph/svg.ts"),
    import("../views/graph/layout.ts"),
  ]);
  const known = new Set(nodes.map(({ node }) => node));
  // What was read may have been of a node that a later plan took away.
  const drawn = edges.filter(({ from, to }) => known.has(from) && known.has(to));
  const runs = Map.groupBy(transactions, ({ node }) => node ?? "");
  const linesOfAll = nodes.map((node) => linesOf(node).map(boxLine));
  const { width, height, boxes, lines } = layoutOf(
    nodes.map(({ node }, k) => boxFor(node, linesOfAll[k] ?? [])),
    drawn.map(({ from, to, of }) => lineFor(from, to, wordsOf(of))),
  );
  return {
    ...{ saga, turn, width, height },
    verdicts: (runs.get(judging) ?? []).map(verdictOf),
    nodes: nodes.flatMap((node, k) => {
      const box = boxes[k];
      if (box === undefined) return [];
      const { x, y, width, height } = box;
      const own = (runs.get(node.node) ?? []).map(({ transaction, name, outcome, recovery }) => ({
        ...{ transaction, name, outcome, recovery },
      }));
      return [{ ...node, x, y, width, height, lines: linesOfAll[k] ?? [], runs: own }];
    }),
    edges: drawn.flatMap((edge, k) => {
      const line = lines[k];
      return line === undefined ? [] : [{ ...edge, points: line.points, x: line.x, y: line.y }];
    }),
  };
}

/** What calls of judges are named after, in place of a node. */
const judging = "judge";

function verdictOf({
  transaction,
  name,
  output,
  reason,
}: OperationState["transactions"][number]): GivenVerdict {
  const read = ValidatorVerdict.safeParse(output).data;
  const why = read === undefined ? reason : read.reason;
  return {
    ...{ transaction, validator: read?.validator ?? name },
    ...(read === undefined ? {} : { verdict: read.verdict }),
    ...(why === undefined ? {} : { reason: why }),
  };
}

/** As long as the words that the page writes on such an edge. */
const wordsOf = (of: DependencyState["edges"][number]["of"]): string =>
  of.includes("condition") ? "rests on" : "reads";

function linesOf({ node, status, reason, verdicts = [] }: Node): string[] {
  const against = verdicts.filter(({ verdict }) => verdict === "reject" || verdict === "undecided");
  const judged =
    verdicts.length === 0
      ? []
      : against.length === 0
        ? [`${verdicts.length} said yes`]
        : against.map(({ validator, verdict }) => `${validator}: ${verdict}`);
  return [node, status, ...judged, ...(reason === undefined ? [] : [reason])];
}
