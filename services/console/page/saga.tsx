/** Saga: one saga, as it goes on or as it was after a turn. */
import { useCallback, useEffect, useState } from "preact/hooks";
import type { SagaDocument, TimelineDocument, TimelineItem } from "../documents.ts";
import { Acts } from "./acts.tsx";
import { get, Refusal, useAsked } from "./api.ts";
import { BesideTab } from "./beside.tsx";
import { ChildDetail, Detail } from "./detail.tsx";
import { GraphTab } from "./graph.tsx";
import { merged } from "./happened.ts";
import { useKeys } from "./keys.ts";
import { hear, useLive, useSettled } from "./live.ts";
import { Refused, Status, useNow, useTitle, Waiting, When } from "./marks.tsx";
import { PlanTab } from "./plan.tsx";
import { chosen, go, picked, sagaAt, taskAt, usePlace } from "./route.ts";
import { SidesTab } from "./sides.tsx";
import { StoryTab } from "./story.tsx";
import { Timeline } from "./timeline.tsx";
import { TurnsTab } from "./turns.tsx";
import { count, lasted, many, money } from "./words.ts";

const tabs = ["timeline", "plan", "graph", "story", "state", "turns", "beside"] as const;
const againEveryMs = 400;

export function SagaView({ saga }: { readonly saga: string }) {
  useTitle(saga);
  const { query } = usePlace();
  const { timeline, error, said } = useTimeline(saga);
  const turn = turnIn(query.get("turn"), timeline?.turns);
  const summary = useSummary(saga, turn, timeline?.turns);
  const tab = tabs.find((one) => one === query.get("tab")) ?? "timeline";
  const at = query.get("at") ?? undefined;
  const of = query.get("of") ?? saga;
  const close = () => go(picked(undefined), true);
  useKeys({ Escape: close });
  const item = timeline?.items.find(({ id }) => id === at);
  const fork = summary?.fork;
  const isThere: Readonly<Record<string, boolean>> = {
    plan: summary?.kind === "workflow",
    beside: fork !== undefined,
  };
  const isShown = (one: string) => tab === one || isThere[one] !== false;
  if (error !== undefined && timeline === undefined)
    return (
      <main>
        <h1>{saga}</h1>
        <Refused error={error} />
      </main>
    );
  return (
    <main class="saga">
      <Heading
        saga={saga}
        document={summary}
        asks={turn === undefined ? (timeline?.items.filter(isAsking) ?? []) : []}
      />
      <div class="bar">
        <div class="tabs" role="tablist" aria-label="what is shown">
          {tabs.filter(isShown).map((one) => (
            <button
              key={one}
              role="tab"
              aria-selected={one === tab}
              onClick={() => go(chosen({ tab: one, at: undefined, of: undefined, node: undefined }), true)}
            >
              {one}
            </button>
          ))}
        </div>
        <Slider turn={turn} turns={timeline?.turns} />
      </div>
      <div class={at === undefined ? "body" : "body with-detail"}>
        <section class="shown" role="tabpanel" aria-label={tab}>
          {timeline === undefined ? (
            <Waiting lines={12} />
          ) : (
            <Shown {...{ tab, timeline, summary, turn, at, of, said }} />
          )}
        </section>
        {at === undefined ? null : of !== saga ? (
          <ChildDetail key={`${of} ${at}`} saga={of} at={at} onClose={close} />
        ) : (
          <Detail key={at} saga={saga} at={at} item={item} words={said.get(at)} onClose={close} />
        )}
      </div>
    </main>
  );
}

interface ShownProps {
  readonly tab: (typeof tabs)[number];
  readonly timeline: TimelineDocument;
  readonly summary: SagaDocument | undefined;
  readonly turn: number | undefined;
  /** What is chosen, and of which saga. */
  readonly at: string | undefined;
  readonly of: string;
  readonly said: ReadonlyMap<string, string>;
}

