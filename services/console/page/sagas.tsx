/** Sagas: the list of all, with what one looks for in the address. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ListedSaga, SagaCounts, SagasDocument } from "../documents.ts";
import { get, useAsked } from "./api.ts";
import { Found, isFilter } from "./found.tsx";
import { useKeys } from "./keys.ts";
import { counts, useLive, useSettled } from "./live.ts";
import { Refused, Status, useNow, useTitle, Waiting, When } from "./marks.tsx";
import { chosen, go, sagaAt, usePlace } from "./route.ts";
import { useStore } from "./store.ts";
import { ViewsBar } from "./views-bar.tsx";
import { count, many, money } from "./words.ts";

const statuses = ["running", "completed", "failed", "cancelled", "unreadable"] as const;
const typedAfterMs = 200;

export function SagasView() {
  useTitle("Sagas");
  const { query } = usePlace();
  const search = useRef<HTMLInputElement>(null);
  const text = query.get("text") ?? "";
  if (isFilter(text))
    return (
      <main class="sagas">
        <h1 class="unseen">Sagas</h1>
        <ViewsBar />
        <Search input={search} text={text} />
        <Found key={text} filter={text} sort={query.get("sort") ?? undefined} />
      </main>
    );
  return <Listed search={search} text={text} query={query} />;
}

interface ListedProps {
  readonly search: RefObject<HTMLInputElement | null>;
  readonly text: string;
  readonly query: URLSearchParams;
}

function Listed({ search, text, query }: ListedProps) {
  const wanted = ["status", "name", "text", "asks"].flatMap((key) => {
    const value = query.get(key);
    return value === null || value === "" ? [] : [[key, value] as [string, string]];
  });
  const list = useList(new URLSearchParams(wanted).toString());
  const { place, keys } = useChoice(list.rows);
  useKeys({ ...keys, "/": () => search.current?.focus() });
  const all = useStore(counts);
  return (
    <main class="sagas">
      <h1 class="unseen">Sagas</h1>
      <ViewsBar />
      <div class="filters">
        <Search input={search} text={text} />
        <Names counts={all} name={query.get("name") ?? ""} />
        <div class="chips" role="group" aria-label="status">
          <Chip
            label="all"
            isOn={query.get("status") === null && query.get("asks") === null}
            to={chosen({ status: undefined, asks: undefined })}
          />
          {statuses.map((status) => {
            const known = all?.status[status] ?? 0;
            if (status === "unreadable" && known === 0) return null;
            const isOn = query.get("status") === status;
            return (
              <Chip
                key={status}
                label={status}
                count={known}
                isOn={isOn}
                to={chosen({ status, asks: undefined })}
              />
            );
          })}
          <Chip
            label="asks somebody"
            count={all?.asks ?? 0}
            isOn={query.get("asks") !== null}
            to={chosen({ asks: "1", status: undefined })}
          />
        </div>
      </div>
      <p class="found muted" aria-live="polite">
        {list.found === undefined ? " " : many(list.found, "saga")}
        {list.note === undefined ? "" : ` · ${list.note}`}
        {list.isNewer ? (
          <button class="link" onClick={list.showNewer}>
            the order has changed: show it
          </button>
        ) : null}
      </p>
      {list.error === undefined ? null : <Refused error={list.error} />}
      <Rows rows={list.rows} place={place} />
      {list.more === undefined ? null : (
        <button class="more" onClick={list.more}>
          More
        </button>
      )}
    </main>
  );
}

const Chip = ({
  label,
  count: of,
  isOn,
  to,
}: {
  label: string;
  count?: number;
  isOn: boolean;
  to: string;
}) => (
  <button class={`chip ${label}`} aria-pressed={isOn} onClick={() => go(to, true)}>
    {label}
    {of === undefined ? null : <span class="number">{count(of)}</span>}
  </button>
);

function Search({
  input,
  text,
}: {
  readonly input: RefObject<HTMLInputElement | null>;
  readonly text: string;
}) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => go(chosen({ text: typed, sort: undefined }), true), typedAfterMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      ref={input}
      type="search"
      placeholder="An id, a definition, or a filter: agent=hire and cost>1 and text~refund   /"
      aria-label="search by id, definition or filter"
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
    />
  );
}

const Names = ({ counts: all, name }: { readonly counts: SagaCounts | undefined; readonly name: string }) => (
  <select
    aria-label="definition"
    value={name}
    onChange={(event) => go(chosen({ name: event.currentTarget.value }), true)}
  >
    <option value="">every definition</option>
    {name === "" || all?.names.some((one) => one.name === name) === true ? null : (
      <option value={name}>{name}</option>
    )}
    {all?.names.map((one) => (
      <option key={one.name} value={one.name}>
        {one.name} ({count(one.count)})
      </option>
    ))}
  </select>
);

function Rows({
  rows,
  place,
}: {
  readonly rows: readonly ListedSaga[] | undefined;
  readonly place: number | undefined;
}) {
  const now = useNow(5_000);
  if (rows === undefined) return <Waiting lines={12} />;
  if (rows.length === 0) return <p class="empty">No saga is like that.</p>;
  return (
    <ul class="rows" aria-label="sagas">
      {rows.map((row, k) => (
        <li key={row.saga} class={k === place ? "chosen" : undefined}>
          <a href={sagaAt(row.saga)} id={`row-${k}`}>
            <Status status={row.fault === undefined ? row.status : "unreadable"} />
            <span class="id">{row.saga}</span>
            <span class="name muted">
              {row.name}@{row.version}
            </span>
            <span class="does">
              <Doing row={row} />
            </span>
            <span class="turns muted">{many(row.turns, "turn")}</span>
            <span class="cost muted">
              {row.used?.usd === undefined || row.used.usd === 0 ? "" : money(row.used.usd)}
            </span>
            <span class="when muted">
              <When at={row.updatedAt} now={now} />
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** What it waits for, or why it does not go on. */
function Doing({ row }: { readonly row: ListedSaga }) {
  if (row.fault !== undefined) return <span class="bad">{row.fault}</span>;
  if (row.unserved !== undefined)
    return (
      <span class="bad">
        no host serves {row.unserved.name}@{row.unserved.version}
      </span>
    );
  if (row.parked !== undefined) return <span class="bad">parked: {row.parked.reason}</span>;
  if (row.paused !== undefined) return <>paused by {row.paused.by}</>;
  if (row.asks) return <span class="asks">asks: {row.waitsFor.join(", ")}</span>;
  if (row.status === "running" && row.waitsFor.length > 0) return <>waits for {row.waitsFor.join(", ")}</>;
  if (row.archived !== undefined) return <>archived</>;
  return null;
}

