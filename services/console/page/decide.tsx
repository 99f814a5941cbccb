/** Decide: what a person says of a task, and the form it is said in. */
import { useEffect, useState } from "preact/hooks";
import type { TaskStory, ToolSchema, VoteBody } from "../documents.ts";
import { post, Refusal, useAsked } from "./api.ts";
import { type Field, jsonOrText, type Typed, valueIn } from "./fields.ts";
import { Fields, formFor } from "./form.tsx";
import { Refused } from "./marks.tsx";
import { me } from "./me.tsx";
import { keepName, keptName } from "./name.ts";
import { useStore } from "./store.ts";

/** Arguments in the place of the model's. */
interface Edited {
  readonly fields: readonly Field[];
  readonly typed: Typed;
}

interface Props {
  readonly task: TaskStory;
  readonly path: string;
  /** Has the task read again. */
  readonly again: () => void;
}

/** How an answer is asked for, where one is. */
const answers: Readonly<Record<string, string>> = {
  question: "The answer: JSON, or a plain text",
  doubt: "What it gave, if it happened: JSON",
  budget: 'More, for example {"steps":10}',
};

export function Decide({ task, path, again }: Props) {
  const { about, to } = task;
  const voter = useVoter(to);
  const { by } = voter;
  const [reason, setReason] = useState("");
  const [answer, setAnswer] = useState("");
  const [edited, setEdited] = useState<Edited>();
  const { sent, error, vote, setError } = useVote(task, path, again);
  useEffect(() => setError(undefined), [by, reason, answer, edited]);
  const say = (body: VoteBody) => {
    vote({ ...body, ...voter.said(), ...(reason === "" ? {} : { reason }) });
  };
  const asked = answers[about];
  return (
    <section class="decide" aria-label="decide">
      <h2>Decide</h2>
      <Name to={to} voter={voter} />
      {asked === undefined ? null : <Area label={asked} rows={3} text={answer} onText={setAnswer} />}
      {edited === undefined ? null : (
        <fieldset>
          <legend>Other arguments</legend>
          <Fields
            {...edited}
            label="All of them: JSON"
            onTyped={(typed) => setEdited({ ...edited, typed })}
          />
        </fieldset>
      )}
      <Area label="Reason" rows={2} text={reason} onText={setReason} />
      {error === undefined ? null : <Refused error={error} />}
      <p class="told muted" role="status">
        {sent === undefined ? "" : `${sent} is stored; the saga takes it now`}
      </p>
      <div class="buttons">
        {about === "approval" ? (
          <Change {...{ task, edited, setEdited, say, fail: setError }} isSent={sent !== undefined} />
        ) : null}
        {about === "doubt" ? (
          <Doubt answer={answer} say={say} isSent={sent !== undefined} />
        ) : (
          <button class="grave" disabled={sent !== undefined} onClick={() => say({ vote: "deny" })}>
            Deny
          </button>
        )}
        {about === "doubt" ? null : asked === undefined ? (
          <button
            class="main"
            disabled={sent !== undefined || edited !== undefined}
            onClick={() => say({ vote: "approve" })}
          >
            Approve
          </button>
        ) : (
          <button
            class="main"
            disabled={sent !== undefined || answer.trim() === ""}
            onClick={() => say({ vote: "answer", answer: jsonOrText(answer) })}
          >
            Answer
          </button>
        )}
      </div>
    </section>
  );
}

/** Stores a vote that is bound to the arguments that were shown; which one is on its way, and why the last was refused. */
function useVote({ digest, votes }: TaskStory, path: string, again: () => void) {
  const [sent, setSent] = useState<string>();
  const [error, setError] = useState<Refusal>();
  // Another person may speak here once it is taken.
  useEffect(() => setSent(undefined), [votes.length]);
  const vote = (body: VoteBody) => {
    setSent(body.vote);
    setError(undefined);
    post(path, { ...body, ...(digest === undefined ? {} : { digest }) }).then(again, (refused: unknown) => {
      setSent(undefined);
      if (refused instanceof Refusal) setError(refused);
      again();
    });
  };
  return { sent, error, vote, setError };
}

