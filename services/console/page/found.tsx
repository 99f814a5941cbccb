/** Found: the sagas that a filter means, and what is done with all of them at once. */
import type { FoundDocument } from "../documents.ts";
import { useAsked } from "./api.ts";
import { BulkActs } from "./bulk.tsx";
import { Refused, Status, useNow, Waiting, When } from "./marks.tsx";
import { useMayAct } from "./me.tsx";
import { sagaAt } from "./route.ts";
import { Stale } from "./stale.tsx";
import { many, money } from "./words.ts";

/** Whether what somebody types is a filter, and no part of an id. */
export const isFilter = (text: string): boolean => /[=<>~]/.test(text);

interface Props {
  readonly filter: string;
  /** `cost`: the dearest first; else the last change first. */
  readonly sort: string | undefined;
}

export function Found({ filter, sort }: Props) {
  const query = `filter=${encodeURIComponent(filter)}${sort === undefined ? "" : `&sort=${sort}`}`;
  const { data, error, again } = useAsked<FoundDocument>(`/found?${query}`);
  const now = useNow(5_000);
  const mayAct = useMayAct();
  if (data === undefined) return error === undefined ? <Waiting lines={12} /> : <Refused error={error} />;
  return (
    <>
      <div class="found-bar">
        <span class="muted" role="status">
          {data.isCut ? `more than ${many(data.rows.length, "saga")}` : many(data.rows.length, "saga")}
          {sort === "cost" ? ", the dearest first" : ""}
        </span>
        <Stale at={data.at} again={again} />
        {mayAct && data.rows.length > 0 ? <BulkActs filter={filter} onDone={again} /> : null}
      </div>
      {error === undefined ? null : <Refused error={error} />}
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
