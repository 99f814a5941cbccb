/** Bulk: what is done to all sagas that a filter means: first what it would touch and what not and why, then a few at a time. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { BulkBody, BulkDocument, BulkKind, BulkRow } from "../documents.ts";
import { post, Refusal, useAsked } from "./api.ts";
import { newId } from "./asking.tsx";
import { BulkFields, type Chosen, chosenFor } from "./bulk-fields.tsx";
import { Refused, Waiting } from "./marks.tsx";
import { sagaAt } from "./route.ts";
import { many } from "./words.ts";

interface Kind {
  readonly label: string;
  /** What it is done to, one and several. */
  readonly of: string;
  readonly says: string;
  readonly isGrave: boolean;
  /** So many are done by one request: archived ones come into one file. */
  readonly atOnce: number;
}

const kinds: Readonly<Record<BulkKind, Kind>> = {
  cancel: {
    ...{ label: "Cancel", of: "saga", isGrave: true, atOnce: 10 },
    says: "Each undoes what it did, then ends.",
  },
  settle: {
    ...{ label: "Settle", of: "call", isGrave: true, atOnce: 10 },
    says: "One answer for all of them. It counts for ever: look outside first.",
  },
  retry: {
    ...{ label: "Retry", of: "letter", isGrave: false, atOnce: 10 },
    says: "What was set aside is sent again as it was. A saga that has it already takes it as known.",
  },
  archive: {
    ...{ label: "Archive", of: "saga", isGrave: true, atOnce: 50 },
    says: "Their turns go from the server to files.",
  },
};
const all: readonly BulkKind[] = ["cancel", "settle", "retry", "archive"];

interface Props {
  readonly filter: string;
  /** Once something was done. */
  readonly onDone: () => void;
}

export function BulkActs({ filter, onDone }: Props) {
  const [kind, open] = useState<BulkKind>();
  return (
    <>
      {all.map((one) => (
        <button key={one} class={kinds[one].isGrave ? "grave" : undefined} onClick={() => open(one)}>
          {kinds[one].label}…
        </button>
      ))}
      {kind === undefined ? null : (
        <BulkDialog
          kind={kind}
          filter={filter}
          onClose={(isDone) => {
            open(undefined);
            if (isDone) onDone();
          }}
        />
      )}
    </>
  );
}

interface DialogProps {
  readonly kind: BulkKind;
  readonly filter: string;
  readonly onClose: (isDone: boolean) => void;
}

function BulkDialog({ kind, filter, onClose }: DialogProps) {
  const { label, of, says, isGrave } = kinds[kind];
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  const [chosen, choose] = useState<Chosen>(chosenFor);
  const query = `filter=${encodeURIComponent(filter)}${kind === "archive" ? `&days=${chosen.days}` : ""}`;
  const { data, error } = useAsked<BulkDocument>(`/bulk/${kind}?${query}`);
  const would = data?.rows.filter((row) => row.is === "would") ?? [];
  const run = useRun(kind);
  const close = () => {
    run.stop();
    onClose(run.rows !== undefined);
  };
  const title = `${label} ${data === undefined ? "…" : many(would.length, of)}`;
  return (
    <dialog ref={box} class="bulk" aria-label={title} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run.begin(would, chosen);
        }}
      >
        <h2>{title}</h2>
        {run.rows === undefined ? (
          <>
            <p>{says}</p>
            {error === undefined ? null : <Refused error={error} />}
            {data === undefined ? (
              error === undefined ? (
                <Waiting lines={4} />
              ) : null
            ) : (
              <Looked data={data} of={of} />
            )}
            <BulkFields kind={kind} chosen={chosen} onChosen={choose} folder={data?.folder} />
          </>
        ) : (
          <Progress rows={run.rows} of={run.of} isOver={run.isOver} />
        )}
        {run.error === undefined ? null : <Refused error={run.error} />}
        <div class="buttons">
          <button type="button" onClick={close}>
            {run.rows === undefined ? "Leave it" : run.isOver ? "Close" : "Stop"}
          </button>
          {run.rows === undefined ? (
            <button
              class={isGrave ? "main grave" : "main"}
              disabled={would.length === 0 || !chosen.isReady(kind)}
            >
              {title}
            </button>
          ) : null}
        </div>
      </form>
    </dialog>
  );
}