function Shown({ tab, timeline, summary, turn, at, of, said }: ShownProps) {
  const { saga, turns, status } = timeline;
  switch (tab) {
    case "timeline":
      return <Timeline {...{ timeline, turn, at, of, said }} />;
    case "plan":
      return <PlanTab {...{ saga, turn, turns }} />;
    case "graph":
      return <GraphTab {...{ saga, turn, turns, at, of }} isRunning={status === "running"} />;
    case "story":
      return <StoryTab {...{ saga, turn, turns }} />;
    case "state":
      return <SidesTab document={summary} turn={turn} turns={turns} />;
    case "turns":
      return <TurnsTab saga={saga} turn={turn ?? turns} />;
    case "beside":
      return <Beside timeline={timeline} summary={summary} />;
  }
}

function Beside({ timeline, summary }: { timeline: TimelineDocument; summary: SagaDocument | undefined }) {
  if (summary === undefined) return <Waiting lines={10} />;
  if (summary.fork === undefined) return <p class="empty">This saga is no fork.</p>;
  return <BesideTab timeline={timeline} fork={summary.fork} />;
}

function turnIn(text: string | null, turns: number | undefined): number | undefined {
  const turn = Number(text);
  return text === null || !Number.isInteger(turn) || turn < 1 || (turns !== undefined && turn > turns)
    ? undefined
    : turn;
}

const isAsking = ({ kind, status }: TimelineItem): boolean => kind === "task" && status === "open";

interface HeadingProps {
  readonly saga: string;
  readonly document: SagaDocument | undefined;
  /** What it asks people now. */
  readonly asks: readonly TimelineItem[];
}

function Heading({ saga, document, asks }: HeadingProps) {
  const now = useNow(1_000, document?.status === "running");
  if (document === undefined)
    return (
      <div class="heading">
        <h1>{saga}</h1>
        <p class="facts muted">&nbsp;</p>
      </div>
    );
  const { definition, status, startedAt, updatedAt, spent, parent, fork, turns, phase } = document;
  const until = status === "running" ? now : updatedAt;
  return (
    <div class="heading">
      <h1>
        <Status status={status === "running" && phase === "undoing" ? "undoing" : status} /> {saga}
      </h1>
      <Acts document={document} />
      <p class="facts muted">
        <span>
          {definition.name}@{definition.version}
        </span>
        <span>
          began <When at={startedAt} now={now} />
        </span>
        <span>{lasted(Math.max(0, until - startedAt))}</span>
        <span>{many(turns, "turn")}</span>
        {spent.steps === 0 ? null : (
          <span>
            {many(spent.steps, "decision")}, {count(spent.inputTokens + spent.outputTokens)} tokens
          </span>
        )}
        {spent.usd === 0 ? null : <span>{money(spent.usd)}</span>}
        {parent === undefined ? null : (
          <span>
            child of <a href={sagaAt(parent.saga)}>{parent.saga}</a>
          </span>
        )}
        {fork === undefined ? null : (
          <span>
            fork of <a href={sagaAt(fork.saga, `?turn=${fork.turn}`)}>{fork.saga}</a>
          </span>
        )}
      </p>
      <Concerns document={document} asks={asks} />
    </div>
  );
}

