/**
 * Dead letter: a message set aside with the reason, its origin and its original headers. Nothing waits for it.
 */
import type { MeshError } from "../protocol/errors.ts";
import { type DeadSource, headers, subjects } from "../protocol/subjects.ts";
import { patiently } from "./patience.ts";
import type { Clock, Delivery, Ports } from "./ports.ts";

/** Stores the letter; the caller acks the message afterwards. The same message set aside twice is one letter. */
export async function deadLetter(
  deps: { ports: Pick<Ports, "dead">; clock: Clock },
  source: DeadSource,
  delivery: Delivery,
  error: MeshError,
): Promise<void> {
  const id = /^[\w-]{1,64}$/.exec(
    delivery.headers[headers.saga] ?? delivery.subject.split(".")[source === "inbox" ? 2 : 1] ?? "",
  )?.[0];
  const message = {
    subject: subjects.dead(source, id ?? "unknown"),
    data: delivery.data,
    headers: {
      ...delivery.headers,
      [headers.reason]: `${error.message} ${error.remedy}`.replaceAll(/[\r\n]+/g, " ").slice(0, 2_000),
      [headers.origin]: `${delivery.subject}#${delivery.seq}`,
    },
    msgId: `dead:${source}:${delivery.seq}`,
  };
  await patiently(deps.clock, () => deps.ports.dead.publish(message), {
    patienceMs: Number.POSITIVE_INFINITY,
  });
}
