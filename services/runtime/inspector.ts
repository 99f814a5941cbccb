/**
 * Inspector: a connection to the relay of `@statelyai/inspect`, which passes what it is told on to the inspector's page.
 *
 * Node's own WebSocket: the published adapter is a client of the same few lines that connects again for ever and drops what it
 * could not say, where a command is to end with the reason.
 */
import { MeshError } from "../../protocol/errors.ts";
import { systemClock } from "./system.ts";

/** A relay that is connected. */
export interface Inspector {
  /**
   * Says messages, in order; resolves once the connection has room for more. Throws INSPECTOR_UNREACHABLE once it is closed.
   */
  say(messages: readonly object[]): Promise<void>;
  /** Closes when all is said, or after two seconds. Again: nothing. */
  close(): Promise<void>;
}

const connectMs = 10_000;
const closeMs = 2_000;
/** Bytes that wait to be sent; a relay that reads slower holds the teller up, and no memory fills. */
const waitingMax = 1 << 20;

/** Connects to `ws://HOST:PORT`. Throws USAGE for another address, INSPECTOR_UNREACHABLE, and the signal's reason. */
export async function openInspector(url: string, signal: AbortSignal): Promise<Inspector> {
  if (!/^wss?:$/.test(URL.parse(url)?.protocol ?? ""))
    throw new MeshError("USAGE", `--inspect takes the address of a relay, got ${url}`, {
      remedy: "For example --inspect ws://localhost:8080, where createInspectorServer() listens.",
    });
  const unreachable = (what: string) => new MeshError("INSPECTOR_UNREACHABLE", `the relay at ${url} ${what}`);
  const socket = new WebSocket(url);
  const closed = new Promise<void>((resolve) => {
    socket.addEventListener("close", () => resolve());
  });
  const opened = new Promise<boolean>((resolve) => {
    socket.addEventListener("open", () => resolve(true));
    socket.addEventListener("error", () => resolve(false));
  });
  const over = new AbortController();
  const late = systemClock.sleep(connectMs, AbortSignal.any([signal, over.signal])).then(
    () => false,
    () => false,
  );
  const isOpen = await Promise.race([opened, late]);
  over.abort();
  if (!isOpen) socket.close();
  signal.throwIfAborted();
  if (!isOpen) throw unreachable("does not answer");
  return {
    say: async (messages) => {
      for (const message of messages) {
        if (socket.readyState !== WebSocket.OPEN) throw unreachable("has closed the connection");
        socket.send(JSON.stringify(message));
      }
      while (socket.bufferedAmount > waitingMax && socket.readyState === WebSocket.OPEN)
        await systemClock.sleep(5, signal);
    },
    close: async () => {
      if (socket.readyState === WebSocket.CLOSED) return;
      socket.close(); // The closing handshake comes after what was sent.
      const patience = new AbortController();
      const tired = systemClock.sleep(closeMs, patience.signal).catch(() => undefined);
      await Promise.race([closed, tired]);
      patience.abort();
    },
  };
}
