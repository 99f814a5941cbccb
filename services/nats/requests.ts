/**
 * Requests: many at once over one subscription.
 *
 * Owns: the reply subject of this process, which call waits for which answer, and the deadlines. Used by every
 * adapter for what is sent often; management calls go through the client's own manager.
 *
 * The client's `request` makes a timer, two promises and a race for every call; a shared subscription and one
 * sweep for all deadlines cost a third of that on the processor, and appends are what a host does most.
 *
 * NS1 Every call settles: by its answer, by its deadline, or when the connection is lost.
 * NS2 A lost connection fails all calls at once as UNAVAILABLE, and every further one until it is back. Their
 *     answers would never come, and waiting for the deadline would only add to the outage.
 * NS3 An answer that comes after its call has settled is dropped.
 */
import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from "@nats-io/nats-core";
import type { MeshError } from "../../protocol/errors.ts";
import { watchConnection } from "./connection-watch.ts";
import { toMeshError, unanswered } from "./errors.ts";
import { decodeHeaders } from "./headers.ts";

/**
 * An answer that takes longer is treated as none. A healthy server answers in milliseconds; one that dies with a
 * message in hand, or has just been elected, may never, and the saga waits for this before it asks again.
 */
export const requestTimeoutMs = 2_500;
const sweepMs = 250;

export interface Requests {
  /** Sends and resolves with the one answer. Throws UNAVAILABLE, TOO_LARGE, SERVER_REFUSED. */
  one(subject: string, data: Uint8Array | string, headers?: MsgHdrs): Promise<Msg>;
  /** Sends and hands every answer to `take` until it says "done". The deadline starts anew with each. */
  many(subject: string, data: Uint8Array | string, take: (answer: Msg) => "more" | "done"): Promise<void>;
  /** Fails what is open with UNAVAILABLE and gives the subscription back. */
  close(): void;
}

interface Waiting {
  readonly subject: string;
  deadline: number;
  /** True when the call is settled. */
  take(answer: Msg): boolean;
  fail(error: MeshError): void;
}

export const createRequests = (nc: NatsConnection): Requests => {
  const inbox = createInbox();
  const waiting = new Map<string, Waiting>();
  let sent = 0;
  let isLost = false;
  let sweep: NodeJS.Timeout | undefined;

  const settleAll = (why: string) => {
    const open = [...waiting.values()];
    waiting.clear();
    for (const call of open) call.fail(unanswered(call.subject, why));
  };
  const sub = nc.subscribe(`${inbox}.*`, {
    callback: (error, answer) => {
      if (error !== null) return settleAll(`the answers cannot be read: ${error.message}`);
      const token = answer.subject.slice(inbox.length + 1);
      const call = waiting.get(token);
      if (call === undefined) return; // NS3
      if (answer.data.length === 0 && decodeHeaders(answer).status === 503) {
        waiting.delete(token);
        return call.fail(
          unanswered(call.subject, "no server answers: an election, or JetStream is not ready"),
        );
      }
      if (call.take(answer)) waiting.delete(token);
    },
  });
  const stopWatching = watchConnection(nc, {
    onLost: () => {
      isLost = true;
      settleAll("the connection to the server was lost"); // NS2
    },
    onBack: () => (isLost = false),
    onRefused: (violation) => {
      for (const [token, call] of waiting)
        if (violation.operation === "publish" && violation.subject === call.subject) {
          waiting.delete(token);
          call.fail(toMeshError(violation, call.subject));
        }
    },
  });

  const sweepOverdue = () => {
    const now = performance.now();
    for (const [token, call] of waiting)
      if (call.deadline < now) {
        waiting.delete(token);
        call.fail(unanswered(call.subject, `no answer within ${requestTimeoutMs} ms`));
      }
    if (waiting.size > 0) return;
    clearInterval(sweep);
    sweep = undefined;
  };
  const send = (subject: string, data: Uint8Array | string, headers: MsgHdrs | undefined, call: Waiting) => {
    if (isLost) return call.fail(unanswered(subject, "the connection to the server is lost")); // NS2
    const token = (sent++).toString(36);
    try {
      nc.publish(subject, data, { reply: `${inbox}.${token}`, headers });
      waiting.set(token, call);
    } catch (error) {
      call.fail(toMeshError(error, subject));
    }
    sweep ??= setInterval(sweepOverdue, sweepMs).unref(); // NS1
  };

  return {
    one: (subject, data, headers) =>
      new Promise((resolve, reject) => {
        const take = (answer: Msg) => {
          resolve(answer);
          return true;
        };
        send(subject, data, headers, {
          subject,
          deadline: performance.now() + requestTimeoutMs,
          take,
          fail: reject,
        });
      }),
    many: (subject, data, take) =>
      new Promise((resolve, reject) => {
        const call: Waiting = {
          subject,
          deadline: performance.now() + requestTimeoutMs,
          take: (answer) => {
            if (take(answer) === "done") return (resolve(), true);
            call.deadline = performance.now() + requestTimeoutMs;
            return false;
          },
          fail: reject,
        };
        send(subject, data, undefined, call);
      }),
    close: () => {
      sub.unsubscribe();
      stopWatching();
      clearInterval(sweep);
      settleAll("the mesh was closed");
    },
  };
};
