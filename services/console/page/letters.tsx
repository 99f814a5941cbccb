/** Letters: what no host or worker could take, and what a person does about it. */
import { useState } from "preact/hooks";
import type { LetterBody, LetterDocument } from "../documents.ts";
import { post, useAsked } from "./api.ts";
import { Asking } from "./asking.tsx";
import { Refused, Waiting } from "./marks.tsx";
import { useMayAct } from "./me.tsx";
import { sagaAt } from "./route.ts";
import { many, moment } from "./words.ts";

interface Props {
  readonly letters: readonly LetterDocument[];
  readonly inAll: number;
  /** Has the mesh looked at again. */
  readonly again: () => void;
}

export function Letters({ letters, inAll, again }: Props) {
  return (
    <section aria-label="dead letters">
      <h2>{inAll === 0 ? "No dead letters" : many(inAll, "dead letter")}</h2>
      {inAll > letters.length ? <p class="muted">The newest {letters.length} are shown.</p> : null}
      <ul class="letters plain">
        {letters.map((letter) => (
          <Letter key={letter.letter} letter={letter} again={again} />
        ))}
      </ul>
    </section>
  );
}

function Letter({ letter, again }: { readonly letter: LetterDocument; readonly again: () => void }) {
  const { letter: number, saga, subject, code, reason, at } = letter;
  const [asked, ask] = useState<LetterBody["do"]>();
  const [isOpen, setOpen] = useState(false);
  const isRetry = asked === "retry";
  const mayAct = useMayAct();
  return (
    <li>
      <p>
        <code>{code}</code> {reason.replace(`[${code}] `, "")}
      </p>
      <p class="muted">
        {number}, {moment(at)}, {saga === undefined ? subject : <a href={sagaAt(saga)}>{saga}</a>}
      </p>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary class="muted">what it says</summary>
        {isOpen ? <Body number={number} /> : null}
      </details>
      {mayAct ? (
        <div class="buttons">
          <button onClick={() => ask("retry")} aria-label={`Send again letter ${number}`}>
            Send again
          </button>
          <button class="grave" onClick={() => ask("drop")} aria-label={`Discard letter ${number}`}>
            Discard
          </button>
        </div>
      ) : null}
      {asked === undefined ? null : (
        <Asking
          title={isRetry ? "Send again" : "Discard"}
          about={`letter ${number}`}
          isGrave={!isRetry}
          send={() => post(`/letters/${number}`, { do: asked } satisfies LetterBody)}
          onClose={(isStored) => {
            ask(undefined);
            if (isStored) again();
          }}
        >
          <p>
            {isRetry
              ? "It is sent to where it was sent first, as it was. A saga that has it already takes it as known."
              : "What it says is lost for good."}
          </p>
        </Asking>
      )}
    </li>
  );
}

function Body({ number }: { readonly number: number }) {
  const { data, error } = useAsked<LetterDocument>(`/letters/${number}`);
  if (error !== undefined) return <Refused error={error} />;
  if (data === undefined) return <Waiting lines={2} />;
  return <pre class="text">{data.body}</pre>;
}
