/** Timeline: a row for each thing that happened, with a bar for the time it took, on one scale for all. */
import { useMemo, useState } from "preact/hooks";
import type { TimelineDocument, TimelineItem } from "../documents.ts";
import { get } from "./api.ts";
import { asOf, busyIn, isWait, spanOf } from "./happened.ts";
import { useKeys } from "./keys.ts";
import { useNarrow, useNow } from "./marks.tsx";
import { chosen, go } from "./route.ts";
import { type Scale, scaleOf } from "./scale.ts";
import { count, lasted, moment, money, said as words } from "./words.ts";
import { Windowed } from "./windowed.tsx";

interface Row {
  readonly key: string;
  readonly item: TimelineItem;
  readonly depth: number;
}

interface Props {
  readonly timeline: TimelineDocument;
  readonly turn: number | undefined;
  readonly at: string | undefined;
  /** What is being said for an intent. */
  readonly said: ReadonlyMap<string, string>;
}

export function Timeline({ timeline, turn, at, said }: Props) {
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
  const rows = useMemo(() => rowsOf(items, children.open, 0, ""), [items, children.open]);
  const last = turn === undefined ? now : (end?.at ?? now);
  const scale = useMemo(
    () =>
      scaleOf(
        rows.flatMap(({ item }) => busyIn([item], last)),
        timeline.startedAt,
        last,
      ),
    [rows, last],
  );
  const found = rows.findIndex(({ item, depth }) => depth === 0 && item.id === at);
  const place = found === -1 ? undefined : found;
  const move = (by: number) => {
    const next = rows[Math.min(Math.max(0, (place ?? (by > 0 ? -1 : rows.length)) + by), rows.length - 1)];
    if (next?.depth === 0) go(chosen({ at: next.item.id }), true);
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
            said={said.get(row.item.id)}
            children={children}
          />
        )}
      />
    </div>
  );
}

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
  readonly children: Children;
}

function ItemRow({ row: { item, depth }, scale, now, isChosen, said, children }: ItemProps) {
  const { at, until } = spanOf(item, now);
  const [left, right] = [scale.x(at), scale.x(until)];
  const time = until > at ? lasted(until - at) : "";
  const isChild = item.kind === "child" && item.saga !== undefined;
  return (
    <div class={`item ${item.status}${isChosen ? " chosen" : ""}`}>
      {isChild ? (
        <button
          class="fold-child"
          aria-expanded={children.open.has(item.saga ?? "")}
          aria-label={`what ${item.saga} did`}
          onClick={() => children.toggle(item.saga ?? "")}
        >
          {children.open.has(item.saga ?? "") ? "▾" : "▸"}
        </button>
      ) : null}
      <button
        class="pick"
        style={{ paddingLeft: `${depth * 18 + (isChild ? 26 : 8)}px` }}
        aria-current={isChosen}
        onClick={() => depth === 0 && go(chosen({ at: item.id }), true)}
      >
        <span class="words">
          <span class="what">
            <span class={`kind ${item.kind}`}>{words(item.kind)}</span> <strong>{item.label}</strong>{" "}
            <span class="muted">{said ?? item.words ?? item.reason ?? item.detail}</span>
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
          <span
            class="took"
            style={right > 0.75 ? { right: `${(1 - left) * 100}%` } : { left: `${right * 100}%` }}
          >
            {time}
          </span>
        </span>
      </button>
    </div>
  );
}

function rowsOf(
  items: readonly TimelineItem[],
  open: ReadonlyMap<string, readonly TimelineItem[]>,
  depth: number,
  prefix: string,
): Row[] {
  return items.flatMap((item) => {
    const key = `${prefix}${item.id}`;
    const own = depth < depthMax && item.kind === "child" ? open.get(item.saga ?? "") : undefined;
    return [{ key, item, depth }, ...(own === undefined ? [] : rowsOf(own, open, depth + 1, `${key}/`))];
  });
}

/** A child of a child of a child; deeper ones are looked at by themselves. */
const depthMax = 6;

interface Children {
  /** What those did that are open, by saga. */
  readonly open: ReadonlyMap<string, readonly TimelineItem[]>;
  readonly toggle: (saga: string) => void;
}

function useChildren(): Children {
  const [open, setOpen] = useState<ReadonlyMap<string, readonly TimelineItem[]>>(new Map());
  const set = (saga: string, items: readonly TimelineItem[] | undefined) =>
    setOpen((now) => {
      const next = new Map(now);
      if (items === undefined) next.delete(saga);
      else next.set(saga, items);
      return next;
    });
  return {
    open,
    toggle: (saga) => {
      if (open.has(saga)) return set(saga, undefined);
      set(saga, []);
      get<TimelineDocument>(`/sagas/${encodeURIComponent(saga)}/timeline`).then(
        ({ items }) => set(saga, items),
        () => set(saga, undefined), // It has not begun, or was archived: its own page says so.
      );
    },
  };
}
