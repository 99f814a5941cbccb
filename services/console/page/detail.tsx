/** Detail: one thing that happened, whole: why, with what, what came of it, what it cost. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { IntentStory, TimelineDocument, TimelineItem, Turn } from "../documents.ts";
import { useAsked } from "./api.ts";
import { FindingDialog, isUnsettled } from "./finding.tsx";
import { ForkDialog } from "./fork.tsx";
import { Fact, Refused, Status, useNow, Waiting } from "./marks.tsx";
import { useMayAct } from "./me.tsx";
import { PromptPart } from "./prompt.tsx";
import { sagaAt, taskAt } from "./route.ts";
import { Text, Value } from "./value.tsx";
import { count, lasted, left, moment, money, said } from "./words.ts";

interface Props {
  readonly saga: string;
  readonly at: string;
  readonly item: TimelineItem | undefined;
  /** What is being said for it. */
  readonly words: string | undefined;
  readonly isChild?: boolean;
  readonly onClose: () => void;
}

/** Of a child of the saga that is shown. */
export function ChildDetail({ saga, at, onClose }: Omit<Props, "item" | "words">) {
  const { data, error } = useAsked<TimelineDocument>(`/sagas/${encodeURIComponent(saga)}/timeline`);
  const item = data?.items.find(({ id }) => id === at);
  if (data !== undefined || error === undefined)
    return <Detail {...{ saga, at, item, onClose }} words={undefined} isChild />;
  return (
    <aside class="detail" aria-label="what is chosen">
      <DetailHead onClose={onClose}>{saga}</DetailHead>
      <Refused error={error} />
    </aside>
  );
}

/** What is chosen, and a way to choose it no more. */
export const DetailHead = ({ onClose, children }: { onClose: () => void; children: ComponentChildren }) => (
  <div class="detail-head">
    <h2>{children}</h2>
    <button class="quiet" onClick={onClose} aria-label="close">
      ✕
    </button>
  </div>
);

export function Detail({ saga, at, item, words, isChild = false, onClose }: Props) {
  return (
    <aside class="detail" aria-label="what is chosen">
      <DetailHead onClose={onClose}>
        {item === undefined ? at : `${said(item.kind)} ${item.label}`}{" "}
        {item === undefined ? null : <Status status={item.status} />}
      </DetailHead>
      {isChild ? (
        <p class="muted">
          of <a href={sagaAt(saga)}>{saga}</a>
        </p>
      ) : null}
      {item === undefined ? null : <Facts saga={saga} item={item} />}
      {item === undefined || item.kind === "end" ? null : <ActsHere saga={saga} item={item} />}
      {words === undefined ? null : (
        <section>
          <h3>Being said</h3>
          <p class="text">{words}</p>
        </section>
      )}
      {item === undefined ? null : item.intent === undefined || item.kind === "vote" ? (
        <Event saga={saga} item={item} />
      ) : (
        <Story saga={saga} item={item} />
      )}
    </aside>
  );
}

/** What can be done from this one thing. */
function ActsHere({ saga, item }: { readonly saga: string; readonly item: TimelineItem }) {
  const [asked, ask] = useState<"fork" | "settle">();
  const over = () => ask(undefined);
  if (!useMayAct()) return null;
  return (
    <div class="acts">
      {isUnsettled(item) ? <button onClick={() => ask("settle")}>Settle…</button> : null}
      <button onClick={() => ask("fork")}>Fork from here…</button>
      {asked === "settle" ? <FindingDialog saga={saga} item={item} onClose={over} /> : null}
      {asked === "fork" ? <ForkDialog saga={saga} turn={item.turn} onClose={over} /> : null}
    </div>
  );
}

