/**
 * Storage: whether the server stores what it is sent, and if not why, in words that help.
 *
 * Owns: telling a server that cannot store from one that does not answer. Does not own: what is done then: hosts and workers
 * send the same again until it is stored.
 *
 * ZU1 A stream that could not write once takes nothing until its server is restarted, also after space was freed, and a publish
 *     to it has no answer: to its sender it looks like an election. What does answer is a purge, with the disk's own words, so
 *     a purge of what no stream holds is asked for. It changes nothing.
 * ZU2 That is asked of a stream without copies only: what is replicated the servers settle among themselves, and the one whose
 *     disk is full leaves.
 * ZU3 Whether a server's own limit is reached only a publish tells. One that is only traced is judged and not stored.
 */
import { createInbox, type Msg, type NatsConnection } from "@nats-io/nats-core";
import { describeError, isMeshError, type MeshError } from "../../protocol/errors.ts";
import { buckets } from "../../protocol/subjects.ts";
import { refusalToMeshError, type ServerRefusal, subscribed } from "./errors.ts";
import { encodeHeaders } from "./headers.ts";
import type { Report } from "./progress.ts";
import type { Requests, StoreGuard } from "./requests.ts";
import { entrySubject } from "./streams.ts";
import { withinMs } from "./within-ms.ts";

/** A server that answers at all answers this in milliseconds; an election must not last longer for being asked. */
const answerMs = 500;
/** A stream that nothing was refused by for this long is not known to be full any more: perhaps nothing is sent to it. */
const forgetMs = 30_000;

/** What stands between this process and every stream. */
export interface StorageWatch {
  /** Stores, and throws STORAGE_FULL where that is why there was no answer: then it may be stored or not, as with UNAVAILABLE. */
  readonly storing: StoreGuard;
  /** Why nothing is stored now. */
  fault(): MeshError | undefined;
}

/** Watches what this process stores. A fault and its end are reported once. */
export function watchStorage(asking: Pick<Requests, "one">, report: Report): StorageWatch {
  const faults = new Map<string, { readonly error: MeshError; readonly at: number }>();
  const asked = new Map<string, Promise<MeshError | undefined>>();
  const note = (stream: string, error: MeshError): void => {
    const isNews = current() === undefined;
    faults.set(stream, { error, at: performance.now() });
    if (isNews) report(`${describeError(error)} ${error.remedy}`);
  };
  const current = (): MeshError | undefined => {
    for (const [stream, { error, at }] of faults) {
      if (performance.now() - at < forgetMs) return error;
      faults.delete(stream);
    }
    return undefined;
  };
  /** One question a stream at a time, however many publishes wait. */
  const whyNot = (stream: string) => {
    const question = asked.get(stream) ?? writeErrorOf(asking, stream).finally(() => asked.delete(stream));
    asked.set(stream, question);
    return question;
  };
  return {
    storing: async (stream, store) => {
      try {
        const ack = await store();
        if (faults.delete(stream) && faults.size === 0) report("the server stores again");
        return ack;
      } catch (error) {
        const full = isMeshError(error, "STORAGE_FULL")
          ? error
          : isMeshError(error, "UNAVAILABLE")
            ? await whyNot(stream)
            : undefined;
        if (full === undefined) throw error;
        note(stream, full);
        throw full;
      }
    },
    fault: current,
  };
}

interface Answer {
  readonly error?: ServerRefusal;
  readonly config?: { readonly num_replicas?: number };
}

/** Why a stream takes nothing since a write failed; undefined for one that works, is away or has copies (ZU1, ZU2). */
export async function writeErrorOf(
  requests: Pick<Requests, "one">,
  stream: string,
): Promise<MeshError | undefined> {
  const info = await ask(requests, `$JS.API.STREAM.INFO.${stream}`, "");
  if (info?.config?.num_replicas !== 1) return undefined;
  const purge = await ask(requests, `$JS.API.STREAM.PURGE.${stream}`, JSON.stringify({ filter: nothing }));
  if (purge?.error === undefined) return undefined;
  const error = refusalToMeshError(purge.error, `stream ${stream} takes nothing`);
  return error.code === "STORAGE_FULL" ? error : undefined;
}

/** A subject of no stream of a mesh. */
const nothing = "sagamesh.nothing";

async function ask(
  requests: Pick<Requests, "one">,
  subject: string,
  body: string,
): Promise<Answer | undefined> {
  const answer = await withinMs(answerMs, requests.one(subject, body));
  return answer && readAnswer(answer);
}

/** Undefined: nothing is told. "No responders" has no body, and whoever else answers may say anything. */
function readAnswer(answer: Msg): Answer | undefined {
  try {
    return answer.json<Answer>();
  } catch {
    return undefined;
  }
}

/** That the server's own limit is reached (ZU3). Undefined where it is not, and where nothing is told. */
export async function serverLimitReached(nc: NatsConnection): Promise<MeshError | undefined> {
  const inbox = createInbox();
  const told = Promise.withResolvers<Answer | undefined>();
  const sub = subscribed(nc, inbox, (error, answer) =>
    // What is thrown here would end the connection.
    told.resolve(error === null ? readAnswer(answer) : undefined),
  );
  const headers = encodeHeaders({}, { "Nats-Trace-Only": "true", "Nats-Trace-Dest": inbox });
  try {
    nc.publish(entrySubject(buckets.registry, "traced"), new Uint8Array(), { headers, reply: inbox });
    const refusal = (await withinMs(answerMs, told.promise))?.error; // A trace is told in its place where nothing is refused.
    if (refusal === undefined) return undefined;
    const error = refusalToMeshError(refusal, "the server");
    return error.code === "STORAGE_FULL" ? error : undefined;
  } finally {
    sub.unsubscribe();
  }
}