/** What would be done, by name, and what not, by the reason. */
function Looked({ data: { rows, isCut }, of }: { readonly data: BulkDocument; readonly of: string }) {
  const would = rows.filter((row) => row.is === "would");
  const reasons = Map.groupBy(
    rows.filter((row) => row.is !== "would"),
    ({ because = "" }) => because,
  );
  return (
    <>
      {isCut ? (
        <p class="bad">The filter means more sagas than these: narrow it, or do it again after.</p>
      ) : null}
      <ul class="plain listed" aria-label="what it would touch" tabIndex={0}>
        {would.map(({ saga, intent, letter, what }) => (
          <li key={`${saga} ${intent ?? letter ?? ""}`}>
            <span class="id">{saga}</span> <span class="muted">{what}</span>
          </li>
        ))}
        {would.length === 0 ? <li class="muted">No {of} is meant.</li> : null}
      </ul>
      {[...reasons].map(([because, kept]) => (
        <details key={because}>
          <summary class="muted">
            {many(kept.length, "saga")} left: {because}
          </summary>
          <p class="id wrap">{kept.map(({ saga }) => saga).join(", ")}</p>
        </details>
      ))}
    </>
  );
}

interface ProgressProps {
  readonly rows: readonly BulkRow[];
  readonly of: number;
  readonly isOver: boolean;
}

/** How far it is, and of each that was not done why. */
function Progress({ rows, of, isOver }: ProgressProps) {
  const done = rows.filter((row) => row.is === "done").length;
  const others = rows.filter((row) => row.is !== "done");
  return (
    <>
      <p role="status">
        {done} done{others.length === 0 ? "" : `, ${others.length} not`}
        {isOver ? (rows.length < of ? `, ${of - rows.length} left as they were` : "") : ` of ${of}`}
      </p>
      <progress max={of} value={rows.length} aria-label="how far it is" />
      <ul class="plain listed" aria-label="what was not done" tabIndex={0}>
        {others.map(({ saga, intent, letter, because }) => (
          <li key={`${saga} ${intent ?? letter ?? ""}`} class="bad">
            <a href={sagaAt(saga)}>{saga}</a> {because}
          </li>
        ))}
      </ul>
    </>
  );
}

/**
 * Does it, some at a time, until all is done, it is stopped, or a request is refused. A page that is closed leaves undone what it has
 * not sent.
 */
function useRun(kind: BulkKind) {
  const [id] = useState(newId);
  const [rows, setRows] = useState<readonly BulkRow[]>();
  const [of, setOf] = useState(0);
  const [isOver, setOver] = useState(false);
  const [error, setError] = useState<Refusal>();
  const isStopped = useRef(false);
  const { atOnce } = kinds[kind];
  useEffect(() => () => void (isStopped.current = true), []);
  const begin = async (would: readonly BulkRow[], chosen: Chosen) => {
    setRows([]);
    setOf(would.length);
    try {
      for (let from = 0; from < would.length && !isStopped.current; from += atOnce) {
        const items = would.slice(from, from + atOnce).map(({ saga, intent, letter }) => ({
          saga,
          ...(intent === undefined ? {} : { intent }),
          ...(letter === undefined ? {} : { letter }),
        }));
        const body: BulkBody = { items, id, ...chosen.said(kind) };
        const told = (await post(`/bulk/${kind}`, body)) as BulkDocument;
        setRows((before = []) => [...before, ...told.rows]);
      }
    } catch (reason) {
      if (reason instanceof Refusal) setError(reason);
    }
    setOver(true);
  };
  return {
    ...{ rows, of, isOver, error },
    begin: (would: readonly BulkRow[], chosen: Chosen) => void begin(would, chosen),
    stop: () => void (isStopped.current = true),
  };
}