function Facts({ saga, item }: { readonly saga: string; readonly item: TimelineItem }) {
  const isOpen = item.status === "open";
  const now = useNow(1_000, isOpen);
  const until = item.until ?? (isOpen ? now : undefined);
  const turnOf = (turn: number) => <a href={sagaAt(saga, `?tab=turns&turn=${turn}`)}>turn {turn}</a>;
  return (
    <dl class="facts-list">
      <Fact name="decided">
        {moment(item.at)}, {turnOf(item.turn)}
      </Fact>
      {until === undefined ? null : (
        <Fact name={isOpen ? "for" : "took"}>
          {lasted(Math.max(0, until - item.at))}
          {item.settledTurn === undefined ? null : <>, {turnOf(item.settledTurn)}</>}
        </Fact>
      )}
      {item.attempts > 1 ? <Fact name="attempts">{item.attempts}</Fact> : null}
      {item.tokens === undefined ? null : (
        <Fact name="cost">
          {count(item.tokens)} tokens{item.usd === undefined ? "" : `, ${money(item.usd)}`}
        </Fact>
      )}
      {item.by === undefined ? null : <Fact name="said by">{item.by}</Fact>}
      {item.dueAt === undefined || !isOpen ? null : <Fact name="until">{left(item.dueAt, now)}</Fact>}
      {item.reason === undefined ? null : (
        <Fact name="reason">
          <Text text={item.reason} />
        </Fact>
      )}
      {item.saga === undefined ? null : (
        <Fact name="saga">
          <a href={sagaAt(item.saga)}>{item.saga}</a>
        </Fact>
      )}
      {item.kind !== "task" || item.intent === undefined ? null : (
        <Fact name="task">
          <a href={taskAt(saga, item.intent)}>{isOpen ? "decide it" : "what was decided"}</a>
        </Fact>
      )}
    </dl>
  );
}

/** An intent. It is read again when a turn has changed it. */
function Story({ saga, item }: { readonly saga: string; readonly item: TimelineItem }) {
  const path = `/sagas/${encodeURIComponent(saga)}/intents/${encodeURIComponent(item.intent ?? "")}`;
  const { data, error } = useAsked<IntentStory>(`${path}?changed=${item.changed}`, true);
  if (error !== undefined) return <Refused error={error} />;
  if (data === undefined) return <Waiting lines={6} />;
  const { input, output } = data.intent;
  const reply =
    item.kind === "decision" || item.kind === "model"
      ? (output as { text?: string } | undefined)?.text
      : undefined;
  return (
    <>
      {reply === undefined || reply === "" ? null : (
        <section>
          <h3>Said</h3>
          <Text text={reply} />
        </section>
      )}
      {input === undefined ? null : (
        <section>
          <h3>Arguments</h3>
          <Value value={input} />
        </section>
      )}
      {output === undefined ? null : (
        <section>
          <h3>Result</h3>
          <Value value={output} />
        </section>
      )}
      {data.intent.intent.kind !== "model" ? null : (
        <PromptPart saga={saga} intent={data.intent.intent.id} digest={data.intent.intent.request} />
      )}
      <section>
        <h3>Why</h3>
        <ol class="why">
          {data.why.map(({ turn, text, about }, k) => (
            <li key={k}>
              <span class="muted">#{turn}</span> <span class={`about ${about}`}>{text}</span>
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}

/** What came from outside: the turn's own events. */
function Event({ saga, item }: { readonly saga: string; readonly item: TimelineItem }) {
  const { data, error } = useAsked<Turn>(`/sagas/${encodeURIComponent(saga)}/turns/${item.turn}`);
  if (error !== undefined) return <Refused error={error} />;
  if (data === undefined) return <Waiting lines={4} />;
  const step = Number(item.id.split("-")[2] ?? 0);
  const event = data.steps[item.kind === "start" || item.kind === "takeover" ? 0 : step]?.event;
  return (
    <section>
      <h3>{item.kind === "takeover" ? "What it went on with" : "What came in"}</h3>
      <p class="muted">{item.detail}</p>
      <Value value={event} />
    </section>
  );
}
