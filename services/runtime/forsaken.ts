/**
 * Forsaken: what stands in INBOX and WORK for sagas whose ledger is lost. Their hosts would begin sagas anew with it, from their
 * starts, beside all that they did before and that nobody knows of any more.
 *
 * XK1 All of it is set aside before there is an empty ledger, so that no host takes any of it by that. A letter is stored before its
 *     message is taken away, and again is the same letter: it may be broken off and done again.
 * XK2 A timer is no message of anybody, and none is kept: what waits for it is gone.
 */
import type { ForsakenInputs } from "../../protocol/documents/rebuild.ts";
import { MeshError } from "../../protocol/errors.ts";
import { headers, streams } from "../../protocol/subjects.ts";
import { takeAway } from "../nats/dead.ts";
import { queuedIn } from "../nats/rebuild.ts";
import { deadLetter } from "../wire/dead-letter.ts";
import type { DeadPort, StoredMessage } from "../wire/ports.ts";
import { systemClock } from "./system.ts";

type Context = Parameters<typeof queuedIn>[0];

export interface ForsakenOptions {
  /** Where it is set aside; undefined: it is only counted. */
  readonly dead: DeadPort | undefined;
  /** Whose ledger is lost: of several shards some sagas' are not. */
  readonly isLost: (saga: string | undefined) => Promise<boolean>;
  /** Starts and signals stay, so that their sagas begin anew. */
  readonly beginsAnew: boolean;
  readonly signal: AbortSignal;
}

const lost = new MeshError("LEDGER_LOST", "the ledger was lost, and an empty one was begun");

/** Counts what there is, and sets it aside (XK1). Throws UNAVAILABLE. */
export async function forsake(
  context: Context,
  { dead, isLost, beginsAnew, signal }: ForsakenOptions,
): Promise<ForsakenInputs> {
  const counts = { starts: 0, inputs: 0, timers: 0, calls: 0 };
  const put = async (stream: string, message: StoredMessage, source?: "inbox" | "work") => {
    if (dead === undefined) return;
    if (source !== undefined)
      await deadLetter({ ports: { dead }, clock: systemClock }, source, message, lost);
    await takeAway(context, stream, message.seq);
  };
  for await (const message of queuedIn(context, streams.inbox)) {
    signal.throwIfAborted();
    const [first, second, third, kind] = message.subject.split(".");
    if (!(await isLost(first === "timer" ? second : third))) continue;
    if (first === "timer") {
      counts.timers += 1;
      await put(streams.inbox, message); // XK2
      continue;
    }
    counts[kind === "start" ? "starts" : "inputs"] += 1;
    if (!(beginsAnew && (kind === "start" || kind === "signal"))) await put(streams.inbox, message, "inbox");
  }
  for await (const message of queuedIn(context, streams.work)) {
    signal.throwIfAborted();
    if (!(await isLost(message.headers[headers.saga]))) continue;
    counts.calls += 1;
    await put(streams.work, message, "work");
  }
  return counts;
}
