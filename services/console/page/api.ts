/**
 * Api: how the page asks its server, and what it knows of whether that answers.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ErrorBody } from "../documents.ts";
import { createStore } from "./store.ts";

/** A request that was refused, or got no answer. */
export class Refusal extends Error {
  readonly code: string;
  readonly remedy: string;
  readonly status: number;
  constructor({ code, message, remedy }: ErrorBody["error"], status: number) {
    super(message);
    this.code = code;
    this.remedy = remedy;
    this.status = status;
  }
}

/** Since when nothing is answered; undefined while something is. */
export const silentSince = createStore<number | undefined>(undefined);
/** Whether the server asks for its token. */
export const isShut = createStore(false);

/** Reads a document. Throws Refusal. */
export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  ask<T>(path, signal === undefined ? {} : { signal });

/** Sends an act. Throws Refusal. */
export const post = (path: string, body: unknown): Promise<unknown> =>
  ask(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sagamesh-console": "1" },
    body: JSON.stringify(body),
  });

/** What is not answered by then is told of, while it is waited for. Milliseconds. */
const lateMs = 2_000;

/** What takes its time: tables that are being filled, and what is done to many. */
const slow = /^\/(found|cost|bulk|latencies)\b/;

async function ask<T>(path: string, options: RequestInit): Promise<T> {
  const begunAt = Date.now();
  const isLate = slow.test(path)
    ? undefined
    : setTimeout(() => silentSince.set(silentSince.now() ?? begunAt), lateMs);
  const over = () => clearTimeout(isLate);
  options.signal?.addEventListener("abort", over, { once: true });
  const answer = fetch(`/api${path}`, options).finally(over);
  const response = await answer.catch((error: unknown) => {
    if (options.signal?.aborted === true) throw error;
    silentSince.set(silentSince.now() ?? begunAt);
    // Whether an act was stored nobody knows here; its id, or what it says, is known where it is taken.
    const stored = slow.test(path)
      ? "Look at what became of it."
      : "Send it again: it counts once, stored or not.";
    const remedy = options.method === "POST" ? stored : "It is asked again.";
    throw new Refusal({ code: "UNAVAILABLE", message: "the console gives no answer", remedy }, 0);
  });
  // Tables that are being filled give no answer yet, and say so; the server does.
  const isSilent = response.status === 503 && !slow.test(path);
  silentSince.set(isSilent ? (silentSince.now() ?? Date.now()) : undefined);
  if (response.status === 401 && path !== "/session") isShut.set(true);
  const said: unknown = await response.json().catch(() => undefined);
  if (response.ok) return said as T;
  const told = (said as ErrorBody | undefined)?.error;
  throw new Refusal(
    told ?? { code: "INTERNAL", message: `status ${response.status}`, remedy: "" },
    response.status,
  );
}

/** What is known of a document that is asked for. */
export interface Asked<T> {
  /** The last that was read of this very document; it stays while it is read again. */
  readonly data?: T;
  /** Why the last reading failed. */
  readonly error?: Refusal;
  readonly again: () => void;
}

const againMs = 2_000;

/**
 * Reads a document, again when it was not answered, and whenever `again` is called. With `keeps` what was read under another
 * path stays until this one is there: for a document of the same thing at another time.
 */
export function useAsked<T>(path: string | undefined, keeps = false): Asked<T> {
  const [state, setState] = useState<{ path?: string; data?: T; error?: Refusal }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (path === undefined) return;
    const over = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = () => {
      get<T>(path, over.signal).then(
        (data) => setState({ path, data }),
        (error: unknown) => {
          if (over.signal.aborted || !(error instanceof Refusal)) return;
          setState((before) =>
            before.path === path || keeps ? { ...before, path, error } : { path, error },
          );
          if (error.code === "UNAVAILABLE") timer = setTimeout(read, againMs);
        },
      );
    };
    read();
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [path, round]);
  const again = useRef(() => setRound((value) => value + 1)).current;
  const isOwn = state.path === path || keeps;
  return {
    ...(isOwn && state.data !== undefined ? { data: state.data } : {}),
    ...(isOwn && state.error !== undefined ? { error: state.error } : {}),
    again,
  };
}
