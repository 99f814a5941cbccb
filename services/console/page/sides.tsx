/** Sides: a saga's state in sum, and by each of its three sides: what it is about, what was done, and what rests on what. */
import type { SagaDocument, SideDocument } from "../documents.ts";
import { useAsked } from "./api.ts";
import { conditionWords } from "./condition.ts";
import { Fact, Refused, Status, Waiting } from "./marks.tsx";
import { NodeStatus } from "./plan.tsx";
import { chosen, go, picked, usePlace } from "./route.ts";
import { Part, StateTab } from "./state.tsx";
import { Value } from "./value.tsx";
import { many, moment, said } from "./words.ts";

type State = SideDocument["state"];
type Side<D extends State["dimension"]> = Extract<State, { dimension: D }>;

const dimensions = ["application", "operation", "dependency"] as const satisfies State["dimension"][];

interface Props {
  readonly document: SagaDocument | undefined;
  readonly turn: number | undefined;
  readonly turns: number;
}

export function SidesTab({ document, turn, turns }: Props) {
  const { query } = usePlace();
  const side = dimensions.find((one) => one === query.get("side"));
  const choice = (words: string, next: string | undefined) => (
    <button
      key={words}
      class="chip"
      aria-pressed={side === next}
      onClick={() => go(chosen({ side: next }), true)}
    >
      {words}
    </button>
  );
  return (
    <>
      <div class="chips sides" role="group" aria-label="side of the state">
        {choice("in sum", undefined)}
        {dimensions.map((one) => choice(one, one))}
      </div>
      {side === undefined || document === undefined ? (
        <StateTab document={document} />
      ) : (
        <SideView
          key={side}
          path={`/sagas/${encodeURIComponent(document.saga)}/state/${side}?turn=${turn ?? turns}`}
        />
      )}
    </>
  );
}

function SideView({ path }: { readonly path: string }) {
  const { data, error } = useAsked<SideDocument>(path, true);
  if (error !== undefined && data === undefined) return <Refused error={error} />;
  if (data === undefined) return <Waiting lines={10} />;
  const { state, leftOut } = data;
  return (
    <div class="state" tabIndex={0} role="region" aria-label={`${state.dimension} state`}>
      {leftOut === 0 ? null : <p class="muted">{many(leftOut, "earlier row")} are left out.</p>}
      {state.dimension === "application" ? (
        <Application state={state} />
      ) : state.dimension === "operation" ? (
        <Operation state={state} />
      ) : (
        <Dependency state={state} />
      )}
    </div>
  );
}

const None = () => <p class="muted">none</p>;

function Application({ state }: { readonly state: Side<"application"> }) {
  const { input, entities, standing, memory, signals, changes, checkpoints } = state;
  const heard = [
    ["Signals, the latest of each", signals],
    ["Said of nodes from outside", changes],
  ] as const;
  return (
    <>
      <Part title="What has committed">
        {Object.keys(entities).length === 0 ? <None /> : <Value value={entities} />}
      </Part>
      <Part title="What stands">
        {standing.length === 0 ? <None /> : null}
        <ul class="plain">
          {standing.map(({ intent, node, call, name, key, how, task }) => (
            <li key={intent}>
              <Status status={how} /> {node ?? call ?? ""} {name} <a href={picked(intent)}>{intent}</a>{" "}
              <code class="muted">{key}</code>
              {task === undefined ? null : ` asks ${task.to.join(", ") || "anyone"}`}
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Input">
        <Value value={input} />
      </Part>
      {memory === undefined ? null : (
        <Part title="Memory">
          <Value value={memory} />
        </Part>
      )}
      {heard.map(([title, values]) =>
        Object.keys(values).length === 0 ? null : (
          <Part key={title} title={title}>
            <Value value={values} />
          </Part>
        ),
      )}
      <Part title="Turns to which it can be taken back">
        {checkpoints.length === 0 ? <None /> : null}
        <ul class="plain">
          {checkpoints.map(({ turn, at, committed }) => (
            <li key={turn}>
              <a href={chosen({ turn: String(turn) })}>turn {turn}</a> <span class="muted">{moment(at)}</span>{" "}
              {committed.join(", ")}
            </li>
          ))}
        </ul>
      </Part>
    </>
  );
}

function Operation({ state: { transactions } }: { readonly state: Side<"operation"> }) {
  return (
    <Part title={many(transactions.length, "transaction")}>
      {transactions.map((one) => (
        <details class="node" key={one.transaction}>
          <summary>
            <Status status={one.outcome} /> {one.node ?? one.call ?? ""} <strong>{one.name}</strong>{" "}
            {one.undoes === undefined ? "" : `undoes ${one.undoes} `}
            <span class="muted">
              {one.recovery === "none" ? "" : said(`undoing: ${one.recovery}`)} {one.reason ?? ""}
            </span>
          </summary>
          <div class="members">
            <dl class="facts-list">
              <Fact name="transaction">
                <a href={picked(one.transaction)}>{one.transaction}</a>, {many(one.attempts, "attempt")}
              </Fact>
              {one.reasoning === undefined ? null : <Fact name="its model said">{one.reasoning}</Fact>}
              {one.compensation === undefined ? null : <Fact name="undone by">{one.compensation.name}</Fact>}
            </dl>
            {one.input === undefined ? null : <Value name="input" value={one.input} />}
            {one.output === undefined ? null : <Value name="output" value={one.output} />}
          </div>
        </details>
      ))}
    </Part>
  );
}

function Dependency({ state: { nodes, edges, effects } }: { readonly state: Side<"dependency"> }) {
  return (
    <>
      {nodes.length === 0 ? null : (
        <Part title={many(nodes.length, "node")}>
          <ul class="plain">
            {nodes.map(({ node, status, satisfied, condition, evidence, verdicts = [], reason }) => (
              <li key={node}>
                <NodeStatus status={status} /> <a href={chosen({ tab: "plan", node })}>{node}</a>{" "}
                <span class="muted">
                  once {conditionWords(condition)}: {satisfied === "open" ? "not known yet" : satisfied}
                  {evidence.length === 0
                    ? ""
                    : `; began on ${evidence.map((one) => one.call ?? one.node).join(", ")}`}
                  {verdicts.map(({ validator, verdict }) => `; ${validator}: ${verdict}`).join("")}
                  {reason === undefined ? "" : `; ${reason}`}
                </span>
              </li>
            ))}
          </ul>
        </Part>
      )}
      {edges.length === 0 ? null : (
        <Part title={many(edges.length, "edge")}>
          <ul class="plain">
            {edges.map(({ from, to, of, satisfied }) => (
              <li key={`${from} ${to}`}>
                {from} → {to}{" "}
                <span class="muted">
                  by {of.join(" and ")}: {satisfied === "open" ? "not known yet" : satisfied}
                </span>
              </li>
            ))}
          </ul>
        </Part>
      )}
      <Part title="What effects that stand rest on">
        {effects.length === 0 ? <None /> : null}
        <ul class="plain">
          {effects.map(({ intent, call, dependsOn }) => (
            <li key={intent}>
              <a href={picked(intent)}>{intent}</a> {call ?? ""}{" "}
              <span class="muted">
                {dependsOn === undefined
                  ? "all that was settled before it"
                  : dependsOn.length === 0
                    ? "nothing"
                    : dependsOn.join(", ")}
              </span>
            </li>
          ))}
        </ul>
      </Part>
    </>
  );
}
