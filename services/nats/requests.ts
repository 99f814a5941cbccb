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
import type { Ack } from "../wire/ports.ts";
import { watchConnection } from "./connection-watch.ts";
import { subscribed, toMeshError, unanswered, userOf } from "./errors.ts";
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
  /** What every publish to a stream goes through, where its failures are looked into (storage.ts). */
  readonly storing?: StoreGuard;
}

/** Stores in the stream, and says of a failure what it knows besides. */
export type StoreGuard = (stream: string, store: () => Promise<Ack>) => Promise<Ack>;

interface Waiting {
  readonly subject: string;
  deadline: number;
  /** True when the call is settled. */
  take(answer: Msg): boolean;
  fail(error: MeshError): void;
}

export const createRequests = (nc: NatsConnection): Requests => {
  const inbox = createInbox();
  const calls = createCalls();
  let isLost = false;
  let sweep: NodeJS.Timeout | undefined;

  const settleAll = (why: string) =>
    calls.failWhere(
      () => true,
      ({ subject }) => unanswered(subject, why),
    );
  const sub = subscribed(nc, `${inbox}.*`, (error, answer) => {
    if (error !== null) return settleAll(`the answers cannot be read: ${error.message}`);
    calls.answer(answer.subject.slice(inbox.length + 1), answer);
  });
  const stopWatching = watchConnection(nc, {
    onLost: () => {
      isLost = true;
      settleAll("the connection to the server was lost"); // NS2
    },
    onBack: () => (isLost = false),
    onRefused: (violation) =>
      calls.failWhere(
        ({ subject }) => violation.operation === "publish" && violation.subject === subject,
        ({ subject }) => toMeshError(violation, subject, userOf(nc)),
      ),
  });

  const sweepOverdue = () => {
    const now = performance.now();
    calls.failWhere(
      ({ deadline }) => deadline < now,
      ({ subject }) => unanswered(subject, `no answer within ${requestTimeoutMs} ms`),
    );
    if (calls.isAnyOpen()) return;
    clearInterval(sweep);
    sweep = undefined;
  };
  const send = (subject: string, data: Uint8Array | string, headers: MsgHdrs | undefined, call: Waiting) => {
    if (isLost) return call.fail(unanswered(subject, "the connection to the server is lost")); // NS2
    const token = calls.add(call);
    try {
      nc.publish(subject, data, { reply: `${inbox}.${token}`, headers });
    } catch (error) {
      calls.remove(token);
      call.fail(toMeshError(error, subject));
    }
    sweep ??= setInterval(sweepOverdue, sweepMs).unref(); // NS1
  };

  return {
    one: (subject, data, headers) =>
      new Promise((resolve, reject) => send(subject, data, headers, forOne(subject, resolve, reject))),
    many: (subject, data, take) =>
      new Promise((resolve, reject) =>
        send(subject, data, undefined, forMany(subject, take, resolve, reject)),
      ),
    close: () => {
      sub.unsubscribe();
      stopWatching();
      clearInterval(sweep);
      settleAll("the mesh was closed");
    },
  };
};

/** A place for one call at a time. */
interface Place {
  readonly at: number;
  /** How many calls were here before (NS3). */
  uses: number;
  call: Waiting | undefined;
}

/**
 * The calls that wait for an answer, by the last token of their reply subject: the place, and how often it was used.
 *
 * Places and not a map: what a map has outgrown goes on holding all calls that were under way then, with the turns behind
 * them, until the whole heap is collected.
 */
function createCalls() {
  const places: Place[] = [];
  const free: Place[] = [];
  const tokenOf = ({ at, uses }: Place): string => `${at.toString(36)}-${uses.toString(36)}`;
  const placeOf = (token: string): Place | undefined => {
    const place = places[Number.parseInt(token, 36)]; // As far as the "-".
    return place !== undefined && tokenOf(place) === token ? place : undefined;
  };
  const leave = (place: Place): void => {
    place.call = undefined;
    place.uses += 1;
    free.push(place);
  };
  return {
    add: (call: Waiting): string => {
      const place = free.pop() ?? { at: places.length, uses: 0, call };
      if (place.at === places.length) places.push(place);
      place.call = call;
      return tokenOf(place);
    },
    /** One that was not sent. */
    remove: (token: string) => {
      const place = placeOf(token);
      if (place?.call !== undefined) leave(place);
    },
    isAnyOpen: () => places.length > free.length,
    answer: (token: string, answer: Msg) => {
      const place = placeOf(token);
      const call = place?.call;
      if (place === undefined || call === undefined) return; // NS3
      if (answer.data.length === 0 && decodeHeaders(answer).status === 503) {
        leave(place);
        return call.fail(
          unanswered(call.subject, "no server answers: an election, or JetStream is not ready"),
        );
      }
      if (call.take(answer) && place.call === call) leave(place);
    },
    /** Fails the calls that are meant, each once. */
    failWhere: (isMeant: (call: Waiting) => boolean, errorOf: (call: Waiting) => MeshError) => {
      for (const place of [...places]) {
        const { call } = place;
        if (call === undefined || !isMeant(call)) continue;
        leave(place);
        call.fail(errorOf(call));
      }
    },
  };
}

const newDeadline = (): number => performance.now() + requestTimeoutMs;

type Fail = (error: MeshError) => void;

/** A call that its first answer settles. */
const forOne = (subject: string, resolve: (answer: Msg) => void, fail: Fail): Waiting => ({
  subject,
  deadline: newDeadline(),
  take: (answer) => {
    resolve(answer);
    return true;
  },
  fail,
});

/** A call that lasts until `take` says "done". Its deadline starts anew with each answer. */
function forMany(
  subject: string,
  take: (answer: Msg) => "more" | "done",
  resolve: () => void,
  fail: Fail,
): Waiting {
  const call: Waiting = {
    subject,
    deadline: newDeadline(),
    take: (answer) => {
      if (take(answer) === "done") {
        resolve();
        return true;
      }
      call.deadline = newDeadline();
      return false;
    },
    fail,
  };
  return call;
}
