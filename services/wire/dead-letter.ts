/**
 * Dead letter: a message set aside with the reason, its origin and its original headers. No saga waits for it.
 *
 * DA1 A letter keeps what its message is recognised by, so one that is retried is the same input.
 * DA2 Headers by which the server acts on a message are left out: the letter is neither a schedule nor a repeat.
 */
import { describeWithRemedy, type MeshError } from "../../protocol/errors.ts";
import { type DeadSource, type Headers, headers, subjects } from "../../protocol/subjects.ts";
import { eventIdOf } from "./messages.ts";
import { patiently } from "./patience.ts";
import type { Clock, Delivery, Ports } from "./ports.ts";

/** Stores the letter; the caller acks the message afterwards. The same message set aside twice is one letter. */
export async function deadLetter(
  deps: { ports: Pick<Ports, "dead">; clock: Clock },
  source: DeadSource,
  delivery: Pick<Delivery, "subject" | "seq" | "storedAt" | "data" | "headers">,
  error: MeshError,
): Promise<void> {
  const id = /^[\w-]{1,64}$/.exec(
    delivery.headers[headers.saga] ?? delivery.subject.split(".")[source === "inbox" ? 2 : 1] ?? "",
  )?.[0];
  const message = {
    subject: subjects.dead(source, id ?? "unknown"),
    data: delivery.data,
    headers: {
      ...withoutServerFields(delivery.headers),
      ...(source === "inbox" ? { [headers.event]: eventIdOf(delivery) } : {}), // DA1
      [headers.reason]: describeWithRemedy(error)
        .replaceAll(/[\r\n]+/g, " ")
        .slice(0, 2_000),
      [headers.origin]: `${delivery.subject}#${delivery.seq}`,
    },
    // A queue that was lost and made anew counts from 1 again.
    msgId: `dead:${source}:${delivery.seq}:${delivery.storedAt}`,
  };
  await patiently(deps.clock, () => deps.ports.dead.publish(message), {
    patienceMs: Number.POSITIVE_INFINITY,
  });
}

/** DA2. */
export const withoutServerFields = (fields: Headers): Headers =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !name.startsWith("Nats-")));

/** What a letter says of why it was set aside and where its message was stored. */
export const readLetterHeaders = (fields: Headers): { code: string; reason: string; origin: string } => {
  const { [headers.reason]: reason = "", [headers.origin]: origin = "" } = fields;
  return {
    code: /^\[(\w+)\]/.exec(reason)?.[1] ?? "unknown",
    reason,
    origin: origin.replace(/#\d+$/, ""),
  };
};
