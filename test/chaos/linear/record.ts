/**
 * Record: ports that write down a history of what is done through them, and are else as they were.
 *
 * | object | what is done | what is not recorded, and why |
 * |---|---|---|
 * | a saga's ledger | appends | reads: a host acts on none of them without an append that is compared |
 * | a claim | claims | nothing |
 * | an entry of THROTTLE, a document of REGISTRY | writes and reads | `put`: its key is its content |
 * | a signal or a vote with an id | sending it | results, timers: what is known already is not kept; what has no id cannot be recognised |
 */
import { isMeshError } from "../../../protocol/errors.ts";
import { headers, parseInboxSubject } from "../../../protocol/subjects.ts";
import { chainHash } from "../../../protocol/digest.ts";
import type { InboxPort, Ports } from "../../../services/wire/ports.ts";
import type { Answer, Call, History } from "./history.ts";

/** The same ports, every call of which that counts is written down. */
export function recordedPorts(ports: Ports, history: History): Ports {
  const { ledger, claims, throttles, registry, inbox } = ports;
  return {
    ...ports,
    ledger: {
      ...ledger,
      append: (saga, message) =>
        history.record(
          {
            ...{ object: "ledger", key: saga, do: "append" },
            ...{ value: chainHash(message.data), expected: message.expectedSeq },
          },
          () => ledger.append(saga, message),
          ({ seq }) => ({ outcome: "done", seq }),
          answerOfFailure,
        ),
    },
    claims: {
      ...claims,
      create: (key, attempt, nonce) =>
        history.record(
          { object: "claim", key: `${key}.${attempt}`, do: "claim", value: nonce },
          () => claims.create(key, attempt, nonce),
          (said) => (said.won ? { outcome: "done" } : { outcome: "refused", value: said.holder }),
          answerOfFailure,
        ),
    },
    throttles: {
      ...throttles,
      ...recordedEntry("THROTTLE", throttles, history, () => ({ outcome: "done" })),
    },
    registry: {
      ...registry,
      ...recordedEntry("REGISTRY", registry, history, (seq) => ({ outcome: "done", seq })),
    },
    inbox: { ...inbox, publish: recordedPublish(inbox.publish, history) },
  };
}

interface Entries<T> {
  read(key: string): Promise<{ data: Uint8Array; revision: number } | undefined>;
  write(key: string, data: Uint8Array, revision: number): Promise<T>;
}

function recordedEntry<T>(
  bucket: string,
  { read, write }: Entries<T>,
  history: History,
  answerOf: (said: T) => Answer,
): Entries<T> {
  return {
    read: (key) =>
      history.record(
        { object: "entry", key: `${bucket}/${key}`, do: "read" },
        () => read(key),
        (entry) => ({
          outcome: "done",
          seq: entry?.revision ?? 0,
          value: entry === undefined ? "" : chainHash(entry.data),
        }),
        () => ({ outcome: "nothing" }),
      ),
    write: (key, data, revision) =>
      history.record(
        {
          ...{ object: "entry", key: `${bucket}/${key}`, do: "write" },
          ...{ value: chainHash(data), expected: revision },
        },
        () => write(key, data, revision),
        answerOf,
        answerOfFailure,
      ),
  };
}

/** Publishing to the inbox, as hosts, workers, clients and people do. */
export const recordedPublish =
  (publish: InboxPort["publish"], history: History): InboxPort["publish"] =>
  async (message) => {
    const call = callOfInput(message.subject, message.headers[headers.event] ?? message.msgId);
    return call === undefined
      ? publish(message)
      : history.record(
          call,
          () => publish(message),
          () => ({ outcome: "done" }),
          answerOfFailure,
        );
  };

/** What sending an input does to its mark; undefined for what has none. */
export function callOfInput(subject: string, id: string | undefined): Call | undefined {
  const { kind, saga } = parseInboxSubject(subject);
  if (id === undefined || (kind !== "signal" && kind !== "task")) return undefined;
  return { object: "input", key: inputKey(saga, kind, id), do: "send", value: id };
}

/** The key of a signal's or a vote's mark. */
export const inputKey = (saga: string, kind: "signal" | "task", id: string): string =>
  `${saga}/${kind}/${id}`;

/** What a failed call says of the object: that it was not as expected, nothing, or that nobody knows. */
function answerOfFailure(error: unknown): Answer {
  if (isMeshError(error, "WRONG_SEQUENCE")) return { outcome: "refused" };
  const isNothing = (["WRITE_IN_FLIGHT", "DUPLICATE_IN_FLIGHT", "TOO_LARGE"] as const).some((code) =>
    isMeshError(error, code),
  );
  return { outcome: isNothing ? "nothing" : "unknown" };
}
