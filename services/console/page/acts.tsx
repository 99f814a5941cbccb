/** Acts: what a person can tell a saga. Each is sent once, however often a request for it is repeated. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { SagaDocument, SignalBody } from "../documents.ts";
import { post, Refusal } from "./api.ts";
import { Refused } from "./marks.tsx";

interface Act {
  readonly name: string;
  readonly label: string;
  readonly asks: string;
  readonly field: "reason" | "text" | "json";
  readonly isGrave?: boolean;
}

const cancel: Act = {
  name: "cancel",
  label: "Cancel",
  asks: "It undoes what it did, then ends. Why?",
  field: "reason",
  isGrave: true,
};
const pause: Act = {
  name: "pause",
  label: "Pause",
  asks: "It takes nothing more until it is resumed. Why?",
  field: "reason",
};
const resume: Act = {
  name: "resume",
  label: "Resume",
  asks: "It goes on with what came meanwhile. Why?",
  field: "reason",
};
const instruct: Act = {
  name: "instruct",
  label: "Instruct",
  asks: "What its model is to be told",
  field: "text",
};
const signal: Act = { name: "", label: "Signal", asks: "Its data: JSON, or a plain text", field: "json" };

export function Acts({ document }: { readonly document: SagaDocument }) {
  const [act, setAct] = useState<Act>();
  const [told, setTold] = useState<string>();
  if (document.phase === "ended" || document.asOf !== undefined) return null;
  const acts = [
    signal,
    ...(document.spent.steps > 0 ? [instruct] : []),
    document.paused === undefined ? pause : resume,
    cancel,
  ];
  return (
    <div class="acts">
      <span class="told muted" role="status">
        {told ?? ""}
      </span>
      {acts.map((one) => (
        <button
          key={one.label}
          class={one.isGrave === true ? "grave" : undefined}
          onClick={() => setAct(one)}
        >
          {one.label}
        </button>
      ))}
      {act === undefined ? null : (
        <Asking
          act={act}
          saga={document.saga}
          onClose={(name) => {
            setAct(undefined);
            if (name !== undefined) setTold(`${name} is stored`);
          }}
        />
      )}
    </div>
  );
}

/** What repeats are known by; 16 bytes of chance, which a page has without TLS too. */
const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

interface AskingProps {
  readonly act: Act;
  readonly saga: string;
  /** With the name of what was stored, if anything was. */
  readonly onClose: (stored?: string) => void;
}

function Asking({ act, saga, onClose }: AskingProps) {
  const box = useRef<HTMLDialogElement>(null);
  const [id] = useState(newId);
  const [name, setName] = useState(act.name);
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<Refusal>();
  useEffect(() => box.current?.showModal(), []);
  const send = () => {
    setSending(true);
    const body: SignalBody = { name, data: dataOf(act, text), id };
    post(`/sagas/${encodeURIComponent(saga)}/signals`, body).then(
      () => onClose(name),
      (reason: unknown) => {
        setSending(false);
        if (reason instanceof Refusal) setError(reason);
      },
    );
  };
  return (
    <dialog ref={box} aria-label={act.label} onClose={() => onClose()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <h2>
          {act.label} <span class="muted">{saga}</span>
        </h2>
        {act.field !== "json" ? null : (
          <label>
            Its name
            <input
              required
              value={name}
              autocapitalize="off"
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
        )}
        <label>
          {act.asks}
          <textarea
            rows={4}
            required={act.field === "text"}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        {error === undefined ? null : <Refused error={error} />}
        <div class="buttons">
          <button type="button" onClick={() => onClose()}>
            Leave it
          </button>
          <button class={act.isGrave === true ? "main grave" : "main"} disabled={isSending}>
            {act.label}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function dataOf({ field }: Act, text: string): unknown {
  if (field === "json") return jsonOrText(text);
  if (text.trim() === "") return field === "reason" ? {} : null;
  return field === "reason" ? { reason: text } : { text };
}

/** As the command line reads a signal's data: what is no JSON is a text. */
export function jsonOrText(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
