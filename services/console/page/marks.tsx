/** Marks: small things that look the same in every view. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Refusal } from "./api.ts";
import { counts } from "./live.ts";
import { useStore } from "./store.ts";
import { ago, moment, said } from "./words.ts";

/** How something stands, by colour and by word. */
export const Status = ({ status }: { readonly status: string }) => (
  <span class={`status ${status}`}>{said(status)}</span>
);

/** A moment: how long ago, and exactly when a person points at it. */
export const When = ({ at, now }: { readonly at: number; readonly now: number }) => (
  <time dateTime={new Date(at).toISOString()} title={moment(at)}>
    {ago(at, now)}
  </time>
);

/** This machine's time, told anew so often while the component is shown. */
export function useNow(everyMs: number, isOn = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isOn]);
  return now;
}

/** The tab's title, with how many sagas ask somebody. */
export function useTitle(title: string): void {
  const asks = useStore(counts)?.asks ?? 0;
  useEffect(() => {
    document.title = `${asks === 0 ? "" : `(${asks}) `}${title} · sagamesh`;
  }, [title, asks]);
}

/** Why something is not shown. */
export const Refused = ({ error }: { readonly error: Refusal }) => (
  <div class="refused" role="alert">
    <p>
      <strong>{error.message}</strong> <code>{error.code}</code>
    </p>
    {error.remedy === "" ? null : <p class="muted">{error.remedy}</p>}
  </div>
);

/** The place of something that is being read; it takes the room that this will take. */
export const Waiting = ({ lines = 3 }: { readonly lines?: number }) => (
  <div class="waiting" role="status" aria-label="being read">
    {Array.from({ length: lines }, (_, k) => (
      <span key={k} />
    ))}
  </div>
);

/** A name and its value. */
export const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** Whether the window is as narrow as a phone. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(narrow).matches);
  useEffect(() => {
    const media = matchMedia(narrow);
    const look = () => setNarrow(media.matches);
    media.addEventListener("change", look);
    return () => media.removeEventListener("change", look);
  }, []);
  return isNarrow;
}

const narrow = "(max-width: 760px)";
