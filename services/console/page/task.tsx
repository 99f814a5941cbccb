/** Task: all that a person who decides needs, and the decision. */
import type { TaskStory } from "../documents.ts";
import { useAsked } from "./api.ts";
import { Decide } from "./decide.tsx";
import { useLive, useSettled } from "./live.ts";
import { Fact, Refused, Status, useNow, useTitle, Waiting } from "./marks.tsx";
import { useMayAct } from "./me.tsx";
import { sagaAt } from "./route.ts";
import { Text, Value } from "./value.tsx";
import { count, lasted, left, many, moment, money, said } from "./words.ts";

export function TaskView({ saga, intent }: { readonly saga: string; readonly intent: string }) {
  const path = `/tasks/${encodeURIComponent(saga)}/${encodeURIComponent(intent)}`;
  const { data, error, again } = useAsked<TaskStory>(path);
  useTitle(data === undefined ? "Task" : `${data.about}: ${data.tool ?? data.agent}`);
  const settled = useSettled(again, 500);
  const mayAct = useMayAct();
  useLive("moved", () => {
    if (data?.state === "open") settled();
  });
  useLive("back", settled);
  if (data === undefined)
    return (
      <main class="task">
        <h1>Task</h1>
        {error === undefined ? <Waiting lines={8} /> : <Refused error={error} />}
      </main>
    );
  return (
    <main class="task">
      <p class="muted">
        <a href="/tasks">Tasks</a> / <a href={sagaAt(saga, `?at=${encodeURIComponent(intent)}`)}>{saga}</a>
      </p>
      <h1>{data.question}</h1>
      {data.simulated === undefined ? null : (
        <p class="concern">
          SIMULATED: a fork of {data.simulated.saga} from turn {data.simulated.turn}; nothing outside is
          touched, whatever is said here
        </p>
      )}
      <Terms task={data} />
      {data.input === undefined ? null : (
        <section>
          <h2>{data.about === "approval" ? "With these arguments" : "What it is about"}</h2>
          <Value value={data.input} />
        </section>
      )}
      {data.why === undefined ? null : (
        <section>
          <h2>Why {data.why.model} wants it</h2>
          {data.why.text === undefined ? (
            <p class="muted">It gave no reason.</p>
          ) : (
            <Text text={data.why.text} />
          )}
        </section>
      )}
      {data.state === "open" && !mayAct ? (
        <p class="muted">Who looks only cannot decide it.</p>
      ) : data.state === "open" ? (
        <Decide key={data.digest ?? ""} task={data} path={path} again={again} />
      ) : (
        <Over task={data} />
      )}
      <Votes task={data} />
    </main>
  );
}

const deadlines: Readonly<Record<string, string>> = {
  deny: "it counts as denied",
  approve: "it counts as approved",
  fail: "it fails",
  doubt: "it stays in doubt",
  leave: "it is left as it is",
};

function Terms({ task }: { readonly task: TaskStory }) {
  const now = useNow(1_000);
  const { about, agent, tool, to, dueAt, atDeadline, quorum = 1, votes, undo, denial, spent, state } = task;
  const then =
    atDeadline.does === "escalate"
      ? `${atDeadline.to.join(", ") || "anyone"} are asked, for ${lasted(atDeadline.withinMs)}`
      : atDeadline.does === "answer"
        ? `the answer is ${JSON.stringify(atDeadline.answer)}`
        : deadlines[atDeadline.does];
  const approvals = new Set(votes.filter(({ vote }) => vote === "approve").map(({ by }) => by)).size;
  return (
    <dl class="facts-list">
      <Fact name="about">
        {said(about)}
        {tool === undefined ? "" : ` of ${tool}`}, by {agent} <Status status={state} />
      </Fact>
      <Fact name="for">{to.length === 0 ? "anyone" : to.join(", ")}</Fact>
      <Fact name="until">
        <time dateTime={new Date(dueAt).toISOString()} title={moment(dueAt)}>
          {left(dueAt, now)}
        </time>
        , then {then}
      </Fact>
      {quorum === 1 ? null : (
        <Fact name="quorum">
          {approvals} of {quorum} have approved
        </Fact>
      )}
      {denial === undefined ? null : <Fact name="a denial">{denial}</Fact>}
      {undo === undefined ? null : <Fact name="can be undone">{undoWords[undo.by](undo.tool)}</Fact>}
      <Fact name="spent so far">
        {money(spent.usd)}, {many(spent.steps, "decision")}, {count(spent.inputTokens + spent.outputTokens)}{" "}
        tokens
      </Fact>
    </dl>
  );
}

const undoWords = {
  compensation: (tool: string | undefined) => `yes, by ${tool ?? "its compensation"}`,
  point_of_no_return: () => "no: this is a point of no return",
  nothing_to_undo: () => "it only reads",
  none: () => "no: it declares nothing that undoes it",
  unknown: () => "unknown: no host has registered the tool",
} as const;

function Over({ task: { state, ended, endedAt, endedBy } }: { readonly task: TaskStory }) {
  return (
    <p class="over">
      <Status status={state} />{" "}
      {endedBy === undefined ? "" : `by ${endedBy.by}${endedBy.as === undefined ? "" : ` as ${endedBy.as}`}`}
      {endedAt === undefined ? "" : `, ${moment(endedAt)}`}
      {ended === undefined ? "" : `: ${ended}`}
    </p>
  );
}

function Votes({ task: { votes } }: { readonly task: TaskStory }) {
  if (votes.length === 0) return null;
  return (
    <section>
      <h2>Said so far</h2>
      <ul class="plain">
        {votes.map(({ vote, by, as, at, reason }, k) => (
          <li key={k}>
            <strong>{vote}</strong> by {by}
            {as === undefined ? "" : ` as ${as}`}, {moment(at)}
            {reason === undefined ? "" : `: ${reason}`}
          </li>
        ))}
      </ul>
    </section>
  );
}
