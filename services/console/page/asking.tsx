/** Asking: a dialog that sends one thing, and says that it is not answered yet, or why it was refused. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "./api.ts";
import { Refused } from "./marks.tsx";
import { Silence } from "./silence.tsx";

/** What repeats are known by; 16 bytes of chance, which a page has without TLS too. */
export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

interface Props {
  readonly title: string;
  /** Which saga, call or letter. */
  readonly about: string;
  readonly isGrave?: boolean;
  /** False while something is missing that is on its way. */
  readonly isReady?: boolean;
  /** Rejects with a Refusal, which is shown; what was typed stays. */
  readonly send: () => Promise<unknown>;
  readonly onClose: (isStored: boolean) => void;
  readonly children: ComponentChildren;
}

export function Asking({ title, about, isGrave = false, isReady = true, send, onClose, children }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<Refusal>();
  useEffect(() => box.current?.showModal(), []);
  const submit = () => {
    setSending(true);
    setError(undefined);
    send().then(
      () => onClose(true),
      (reason: unknown) => {
        setSending(false);
        if (reason instanceof Refusal) setError(reason);
      },
    );
  };
  return (
    <dialog ref={box} aria-label={title} onClose={() => onClose(false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <h2>
          {title} <span class="muted">{about}</span>
        </h2>
        {children}
        {error === undefined ? null : <Refused error={error} />}
        {isSending ? <Silence then="what you sent is on its way" /> : null}
        <div class="buttons">
          <button type="button" onClick={() => onClose(false)}>
            Leave it
          </button>
          <button class={isGrave ? "main grave" : "main"} disabled={isSending || !isReady}>
            {title}
          </button>
        </div>
      </form>
    </dialog>
  );
}
