/**
 * Task detail: one task as a reviewer reads it, and what to type.
 */
import type { TaskDetailDocument } from "../../../protocol/documents/task.ts";
import { simulatedWords } from "../../client/tasks.ts";
import type { TaskDetail } from "../../client/task-detail.ts";
import { brief, dateOf } from "./describe.ts";
import { taskDocument } from "../frame/task.ts";

export const taskDetailDocument = (task: TaskDetail): TaskDetailDocument => ({
  ...(task as Omit<TaskDetailDocument, "task" | "commands">), // The document is the detail, with its lists writable.
  ...taskDocument(task),
  commands: task.state === "open" ? commandsFor(task) : [],
});

function commandsFor({ saga, intent, about, to, digest, input }: TaskDetail): string[] {
  const task = `${saga}/${intent}`;
  // A name that the system's user need not have; a role is typed instead: --as.
  const by = to.length === 0 ? "" : ` --by ${quoted(to[0] ?? "")}`;
  const meant = digest === undefined ? "" : ` --digest ${digest.slice(0, 16)}`;
  switch (about) {
    case "approval":
      return [
        `sagamesh approve ${task}${by}${meant}`,
        `sagamesh deny ${task}${by} --reason WHY`,
        `sagamesh edit ${task}${by}${meant} --input ${quoted(JSON.stringify(input ?? null))}`,
      ];
    case "question":
      return [`sagamesh answer ${task}${by} JSON`, `sagamesh deny ${task}${by} --reason WHY`];
    case "doubt":
      return [
        `sagamesh answer ${task}${by} '{"outcome":"happened","output":…}'`,
        `sagamesh answer ${task}${by} '{"outcome":"did_not_happen"}'`,
      ];
    case "budget":
      return [`sagamesh answer ${task} '{"steps":10}'`, `sagamesh deny ${task} --reason WHY`];
    case "stuck":
      return [`sagamesh approve ${task}`, `sagamesh deny ${task}`];
  }
}

const quoted = (text: string): string =>
  /^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Each line begins with what it tells; what there is nothing to tell of is left out. What a model or a person said
 * stays on its line, and what a terminal would not show is spelt out: it must not pose as something else.
 */
export function describeTask(task: TaskDetailDocument): string {
  const { about, agent, question, of, input, digest, denial, commands, simulated } = task;
  const rows: [string, string | undefined][] = [
    ["state", stateOf(task)],
    ["for", `${task.to.join(", ") || "anyone"}${quorumOf(task)}`],
    ...task.votes.map((vote): [string, string] => ["vote", describeVote(vote)]),
    ["until", `${dateOf(task.dueAt)}; then ${thenOf(task)}`],
    ["follows", followsOf(task)],
    ["stand-in", standInOf(task)],
    ["reminds", task.remindEveryMs === undefined ? undefined : `every ${timeIn(task.remindEveryMs)}`],
    ...task.notices.map((notice): [string, string] => ["told by", describeNotice(notice)]),
    ["intent", of],
    ["tool", task.tool],
    ["digest", digest],
    ["undone by", undoneBy(task)],
    ["denied", denial],
    ["cost", costOf(task)],
    ["why", whyOf(task)],
  ];
  const told = rows.flatMap(([what, value]) =>
    value === undefined ? [] : [`${what.padEnd(10)} ${onOneLine(value)}`],
  );
  return visible(
    [
      `${task.task}  ${about} of ${agent}`,
      ...(simulated === undefined ? [] : [simulatedWords(simulated)]),
      onOneLine(question),
      ...(input === undefined ? [] : [JSON.stringify(input, undefined, 2)]),
      ...told,
      ...commands,
    ].join("\n"),
  );
}

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, " ");

/** Control and format characters, which move the cursor or turn the direction, by their numbers. */
const visible = (text: string): string =>
  text.replaceAll(/(?!\n)[\p{Cc}\p{Cf}]/gu, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);

const stateOf = ({ state, ended }: TaskDetailDocument): string =>
  ended === undefined ? state : `${state}: ${ended}`;