/** As whom a person speaks: under the name that the proxy gives them, else under the one that they type. */
function useVoter(to: readonly string[]) {
  const who = useStore(me);
  const [claimed, claim] = useState(() => keptName() || (to.length === 1 ? (to[0] ?? "") : ""));
  const isNamed = who?.name !== undefined;
  const by = who?.name ?? claimed;
  // Whom the proxy names is asked as one of a group, where the group is asked and not they.
  const as = to.includes(by) ? undefined : who?.groups?.find((one) => to.includes(one));
  const said = (): Pick<VoteBody, "by" | "as"> => {
    if (!isNamed) keepName(by);
    return { ...(by === "" ? {} : { by }), ...(as === undefined ? {} : { as }) };
  };
  return { by, as, isNamed, claim, said };
}

interface NameProps {
  readonly to: readonly string[];
  readonly voter: ReturnType<typeof useVoter>;
}

const Name = ({ to, voter: { by, as, isNamed, claim } }: NameProps) =>
  isNamed ? (
    <p class="muted">
      As {by}
      {as === undefined ? "" : `, ${as}`}
    </p>
  ) : (
    <label>
      Your name
      <input
        value={by}
        autocomplete="username"
        placeholder={to.join(", ")}
        onInput={(event) => claim(event.currentTarget.value)}
      />
    </label>
  );

interface AreaProps {
  readonly label: string;
  readonly rows: number;
  readonly text: string;
  readonly onText: (text: string) => void;
}

const Area = ({ label, rows, text, onText }: AreaProps) => (
  <label>
    {label}
    <textarea rows={rows} value={text} onInput={(event) => onText(event.currentTarget.value)} />
  </label>
);

interface ChangeProps {
  readonly task: TaskStory;
  readonly edited: Edited | undefined;
  readonly setEdited: (edited: Edited) => void;
  readonly say: (body: VoteBody) => void;
  readonly fail: (error: Refusal) => void;
  readonly isSent: boolean;
}

/** Puts other arguments in the place of the model's. */
function Change({ task, edited, setEdited, say, fail, isSent }: ChangeProps) {
  const { tool, input = null } = task;
  const path = tool === undefined ? undefined : `/tools/${encodeURIComponent(tool)}/input`;
  const { data } = useAsked<ToolSchema>(path);
  if (edited === undefined)
    return <button onClick={() => setEdited(formFor(data?.schema, input))}>Change…</button>;
  const send = () => {
    const read = valueIn(edited.fields, edited.typed);
    const isNoJson = "value" in read && typeof read.value === "string" && typeof input !== "string";
    const fault = "fault" in read ? read.fault : isNoJson ? "these arguments are no JSON" : undefined;
    if (fault === undefined) return say({ vote: "edit", input: (read as { value: unknown }).value });
    fail(new Refusal({ code: "INPUT_INVALID", message: fault, remedy: "Mend them." }, 400));
  };
  return (
    <button disabled={isSent} onClick={send}>
      Ask with these
    </button>
  );
}

interface DoubtProps {
  readonly answer: string;
  readonly say: (body: VoteBody) => void;
  readonly isSent: boolean;
}

/** Whether an effect happened of which nobody knows. */
function Doubt({ answer, say, isSent }: DoubtProps) {
  const output = answer.trim() === "" ? {} : jsonOrText(answer);
  return (
    <>
      <button
        disabled={isSent}
        onClick={() => say({ vote: "answer", answer: { outcome: "did_not_happen" } })}
      >
        It did not happen
      </button>
      <button
        class="main"
        disabled={isSent}
        onClick={() => say({ vote: "answer", answer: { outcome: "happened", output } })}
      >
        It happened
      </button>
    </>
  );
}
