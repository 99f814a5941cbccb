/** Plan: a workflow's graph of transactions: what stands, is being undone, fell and is not yet begun, and who judged it how. */
import type { GivenVerdict, PlanNode, PlanPicture } from "../documents.ts";
import { useAsked } from "./api.ts";
import { conditionWords } from "./condition.ts";
import { DetailHead } from "./detail.tsx";
import { BoxMark, Canvas, LineMark } from "./drawing.tsx";
import { Fact, Refused, Status, Waiting } from "./marks.tsx";
import { chosen, go, picked, usePlace } from "./route.ts";
import { Text } from "./value.tsx";
import { many, said } from "./words.ts";

interface Props {
  readonly saga: string;
  readonly turn: number | undefined;
  readonly turns: number;
}

export function PlanTab({ saga, turn, turns }: Props) {
  const { query } = usePlace();
  const path = `/sagas/${encodeURIComponent(saga)}/plan?turn=${turn ?? turns}`;
  const { data: plan, error } = useAsked<PlanPicture>(path, true);
  if (error !== undefined && plan === undefined) return <Refused error={error} />;
  if (plan === undefined) return <Waiting lines={10} />;
  if (plan.nodes.length === 0) return <p class="empty">This saga has no plan: it is no workflow.</p>;
  const name = query.get("node");
  const node = plan.nodes.find((one) => one.node === name);
  const show = (next: string | undefined) => go(chosen({ node: next }), true);
  return (
    <div class={node === undefined ? "body" : "body with-detail"}>
      <section class="shown">
        <Canvas
          name="plan"
          label={`the plan of ${saga}`}
          width={plan.width}
          height={plan.height}
          words={sumOf(plan.nodes)}
        >
          {plan.edges.map((edge) => (
            <LineMark
              key={`${edge.from} ${edge.to}`}
              line={edge}
              words={edge.of.includes("condition") ? "rests on" : "reads"}
              tone={`${edge.of.includes("condition") ? "" : "dashed"} satisfied-${edge.satisfied}`}
            />
          ))}
          {plan.nodes.map((one) => (
            <BoxMark
              key={one.node}
              box={one}
              tone={one.status === "waiting" ? "unbegun" : one.status}
              isChosen={one === node}
              onPick={() => show(one.node)}
            />
          ))}
        </Canvas>
        {plan.verdicts.length === 0 ? null : <Verdicts verdicts={plan.verdicts} />}
      </section>
      {node === undefined ? null : <NodeDetail node={node} onClose={() => show(undefined)} />}
    </div>
  );
}

/** How a node stands: of one that waits for others, that it is not yet begun. */
export const NodeStatus = ({ status }: { readonly status: string }) => (
  <Status status={status === "waiting" ? "not begun" : status} />
);

/** How many nodes stand so, in words. */
const groups: readonly (readonly [statuses: readonly PlanNode["status"][], one: string, more: string])[] = [
  [["committed"], "stands", "stand"],
  [["running"], "runs", "run"],
  [["undoing"], "is being undone", "are being undone"],
  [["stuck"], "could not be undone", "could not be undone"],
  [["failed", "undone"], "fell", "fell"],
  [["skipped"], "was left out", "were left out"],
  [["waiting"], "is not yet begun", "are not yet begun"],
];

const sumOf = (nodes: readonly PlanNode[]): string =>
  groups
    .flatMap(([statuses, one, more]) => {
      const number = nodes.filter(({ status }) => statuses.includes(status)).length;
      return number === 0 ? [] : [many(number, one, more)];
    })
    .join(", ");

/** All of them: a node tells of its last run alone. */
const Verdicts = ({ verdicts }: { readonly verdicts: readonly GivenVerdict[] }) => (
  <details class="node verdicts">
    <summary>{many(verdicts.length, "verdict")} in all</summary>
    <ol>
      {verdicts.map(({ transaction, validator, verdict, reason }) => (
        <li key={transaction}>
          <Status status={verdict ?? "open"} /> <strong>{validator}</strong>{" "}
          <a href={picked(transaction)}>{transaction}</a> <Text text={reason ?? ""} />
        </li>
      ))}
    </ol>
  </details>
);

function NodeDetail({ node, onClose }: { readonly node: PlanNode; readonly onClose: () => void }) {
  const { status, satisfied, condition, reason, evidence, reads = [], verdicts = [], runs } = node;
  return (
    <aside class="detail" aria-label="what is chosen">
      <DetailHead onClose={onClose}>
        {node.node} <NodeStatus status={status} />
      </DetailHead>
      <dl class="facts-list">
        <Fact name="begins once">{conditionWords(condition)}</Fact>
        <Fact name="that holds">{satisfied === "open" ? "not known yet" : satisfied}</Fact>
        {reason === undefined ? null : (
          <Fact name="reason">
            <Text text={reason} />
          </Fact>
        )}
        {evidence.length === 0 ? null : <Fact name="began on">{callsOf(evidence)}</Fact>}
        {reads.length === 0 ? null : <Fact name="was made of">{callsOf(reads)}</Fact>}
      </dl>
      {verdicts.length === 0 ? null : (
        <section>
          <h3>Verdicts</h3>
          <ul class="plain">
            {verdicts.map(({ validator, stage, verdict, by, tokens, reason: why }, k) => (
              <li key={k}>
                <Status status={verdict} /> <strong>{validator}</strong>{" "}
                <span class="muted">
                  {stages[stage] ?? stage}, by {said(by)}, shown {many(tokens, "token")}
                </span>
                {why === undefined ? null : (
                  <div>
                    <Text text={why} />
                  </div>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h3>Runs</h3>
        {runs.length === 0 ? <p class="muted">It has not been begun.</p> : null}
        <ul class="plain">
          {runs.map(({ transaction, name, outcome, recovery }) => (
            <li key={transaction}>
              <Status status={outcome} /> {name} <a href={picked(transaction)}>{transaction}</a>{" "}
              <span class="muted">{recovery === "none" ? "" : recoveryWords[recovery]}</span>
            </li>
          ))}
        </ul>
      </section>
    </aside>
  );
}

/** What was judged. */
const stages: Readonly<Record<string, string>> = {
  before: "of its input",
  output: "of its output",
  commit: "of what it would commit",
  plan: "of the plan",
};

const recoveryWords: Readonly<Record<PlanNode["runs"][number]["recovery"], string>> = {
  none: "nothing undoes it",
  registered: "what undoes it is known",
  undoing: "it is being undone",
  undone: "it was undone",
  stuck: "it could not be undone",
};

const callsOf = (runs: readonly { readonly node: string; readonly call?: string | undefined }[]): string =>
  runs.map(({ node, call }) => call ?? node).join(", ");