/** What a person should know before all else. */
function Concerns({
  document,
  asks,
}: {
  readonly document: SagaDocument;
  readonly asks: readonly TimelineItem[];
}) {
  const { unserved, parked, paused, flags, end, awaits, asOf } = document;
  const doubts = document.effects.filter(({ outcome }) => outcome === "in_doubt");
  const lines = [
    ...(asOf === undefined ? [] : [`as it was after turn ${asOf.turn} of ${asOf.of}`]),
    ...(unserved === undefined
      ? []
      : [`no host serves ${unserved.name}@${unserved.version}: nothing happens until one does`]),
    ...(parked === undefined ? [] : [`its hosts cannot take it: ${parked.reason}`]),
    ...(paused === undefined
      ? []
      : [`paused by ${paused.by}${paused.reason === undefined ? "" : `: ${paused.reason}`}`]),
    ...(flags ?? []).map(({ reason, by }) => `flagged by ${by}: ${reason}`),
    ...doubts.map(({ tool, intent }) => `in doubt: whether ${tool} (${intent}) happened`),
    ...(end?.reason === undefined ? [] : [`${end.code === undefined ? "" : `[${end.code}] `}${end.reason}`]),
    ...(awaits === undefined || asOf !== undefined
      ? []
      : [`waits for ${awaits.signals?.join(", ") ?? "any signal"}`]),
  ];
  if (lines.length + asks.length === 0) return null;
  return (
    <ul class="concerns">
      {asks.map(({ id, label, detail }) => (
        <li key={id}>
          asks: {label} of {detail} <a href={taskAt(document.saga, id)}>decide it</a>
        </li>
      ))}
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

/** What it knew then: a turn of the ledger, or now. */
function Slider({ turn, turns }: { readonly turn: number | undefined; readonly turns: number | undefined }) {
  const most = turns ?? 1;
  const show = (next: number) =>
    go(chosen({ turn: next >= most ? undefined : String(Math.max(1, next)) }), true);
  return (
    <div class="slider">
      <label>
        <span class="muted">turn</span>
        <input
          type="range"
          min={1}
          max={most}
          value={turn ?? most}
          aria-label="turn"
          onInput={(event) => show(Number(event.currentTarget.value))}
        />
      </label>
      <output>
        {count(turn ?? most)} of {count(most)}
      </output>
      <button class="quiet" disabled={turn === undefined} onClick={() => show(most)}>
        now
      </button>
    </div>
  );
}

/** The summary, read again when there is another turn. What was read stays until the next is there. */
function useSummary(
  saga: string,
  turn: number | undefined,
  turns: number | undefined,
): SagaDocument | undefined {
  const path = `/sagas/${encodeURIComponent(saga)}${turn === undefined ? "" : `?turn=${turn}`}`;
  const asked = useAsked<SagaDocument>(path, true);
  const again = useSettled(asked.again, againEveryMs);
  useEffect(() => {
    if (turn !== undefined || turns === undefined) return;
    // Of a saga that had not begun when it was first asked about there is none yet.
    if (asked.data === undefined ? asked.error !== undefined : asked.data.turns < turns) again();
  }, [turns, turn, asked.data]);
  return asked.data;
}

/** The timeline as it grows, and what models and tools say meanwhile, by intent. */
function useTimeline(saga: string) {
  const [timeline, setTimeline] = useState<TimelineDocument>();
  const [error, setError] = useState<Refusal>();
  const [said, setSaid] = useState<ReadonlyMap<string, string>>(new Map());
  const base = `/sagas/${encodeURIComponent(saga)}/timeline`;
  const read = useCallback(
    async (known: TimelineDocument | undefined) => {
      try {
        const news = await get<TimelineDocument>(known === undefined ? base : `${base}?after=${known.turns}`);
        setTimeline((now) => (now === undefined || known === undefined ? news : merged(now, news)));
        setError(undefined);
        return news;
      } catch (reason) {
        if (reason instanceof Refusal) setError(reason);
        return undefined;
      }
    },
    [base],
  );
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const begin = async () => {
      const first = await read(undefined);
      if (first === undefined) timer = setTimeout(() => void begin(), 2_000);
      else hear(first.status === "running" ? { saga, after: first.turns } : undefined);
    };
    void begin();
    return () => clearTimeout(timer);
  }, [saga, read]);
  const readOn = useSettled(() => void read(timeline), againEveryMs);
  useLive("turn", ({ saga: of }) => of === saga && readOn());
  useLive("back", () => readOn());
  useLive("words", ({ intent, kind, piece }) => {
    if (kind === "text") setSaid((now) => new Map(now).set(intent, `${now.get(intent) ?? ""}${piece}`));
  });
  useLive("unsaid", ({ intent }) => setSaid((now) => without(now, intent)));
  useLive("progress", ({ intent, note }) => {
    setSaid((now) => new Map(now).set(intent, typeof note === "string" ? note : JSON.stringify(note)));
  });
  return { timeline, error, said };
}

function without(map: ReadonlyMap<string, string>, key: string): ReadonlyMap<string, string> {
  const next = new Map(map);
  next.delete(key);
  return next;
}
