/** Acts: what a person can tell a saga. Each is sent once, however often a request for it is repeated. */
import { useState } from "preact/hooks";
import type { SagaDocument, SignalBody, TakesDocument } from "../documents.ts";
import { post, Refusal, useAsked } from "./api.ts";
import { Asking, newId } from "./asking.tsx";
import { fieldsOf, type Typed, valueIn } from "./fields.ts";
import { Fields } from "./form.tsx";
import { useMayAct } from "./me.tsx";
import { MemoryNow } from "./memory.tsx";

interface Act {
  readonly name: string;
  readonly label: string;
  readonly asks: string;
  /** The member of the data that is typed. */
  readonly member: "reason" | "text";
  readonly isGrave?: boolean;
}

const cancel: Act = {
  name: "cancel",
  label: "Cancel",
  asks: "It undoes what it did, then ends. Why?",
  member: "reason",
  isGrave: true,
};
const pause: Act = {
  name: "pause",
  label: "Pause",
  asks: "It takes nothing more until it is resumed. Why?",
  member: "reason",
};
const resume: Act = {
  name: "resume",
  label: "Resume",
  asks: "It goes on with what came meanwhile. Why?",
  member: "reason",
};
const instruct: Act = {
  name: "instruct",
  label: "Instruct",
  asks: "What its model is to be told",
  member: "text",
};

/** Whether anything can be told to it: it goes on, and is shown as it is now. */
export const takesActs = ({ phase, asOf }: SagaDocument): boolean => phase !== "ended" && asOf === undefined;

export function Acts({ document }: { readonly document: SagaDocument }) {
  const [act, setAct] = useState<Act | "signal">();
  const [told, setTold] = useState<string>();
  if (!useMayAct() || !takesActs(document)) return null;
  const acts = [
    ...(document.spent.steps > 0 ? [instruct] : []),
    document.paused === undefined ? pause : resume,
    cancel,
  ];
  const over = (name?: string) => {
    setAct(undefined);
    if (name !== undefined) setTold(`${name} is stored`);
  };
  return (
    <div class="acts">
      <span class="told muted" role="status">
        {told ?? ""}
      </span>
      <button onClick={() => setAct("signal")}>Signal</button>
      {acts.map((one) => (
        <button
          key={one.label}
          class={one.isGrave === true ? "grave" : undefined}
          onClick={() => setAct(one)}
        >
          {one.label}
        </button>
      ))}
      {act === undefined ? null : act === "signal" ? (
        <Signalling saga={document.saga} onClose={over} />
      ) : (
        <Telling act={act} saga={document.saga} onClose={over} />
      )}
    </div>
  );
}

interface Props {
  readonly saga: string;
  /** With the name of what was stored, if anything was. */
  readonly onClose: (stored?: string) => void;
}

const signalling = (saga: string, body: SignalBody): Promise<unknown> =>
  post(`/sagas/${encodeURIComponent(saga)}/signals`, body);

/** One of the few that every saga takes, in a sentence. */
function Telling({ act, saga, onClose }: Props & { readonly act: Act }) {
  const [id] = useState(newId);
  const [text, setText] = useState("");
  const data = text.trim() === "" ? {} : { [act.member]: text };
  return (
    <Asking
      title={act.label}
      about={saga}
      isGrave={act.isGrave === true}
      send={() => signalling(saga, { name: act.name, data, id })}
      onClose={(isStored) => onClose(isStored ? act.name : undefined)}
    >
      <label>
        {act.asks}
        <textarea
          rows={4}
          required={act.member === "text"}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
    </Asking>
  );
}

/** Any other, by the form that its schema makes; `first` is chosen already. */
function Signalling({ saga, first, onClose }: Props & { readonly first?: string }) {
  const { data: takes } = useAsked<TakesDocument>(`/sagas/${encodeURIComponent(saga)}/takes`);
  const [id] = useState(newId);
  const [chosen, choose] = useState(first);
  const [typed, setTyped] = useState<Typed>(new Map());
  const name = chosen ?? takes?.signals[0]?.name ?? "";
  const fields = fieldsOf(takes?.signals.find((one) => one.name === name)?.schema);
  const send = () => {
    const read = valueIn(fields, typed);
    if ("fault" in read) return Promise.reject(misfit(read.fault));
    return signalling(saga, { name, data: read.value, id });
  };
  return (
    <Asking
      title="Signal"
      about={saga}
      isReady={takes !== undefined}
      send={send}
      onClose={(isStored) => onClose(isStored ? name : undefined)}
    >
      <label>
        Its name
        <select
          value={name}
          onChange={(event) => {
            choose(event.currentTarget.value);
            setTyped(new Map());
          }}
        >
          {takes?.signals.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
      {name === "memory" ? <MemoryNow saga={saga} /> : null}
      <Fields fields={fields} typed={typed} onTyped={setTyped} label="Its data: JSON, or a plain text" />
    </Asking>
  );
}

/** Adds to the limits of its budget. */
export function RaiseBudget({ saga }: { readonly saga: string }) {
  const [isOpen, setOpen] = useState(false);
  if (!useMayAct()) return null;
  if (!isOpen) return <button onClick={() => setOpen(true)}>Raise budget…</button>;
  return <Signalling saga={saga} first="budget" onClose={() => setOpen(false)} />;
}

export const misfit = (fault: string): Refusal =>
  new Refusal({ code: "INPUT_INVALID", message: fault, remedy: "Mend it." }, 400);
