/**
 * Inspector relay: the published relay of `@statelyai/inspect` on this machine's own address and a free port, and what a page
 * that is connected to it is told.
 */
import { Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createWebSocketReceiver, type StatelyInspectionEvent } from "@statelyai/inspect";
import { createInspectorServer } from "@statelyai/inspect/server";

export interface Relay {
  readonly url: string;
  /** All that the page was told, in order. */
  readonly told: StatelyInspectionEvent[];
  /** Closes it with all its connections. */
  stop(): void;
}

/** Starts the relay, which takes neither an address nor tells its port, and connects a page. */
export async function startRelay(): Promise<Relay> {
  const listen = Server.prototype.listen;
  const made: Server[] = [];
  Server.prototype.listen = function (this: Server) {
    Server.prototype.listen = listen;
    made.push(this);
    return this.listen(0, "127.0.0.1");
  } as typeof listen;
  const server = createInspectorServer({ autoOpen: false });
  const [http] = made;
  if (http === undefined) throw new Error("the relay has no server of its own");
  if (!http.listening) await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  const url = `ws://127.0.0.1:${port}`;
  const told: StatelyInspectionEvent[] = [];
  const upgraded = once(http, "upgrade");
  createWebSocketReceiver({ server: url }).subscribe((one) => told.push(one));
  await upgraded;
  const close = () => {
    server.stop();
    http.closeAllConnections();
  };
  return { url, told, stop: close };
}
