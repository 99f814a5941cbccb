/** Route: the view that is shown stands in the address, so that any of them can be sent to somebody. */
import { useEffect } from "preact/hooks";
import { createStore, useStore } from "./store.ts";

export interface Place {
  /** The words of the path. */
  readonly words: readonly string[];
  readonly query: URLSearchParams;
}

const read = (): Place => ({
  words: location.pathname
    .split("/")
    .filter((word) => word !== "")
    .map(decoded),
  query: new URLSearchParams(location.search),
});

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

const place = createStore(read());

/** Shows another view. In the place of this one where it is the same view with another choice. */
export function go(address: string, inPlace = false): void {
  if (inPlace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  if (!inPlace) scrollTo(0, 0);
  place.set(read());
}

/** The same address with some of its choices changed; undefined takes one away. */
export function chosen(choices: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(choices)) {
    if (value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return `${location.pathname}${text === "" ? "" : `?${text}`}`;
}

/** The address with another thing chosen; `of`: of this child of the saga that is shown. */
export const picked = (at: string | undefined, of?: string): string => chosen({ at, of, node: undefined });

/** The children that are open in place. */
export const openIn = (query: URLSearchParams): ReadonlySet<string> =>
  new Set((query.get("open") ?? "").split(",").filter((one) => one !== ""));

/** The address with a child opened, or closed. */
export function toggled(saga: string): string {
  const open = new Set(openIn(new URLSearchParams(location.search)));
  if (!open.delete(saga)) open.add(saga);
  return chosen({ open: [...open].join(",") });
}

export const usePlace = (): Place => useStore(place);

/** Follows the browser's buttons, and links of the page without loading it anew. */
export function useRouting(): void {
  useEffect(() => {
    const back = () => place.set(read());
    const click = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      const isPlain =
        event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
      if (link === null || !isPlain || link.target !== "" || link.origin !== location.origin) return;
      if (link.pathname.startsWith("/api/")) return;
      event.preventDefault();
      go(`${link.pathname}${link.search}`);
    };
    addEventListener("popstate", back);
    document.addEventListener("click", click);
    return () => {
      removeEventListener("popstate", back);
      document.removeEventListener("click", click);
    };
  }, []);
}

/** The address of a saga's view. */
export const sagaAt = (saga: string, query = ""): string => `/sagas/${encodeURIComponent(saga)}${query}`;
/** The address of a task. */
export const taskAt = (saga: string, intent: string): string =>
  `/tasks/${encodeURIComponent(saga)}/${encodeURIComponent(intent)}`;
