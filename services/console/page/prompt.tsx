/** Prompt: what a model was sent, made again from the ledger when somebody asks, and whether its digest is the recorded one. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { PromptDocument } from "../documents.ts";
import { useAsked } from "./api.ts";
import { Refused, Waiting } from "./marks.tsx";
import { Text, Value } from "./value.tsx";
import { many } from "./words.ts";

interface Props {
  readonly saga: string;
  readonly intent: string;
  /** Recorded before the call. */
  readonly digest: string;
}

export function PromptPart({ saga, intent, digest }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="prompt">
      <h3>What it was sent</h3>
      <p class="muted wrap">
        Recorded before it was sent: <code>{digest}</code>
      </p>
      {isOpen ? (
        <Prompt saga={saga} intent={intent} />
      ) : (
        <button onClick={() => setOpen(true)}>Show what it was sent</button>
      )}
    </section>
  );
}

function Prompt({ saga, intent }: Pick<Props, "saga" | "intent">) {
  const path = `/sagas/${encodeURIComponent(saga)}/intents/${encodeURIComponent(intent)}/prompt`;
  const { data, error } = useAsked<PromptDocument>(path);
  if (error !== undefined && data === undefined) return <Refused error={error} />;
  if (data === undefined) return <Waiting lines={8} />;
  const { instructions, messages, tools, ...rest } = data.request as unknown as Request; // As a model port is given it.
  return (
    <>
      <Proof document={data} />
      <Folded words="Instructions" size={instructions.length} isOpen>
        <Text text={instructions} />
      </Folded>
      <Folded words={many(messages.length, "message")} size={sizeOf(messages)} isOpen>
        {messages.map((message, k) => (
          <Folded
            key={k}
            words={`${k + 1}. ${message.role ?? "…"}`}
            size={sizeOf(message)}
            isOpen={k === messages.length - 1}
          >
            <Value value={message} />
          </Folded>
        ))}
      </Folded>
      <Folded words={many(tools.length, "tool")} size={sizeOf(tools)}>
        {tools.map((tool, k) => (
          <Folded key={k} words={tool.name ?? "…"} size={sizeOf(tool)}>
            <Value value={tool} />
          </Folded>
        ))}
      </Folded>
      <Value value={rest} />
      <p>
        <a href={`/api${path}?whole=1`} download={`${saga}-${intent}.json`}>
          All of it, as a file
        </a>
      </p>
    </>
  );
}

/** What is shown of a request; of a long list the last member may say how many more there are. */
interface Request {
  readonly instructions: string;
  readonly messages: readonly { readonly role?: string }[];
  readonly tools: readonly { readonly name?: string }[];
}

function Proof({ document: { digest, sent, proved } }: { readonly document: PromptDocument }) {
  return (
    <>
      <p>
        <span class={`status ${proved ? "succeeded" : "failed"}`}>{proved ? "agrees" : "differs"}</span>{" "}
        {proved
          ? "Made again from the ledger just now: its digest is the one that was recorded."
          : "This is not what was sent: what today's definitions make of the ledger has another digest."}
      </p>
      {digest.recomputed === digest.recorded ? null : (
        <p class="muted wrap">
          Made again: <code>{digest.recomputed}</code>
        </p>
      )}
      {sent === undefined ? null : (
        <p class="muted wrap">
          Less than the conversation was sent; the digest of that, recorded with the reply:{" "}
          <code>{sent.recorded ?? "none yet"}</code>
          {sent.recorded === undefined || sent.recorded === sent.recomputed ? null : (
            <>
              , made again: <code>{sent.recomputed ?? "none"}</code>
            </>
          )}
        </p>
      )}
    </>
  );
}

interface FoldedProps {
  readonly words: string;
  /** Characters. */
  readonly size: number;
  readonly isOpen?: boolean;
  readonly children: ComponentChildren;
}

/** Larger ones are folded at first. */
const openMax = 4_000;

function Folded({ words, size, isOpen = false, children }: FoldedProps) {
  return (
    <details class="node" open={isOpen && size <= openMax}>
      <summary>
        {words} <span class="muted">{many(size, "character")}</span>
      </summary>
      <div class="members">{children}</div>
    </details>
  );
}

const sizeOf = (value: unknown): number => JSON.stringify(value).length;
