/** Found: the sagas that a filter means, and what is done with all of them at once. */
import { useState } from "preact/hooks";
import type { CancelBody, CancelledDocument, FoundDocument } from "../documents.ts";
import { post, useAsked } from "./api.ts";
import { Asking } from "./asking.tsx";
import { Refused, Status, useNow, Waiting, When } from "./marks.tsx";
import { useMayAct } from "./me.tsx";
import { sagaAt } from "./route.ts";
import { many, money } from "./words.ts";

/** Whether what somebody types is a filter, and no part of an id. */
export const isFilter = (text: string): boolean => /[=<>~]/.test(text);

export function Found({ filter }: { readonly filter: string }) {
  const { data, error, again } = useAsked<FoundDocument>(`/found?filter=${encodeURIComponent(filter)}`);
  const now = useNow(5_000);
  const mayAct = useMayAct();
  const [told, setTold] = useState<CancelledDocument>();
  if (data === undefined) return error === undefined ? <Waiting lines={12} /> : <Refused error={error} />;
  const running = data.rows.filter(({ status }) => status === "running").map(({ saga }) => saga);
  return (
    <>
      <div class="found-bar">
        <span class="muted" role="status">
          {data.isCut ? `more than ${many(data.rows.length, "saga")}` : many(data.rows.length, "saga")}
          {told === undefined
            ? ""
            : ` · cancel is stored for ${many(told.stored, "saga")}${
                told.refused.length === 0 ? "" : `, and was refused by ${told.refused.length}`
              }`}
        </span>
        <button onClick={again}>Ask again</button>
        {!mayAct || running.length === 0 ? null : <CancelAll sagas={running} onDone={setTold} again={again} />}
      </div>
      {told === undefined || told.refused.length === 0 ? null : (
        <ul class="plain">
          {told.refused.map(({ saga, because }) => (
            <li key={saga} class="bad">
              {saga}: {because}
            </li>
          ))}
        </ul>
      )}
      {data.rows.length === 0 ? <p class="empty">No saga is like that.</p> : null}
      <ul class="rows" aria-label="sagas found">
        {data.rows.map(({ saga, name, version, status, updatedAt, turns, usd, error: code }) => (
          <li key={saga}>
            <a href={sagaAt(saga)}>
              <Status status={status} />
              <span class="id">{saga}</span>
              <span class="name muted">
                {name}@{version}
              </span>
              <span class="does">{code === "" ? null : <code>{code}</code>}</span>
              <span class="turns muted">{many(turns, "turn")}</span>
              <span class="cost muted">{usd === 0 ? "" : money(usd)}</span>
              <span class="when muted">
                <When at={updatedAt} now={now} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

interface CancelProps {
  readonly sagas: readonly string[];
  readonly onDone: (told: CancelledDocument) => void;
  readonly again: () => void;
}

/** How many of them the question names. */
const namedMax = 12;

function CancelAll({ sagas, onDone, again }: CancelProps) {
  const [isOpen, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const title = `Cancel ${many(sagas.length, "saga")}`;
  if (!isOpen)
    return (
      <button class="grave" onClick={() => setOpen(true)}>
        {title}…
      </button>
    );
  const body: CancelBody = { sagas, ...(reason === "" ? {} : { reason }) };
  return (
    <Asking
      title={title}
      about=""
      isGrave
      send={() => post("/cancelled", body).then((told) => onDone(told as CancelledDocument))}
      onClose={(isStored) => {
        setOpen(false);
        if (isStored) again();
      }}
    >
      <p>These go on. Each undoes what it did, then ends:</p>
      <p class="id wrap">
        {sagas.slice(0, namedMax).join(", ")}
        {sagas.length > namedMax ? ` and ${sagas.length - namedMax} more` : ""}
      </p>
      <label>
        Why?
        <textarea rows={3} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
    </Asking>
  );
}
