/** Timeline: a row for each thing that happened, with a bar for the time it took, on one scale for all. */
import { useMemo } from "preact/hooks";
import type { TimelineDocument, TimelineItem } from "../documents.ts";
import { type Child, useChildren } from "./children.ts";
import { asOf, asOfMoment, busyIn, isWait, spanOf } from "./happened.ts";
import { useKeys } from "./keys.ts";
import { useNarrow, useNow } from "./marks.tsx";
import { go, picked, toggled } from "./route.ts";
import { type Scale, scaleOf } from "./scale.ts";
import { count, lasted, moment, money, said as words } from "./words.ts";
import { Windowed } from "./windowed.tsx";

interface Row {
  readonly key: string;
  /** Whose it is: the saga's, or a child's that is open. */
  readonly saga: string;
  readonly item: TimelineItem;
  readonly depth: number;
}

interface Props {
  readonly timeline: TimelineDocument;
  readonly turn: number | undefined;
  /** What is chosen, and of which saga. */
  readonly at: string | undefined;
  readonly of: string;
  /** What is being said for an intent. */
  readonly said: ReadonlyMap<string, string>;
}

export function Timeline({ timeline, turn, at, of, said }: Props) {
  const { saga } = timeline;
  const isOpen = timeline.status === "running" && turn === undefined;
  const clock = useNow(1_000, isOpen);
  const isNarrow = useNarrow();
  const children = useChildren();
  const items = useMemo(
    () => (turn === undefined ? timeline.items : asOf(timeline.items, turn)),
    [timeline, turn],
  );
  const end = items.at(-1);
  const now = isOpen ? Math.max(clock, timeline.updatedAt) : Math.max(timeline.updatedAt, end?.at ?? 0);
  const last = turn === undefined ? now : (end?.at ?? now);
  const until = turn === undefined ? undefined : last;
  const rows = useMemo(() => rowsOf(saga, items, children, until), [items, children, until]);
  const scale = useMemo(
    () =>
      scaleOf(
        rows.flatMap(({ item }) => busyIn([item], last)),
        timeline.startedAt,
        last,
      ),
    [rows, last],
  );
  const found = rows.findIndex((row) => row.saga === of && row.item.id === at);
  const place = found === -1 ? undefined : found;
  const move = (by: number) => {
    const next = rows[Math.min(Math.max(0, (place ?? (by > 0 ? -1 : rows.length)) + by), rows.length - 1)];
    if (next !== undefined) go(pickedRow(next, saga), true);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  return (
    <div class="timeline">
      <Axis scale={scale} from={timeline.startedAt} to={last} />
      <Windowed
        items={rows}
        height={isNarrow ? 48 : 32}
        label="what happened"
        keyOf={({ key }) => key}
        place={place}
        follows={isOpen}
        row={(row, k) => (
          <ItemRow
            row={row}
            scale={scale}
            now={last}
            isChosen={k === place}
            said={row.saga === saga ? said.get(row.item.id) : undefined}
            child={children.get(row.item.saga ?? "")}
            onPick={() => go(pickedRow(row, saga), true)}
          />
        )}
      />
    </div>
  );
}

/** The address with a row chosen; a child's names the child. */
const pickedRow = ({ saga, item }: Row, own: string): string =>
  picked(item.id, saga === own ? undefined : saga);

function Axis({ scale, from, to }: { readonly scale: Scale; readonly from: number; readonly to: number }) {
  return (
    <div class="axis" aria-hidden="true">
      <span class="muted">{moment(from)}</span>
      <div class="line">
        {scale.folds
          .filter(({ width }) => width > 0.01)
          .map((fold) => (
            <span
              key={fold.at}
              class="fold"
              style={{ left: `${fold.x * 100}%`, width: `${fold.width * 100}%` }}
              title={`${lasted(fold.until - fold.at)} in which nothing was done`}
            />
          ))}
        <span class="total muted">{lasted(to - from)}</span>
      </div>
    </div>
  );
}

interface ItemProps {
  readonly row: Row;
  readonly scale: Scale;
  readonly now: number;
  readonly isChosen: boolean;
  readonly said: string | undefined;
  /** What is known of the child that it started, where that is open. */
  readonly child: Child | undefined;
  readonly onPick: () => void;
}

/** Deeper ones stand no further to the right. */
const depthShown = 8;

function ItemRow({ row: { item, depth }, scale, now, isChosen, said, child, onPick }: ItemProps) {
  const { at, until } = spanOf(item, now);
  const [left, right] = [scale.x(at), scale.x(until)];
  const time = until > at ? lasted(until - at) : "";
  const isChild = item.kind === "child" && item.saga !== undefined;
  const indent = Math.min(depth, depthShown) * 18;
  return (
    <div class={`item ${item.status}${isChosen ? " chosen" : ""}`}>
      {isChild ? (
        <button
          class="fold-child"
          style={{ left: `${indent + 4}px` }}
          aria-expanded={child !== undefined}
          aria-label={`what ${item.saga} did`}
          onClick={() => go(toggled(item.saga ?? ""), true)}
        >
          {child !== undefined ? "▾" : "▸"}
        </button>
      ) : null}
      <button
        class="pick"
        style={{ paddingLeft: `${indent + (isChild ? 26 : 8)}px` }}
        aria-current={isChosen}
        onClick={onPick}
      >
        <span class="words">
          <span class="what">
            <span class={`kind ${item.kind}`}>{words(item.kind)}</span> <strong>{item.label}</strong>{" "}
            <span class="muted">{saidOf(child) ?? said ?? item.words ?? item.reason ?? item.detail}</span>
          </span>
          <span class="how muted">
            {item.attempts > 1 ? `${item.attempts} attempts ` : ""}
            {item.tokens === undefined ? "" : `${count(item.tokens)} tokens `}
            {item.usd === undefined || item.usd === 0 ? "" : money(item.usd)}
          </span>
        </span>
        <span class="track">
          <span
            class={`span ${item.status}${isWait(item) ? " wait" : ""}${until > at ? "" : " moment"}`}
            style={{ left: `${left * 100}%`, width: `${(right - left) * 100}%` }}
          />
          <span {...placeOf(left, right)}>{time}</span>
        </span>
      </button>
    </div>
  );
}

/** How long it took stands where there is room: behind the bar, before it, or on a bar that leaves none. */
function placeOf(left: number, right: number) {
  if (right <= 0.75) return { class: "took", style: { left: `${right * 100}%` } };
  if (left >= 0.25) return { class: "took", style: { right: `${(1 - left) * 100}%` } };
  return { class: "took inside", style: { right: `${(1 - right) * 100}%` } };
}

/** Of a child that is open, where nothing of it can be shown yet. */
function saidOf(child: Child | undefined): string | undefined {
  if (child === undefined || child.timeline !== undefined) return undefined;
  return child.error === undefined ? "it is being read" : `not shown: ${child.error.message}`;
}

/** The same with what open children did, below each; as they were at a moment. */
function rowsOf(
  saga: string,
  items: readonly TimelineItem[],
  children: ReadonlyMap<string, Child>,
  until: number | undefined,
  above: readonly string[] = [],
): Row[] {
  return items.flatMap((item) => {
    const row = { key: [...above, item.id].join("/"), saga, item, depth: above.length };
    const of = item.kind === "child" ? item.saga : undefined;
    const timeline = of === undefined || of === saga ? undefined : children.get(of)?.timeline;
    if (of === undefined || timeline === undefined || row.key.length > keyMax) return [row];
    const shown = until === undefined ? timeline.items : asOfMoment(timeline.items, until);
    return [row, ...rowsOf(of, shown, children, until, [...above, item.id])];
  });
}

/** Children lie no deeper than their budgets allow: this ends what a forged ledger says of itself. */
const keyMax = 1_000;
