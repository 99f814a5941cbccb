/**
 * Revival: an embedded server that is lost is started again, by the processes that are connected to it.
 *
 * Owns: when it is asked for again. Does not own: starting it once, and on which port (embedded.ts).
 * Called for every connection to an embedded server; nothing else would bring one back.
 *
 * RV1 As long as the connection is lost the server is asked for again, with longer and longer pauses: what is
 *     in its way may go (a full disk, a port, a process that hangs).
 * RV2 A server that had to take another port is followed there.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { describeWithRemedy } from "../../../protocol/errors.ts";
import { watchConnection } from "../connection-watch.ts";
import type { EmbeddedServer } from "./embedded.ts";
import type { Report } from "../progress.ts";
import { sleep } from "../sleep.ts";

/** The client looks for its server four times a second, so a server that is back is found in this time. */
const pauseMs = 1_000;
const pauseMsMax = 30_000;

export interface Revival {
  /** Ends it; a start under way is given up. To be called before the connection is closed. */
  stop(): Promise<void>;
}

/** Brings the server of this connection back whenever the connection is lost. */
export function reviveServer(nc: NatsConnection, server: EmbeddedServer, report: Report): Revival {
  const stopping = new AbortController();
  let loss: AbortController | undefined;
  let reviving = Promise.resolve();

  const revive = async (found: AbortSignal): Promise<void> => {
    for (let pause = pauseMs; !found.aborted && !nc.isClosed(); pause = Math.min(pause * 2, pauseMsMax)) {
      try {
        const { url } = await server.revive(stopping.signal);
        if (!found.aborted) nc.setServers([new URL(url).host]); // RV2
      } catch (error) {
        if (stopping.signal.aborted) return;
        report(`the lost nats-server could not be started again: ${describeWithRemedy(error)}`);
      }
      await sleep(pause, found); // RV1
    }
  };

  const unwatch = watchConnection(nc, {
    onLost: () => {
      if (loss !== undefined || nc.isClosed()) return;
      const { signal } = (loss = new AbortController());
      reviving = reviving.then(() => revive(signal));
    },
    // Ends the pause, never a start under way: others may be on the new server before its start has returned.
    onBack: () => {
      loss?.abort();
      loss = undefined;
    },
  });

  return {
    stop: async () => {
      unwatch();
      loss?.abort();
      stopping.abort(new Error("no longer needed"));
      await reviving;
    },
  };
}