/** The row that the keys have chosen. */
function useChoice(rows: readonly ListedSaga[] | undefined) {
  const [chosenSaga, choose] = useState<string | undefined>();
  const found = rows?.findIndex(({ saga }) => saga === chosenSaga) ?? -1;
  const place = found === -1 ? undefined : found;
  const move = (by: number) => {
    const next = rows?.[Math.min(Math.max(0, (place ?? (by > 0 ? -1 : 0)) + by), rows.length - 1)];
    if (next === undefined || rows === undefined) return;
    choose(next.saga);
    document.getElementById(`row-${rows.indexOf(next)}`)?.scrollIntoView({ block: "nearest" });
  };
  const open = () => {
    if (chosenSaga !== undefined && place !== undefined) go(sagaAt(chosenSaga));
  };
  return { place, keys: { j: () => move(1), k: () => move(-1), Enter: open } };
}

const listEveryMs = 1_000;
const runningEveryMs = 2_000;

/**
 * The list as it is now. While its top is in sight it takes the order as it changes; a reader who is further down, or has
 * more pages, keeps the order, and what changed is shown in place.
 */
function useList(wanted: string) {
  const path = `/sagas?${wanted}`;
  const first = useAsked<SagasDocument>(path);
  const [state, setState] = useState<{
    path: string;
    rows: readonly ListedSaga[];
    next?: number | undefined;
  }>();
  const [isNewer, setNewer] = useState(false);
  const own = state?.path === path ? state : undefined;
  useEffect(() => {
    if (first.data === undefined) return;
    const { rows, next } = first.data;
    const isKept =
      own !== undefined && (scrollY > 100 || own.rows.length > rows.length) && own.rows.length > 0;
    if (!isKept) return setState({ path, rows, next });
    const fresh = new Map(rows.map((row) => [row.saga, row]));
    setState({ ...own, rows: own.rows.map((row) => fresh.get(row.saga) ?? row) });
    setNewer(rows[0]?.saga !== own.rows[0]?.saga);
  }, [first.data]);
  useEffect(() => setNewer(false), [path]);
  const again = useSettled(first.again, listEveryMs);
  const seldom = useSettled(first.again, runningEveryMs);
  useLive("sagas", again);
  useLive("back", again);
  useLive("moved", () => {
    if (own?.rows.some(({ status }) => status === "running") === true) seldom();
  });
  const next = own?.next;
  const more = () => {
    void get<SagasDocument>(`${path}&before=${next ?? 0}`).then((page) => {
      const known = new Set(own?.rows.map(({ saga }) => saga));
      const rows = [...(own?.rows ?? []), ...page.rows.filter(({ saga }) => !known.has(saga))];
      setState({ path, rows, next: page.next });
    });
  };
  const showNewer = () => {
    setNewer(false);
    scrollTo(0, 0);
    if (first.data !== undefined) setState({ path, rows: first.data.rows, next: first.data.next });
  };
  return {
    rows: own?.rows,
    found: first.data?.found,
    note: first.data?.note,
    error: first.error,
    ...{ isNewer, showNewer },
    more: next === undefined ? undefined : more,
  };
}