function quorumOf({ quorum = 1, votes, about }: TaskDetailDocument): string {
  if (quorum === 1) return "";
  const word = about === "approval" ? "approve" : "answer";
  const said = new Set(votes.filter(({ vote }) => vote === word).map(({ by }) => by));
  return `; ${quorum} must ${about === "approval" ? "approve" : "say the same"}, ${said.size} so far`;
}

function describeVote({
  vote,
  by,
  as,
  at,
  reason,
  answer,
  input,
}: TaskDetailDocument["votes"][number]): string {
  const role = as === undefined ? "" : ` as ${as}`;
  const said = answer ?? input;
  return `${dateOf(at)} ${by}${role}: ${vote}${said === undefined ? "" : ` ${brief(said)}`}${reason === undefined ? "" : `, ${reason}`}`;
}

function thenOf({ atDeadline, atLast, line }: TaskDetailDocument): string {
  const others = line.map(({ to, withinMs }) => `${to.join(", ") || "anyone"} for ${timeIn(withinMs)}`);
  return [...others, holds(atLast ?? atDeadline)].join(", then ");
}

function holds(atDeadline: TaskDetailDocument["atDeadline"]): string {
  switch (atDeadline.does) {
    case "escalate":
      return `${atDeadline.to.join(", ")} for ${timeIn(atDeadline.withinMs)}`;
    case "answer":
      return `the answer is ${brief(atDeadline.answer)}`;
    case "deny":
      return "it is denied";
    case "approve":
      return "it is approved without a vote";
    case "fail":
      return "it fails: no answer came in time";
    case "doubt":
      return "the saga is told that it is in doubt";
    case "leave":
      return "it is left standing";
  }
}

const timeIn = (ms: number): string => {
  const units = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ] as const;
  const [unit, name] = units.find(([size]) => ms >= size && ms % size === 0) ?? [1, "ms"];
  return `${ms / unit} ${name}`;
};

const followsOf = ({ after }: TaskDetailDocument): string | undefined =>
  after === undefined
    ? undefined
    : after.because === "edit"
      ? `${after.task}, whose arguments ${after.by ?? "a human"} changed to these`
      : `${after.task}, whose deadline passed`;

const standInOf = ({ standIn }: TaskDetailDocument): string | undefined =>
  standIn === undefined
    ? undefined
    : `${standIn.name}${standIn.saga === undefined ? "" : ` (${standIn.saga})`}: ${standIn.outcome ?? "at work"}${standIn.reason === undefined ? "" : `, ${standIn.reason}`}`;

function describeNotice({
  tool,
  reminder,
  outcome,
  attempt,
  reason,
}: TaskDetailDocument["notices"][number]): string {
  const which = reminder === 0 ? "" : `, reminder ${reminder}`;
  const tries = attempt === 1 ? "" : ` after ${attempt} attempts`;
  return `${tool}${which}: ${outcome ?? "being called"}${tries}${reason === undefined ? "" : `, ${reason}`}`;
}

function undoneBy({ undo }: TaskDetailDocument): string | undefined {
  switch (undo?.by) {
    case undefined:
      return undefined;
    case "compensation":
      return undo.tool;
    case "point_of_no_return":
      return "nothing: a point of no return";
    case "none":
      return "nothing: the tool has no compensation";
    case "nothing_to_undo":
      return "nothing: it only reads";
    case "unknown":
      return "unknown: no host has registered the tool";
  }
}

const costOf = ({ spent }: TaskDetailDocument): string =>
  `${spent.steps} decisions, ${spent.inputTokens} + ${spent.outputTokens} tokens, ${spent.usd} USD so far`;

function whyOf({ why }: TaskDetailDocument): string | undefined {
  if (why === undefined) return undefined;
  const beside = why.calls
    .filter(({ call }) => call !== why.call)
    .map(({ tool, input }) => `${tool} ${brief(input, 60)}`);
  const text = why.text === undefined ? `${why.model} gave no reason` : `${why.model}: ${why.text}`;
  return `${text}${beside.length === 0 ? "" : `; beside it ${beside.join(", ")}`}`;
}
