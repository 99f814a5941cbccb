/** Tasks: what waits for people, the earliest deadline first. */
import { useState } from "preact/hooks";
import type { TasksDocument } from "../documents.ts";
import { useAsked } from "./api.ts";
import { useKeys } from "./keys.ts";
import { useLive, useSettled } from "./live.ts";
import { Refused, useNow, useTitle, Waiting } from "./marks.tsx";
import { go, sagaAt, taskAt } from "./route.ts";
import { left, many, moment, said } from "./words.ts";

const againEveryMs = 1_000;

export function TasksView() {
  useTitle("Tasks");
  const { data, error, again } = useAsked<TasksDocument>("/tasks");
  const now = useNow(1_000);
  const [place, setPlace] = useState<number>();
  const settled = useSettled(again, againEveryMs);
  useLive("sagas", settled);
  useLive("back", settled);
  const tasks = data?.tasks ?? [];
  const move = (by: number) => {
    const next = Math.min(Math.max(0, (place ?? (by > 0 ? -1 : 0)) + by), tasks.length - 1);
    setPlace(next);
    document.getElementById(`task-${next}`)?.scrollIntoView({ block: "nearest" });
  };
  const open = () => {
    const task = place === undefined ? undefined : tasks[place];
    if (task !== undefined) go(taskAt(task.saga, task.intent));
  };
  useKeys({ j: () => move(1), k: () => move(-1), Enter: open });
  return (
    <main class="tasks">
      <h1>Tasks</h1>
      <p class="found muted" aria-live="polite">
        {data === undefined
          ? " "
          : tasks.length === 0
            ? "Nothing waits for a person."
            : many(tasks.length, "task")}
        {data?.note === undefined ? "" : ` · ${data.note}`}
      </p>
      {error === undefined ? null : <Refused error={error} />}
      {data === undefined ? <Waiting lines={6} /> : null}
      <ul class="rows" aria-label="tasks">
        {tasks.map(({ task, saga, intent, about, agent, question, tool, to, dueAt, simulated }, k) => (
          <li key={task} class={k === place ? "chosen" : undefined}>
            <a href={taskAt(saga, intent)} id={`task-${k}`}>
              <span class={`about ${about}`}>{said(about)}</span>
              <span class="id">{tool ?? agent}</span>
              <span class="does">
                {simulated === undefined ? "" : "SIMULATED: "}
                {question}
              </span>
              <span class="name muted">
                {agent}, {saga}
              </span>
              <span class="to muted">{to.length === 0 ? "for anyone" : `for ${to.join(", ")}`}</span>
              <span class="when" title={moment(dueAt)}>
                {left(dueAt, now)}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {data?.unreadable.map(({ saga, code, reason }) => (
        <p key={saga} class="bad">
          <a href={sagaAt(saga)}>{saga}</a> asks somebody and cannot be read: [{code}] {reason}
        </p>
      ))}
    </main>
  );
}
