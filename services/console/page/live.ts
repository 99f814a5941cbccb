/**
 * Live: what the server tells without being asked. One stream for the page; another one where it shows another saga.
 */
import { useEffect, useRef } from "preact/hooks";
import type { ChangeEvents, SagaCounts } from "../documents.ts";
import { createStore } from "./store.ts";

/** `back`: the stream was away, and what came meanwhile was missed. */
interface LiveEvents extends ChangeEvents {
  readonly back: undefined;
}

const names: readonly (keyof ChangeEvents)[] = [
  "sagas",
  "moved",
  "turn",
  "words",
  "unsaid",
  "progress",
  "lost",
];

/** How many sagas there are of each kind. */
export const counts = createStore<SagaCounts | undefined>(undefined);
/** Whether changes are heard. */
export const isHeard = createStore(true);

type Listener = (event: never) => void;
const listeners = new Map<string, Set<Listener>>();
let source: EventSource | undefined;
let followed = "";

function tell<K extends keyof LiveEvents>(name: K, event: LiveEvents[K]): void {
  for (const listener of listeners.get(name) ?? []) (listener as (event: LiveEvents[K]) => void)(event);
}

function open(query: string, isAgain = false): void {
  source?.close();
  const own = new EventSource(`/api/changes${query}`);
  source = own;
  let wasAway = isAgain;
  own.onopen = () => {
    isHeard.set(true);
    if (wasAway) tell("back", undefined);
    wasAway = false;
  };
  own.onerror = () => {
    isHeard.set(false);
    wasAway = true;
    // A browser gives up for good on an answer that is no stream.
    if (own.readyState === EventSource.CLOSED) setTimeout(() => own === source && open(query, true), 2_000);
  };
  for (const name of names)
    own.addEventListener(name, ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as never;
      if (name === "sagas") counts.set(event);
      tell(name, event);
    });
}

/** Begins to listen; to one saga besides, from behind the turn that is known. */
export function hear(saga?: { readonly saga: string; readonly after: number }): void {
  const query = saga === undefined ? "" : `?saga=${encodeURIComponent(saga.saga)}&after=${saga.after}`;
  const isSame = source !== undefined && followed === (saga?.saga ?? "");
  if (isSame) return;
  followed = saga?.saga ?? "";
  open(query);
}

/** Listens anew at once: somebody has shown a token. A saga's view, which is shown anew then, hears for itself. */
export function hearAnew(): void {
  followed = "";
  open("");
}

/** Calls back for each such event while the component is shown. */
export function useLive<K extends keyof LiveEvents>(name: K, listener: (event: LiveEvents[K]) => void): void {
  const current = useRef(listener);
  current.current = listener;
  useEffect(() => {
    const own = (event: LiveEvents[K]) => current.current(event);
    const all = listeners.get(name) ?? new Set<Listener>();
    listeners.set(name, all.add(own));
    return () => void all.delete(own);
  }, [name]);
}

/** The same, at most once in so many milliseconds, and once more after the last. */
export function useSettled(act: () => void, everyMs: number): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef(0);
  const current = useRef(act);
  current.current = act;
  useEffect(() => () => clearTimeout(timer.current), []);
  return useRef(() => {
    if (timer.current !== undefined) return;
    const wait = Math.max(0, last.current + everyMs - Date.now());
    timer.current = setTimeout(() => {
      timer.current = undefined;
      last.current = Date.now();
      current.current();
    }, wait);
  }).current;
}
