/**
 * Streams: server-sent events to pages. Bounded in number, and in what waits for a page that does not read.
 */
import type { ServerResponse } from "node:http";
import { parseSagaId } from "../../protocol/ids.ts";
import type { Changes } from "./changes.ts";

export interface Streams {
  /** Tells a page of changes until it has gone; without any to tell, or where there are too many, it is told to come again. */
  open(response: ServerResponse, changes: Changes | undefined, query: URLSearchParams): void;
  /** Ends all that are open. */
  end(): void;
}

const streamsMax = 100;
/** So that no proxy takes a quiet stream for a dead one. Milliseconds. */
const beatMs = 15_000;
/** A page that does not read is let go once so much waits for it. */
const unreadMax = 1024 * 1024;

/** None is open. `headers` are those of every answer. */
export function createStreams(headers: Readonly<Record<string, string>>): Streams {
  const open = new Set<AbortController>();
  return {
    open: (response, changes, query) => {
      if (changes === undefined || open.size >= streamsMax) {
        response.writeHead(503, { ...headers, "retry-after": "2" }).end();
        return;
      }
      const ending = new AbortController();
      open.add(ending);
      response.writeHead(200, {
        ...headers,
        "content-type": "text/event-stream",
        "cache-control": "no-store",
      });
      const write = (text: string) => {
        if (response.writableLength > unreadMax) ending.abort();
        else response.write(text);
      };
      const beat = setInterval(() => write(": still here\n\n"), beatMs);
      const over = () => {
        clearInterval(beat);
        open.delete(ending);
        response.end();
      };
      ending.signal.addEventListener("abort", over, { once: true });
      response.once("close", () => ending.abort());
      write("retry: 1000\n\n");
      const tell = (name: string, event: unknown) =>
        write(`event: ${name}\ndata: ${JSON.stringify(event)}\n\n`);
      changes.tell(tell, ending.signal, followedBy(query));
    },
    end: () => {
      for (const one of open) one.abort();
    },
  };
}

/** The saga that a page shows; a word that is no id follows none. */
function followedBy(query: URLSearchParams): Parameters<Changes["tell"]>[2] {
  const word = query.get("saga");
  const after = Number(query.get("after") ?? "0");
  if (word === null || !Number.isSafeInteger(after) || after < 0) return undefined;
  try {
    return { saga: parseSagaId(word), afterTurn: after };
  } catch {
    return undefined; // The page's own requests say so.
  }
}
