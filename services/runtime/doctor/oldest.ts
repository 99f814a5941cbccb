/** What is told of the oldest input of a partition. */
import { decode } from "../../../protocol/codec.ts";
import type { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { StartMessage } from "../../../protocol/event.ts";
import { headers, parseInboxSubject } from "../../../protocol/subjects.ts";
import type { Oldest } from "../../nats/examine.ts";
import type { StoredMessage } from "../../wire/ports.ts";

/** Whose it is and what, in words. */
export function oldestOf(
  oldest: Oldest | undefined,
): Pick<DoctorDocument["partitions"][number], "oldestSaga" | "oldestInput" | "oldestSagaIs"> {
  const { unacked, saga: oldestSagaIs } = oldest ?? {};
  if (unacked === undefined) return {};
  try {
    const address = parseInboxSubject(unacked.subject);
    const oldestInput =
      address.kind === "start"
        ? `start of ${startedBy(unacked)}`
        : `${address.kind} ${address.kind === "signal" ? address.name : address.intent}`;
    return {
      ...{ oldestSaga: address.saga, oldestInput },
      ...(oldestSagaIs === undefined ? {} : { oldestSagaIs }),
    };
  } catch {
    return {}; // It names no saga: its host will set it aside.
  }
}

/** What a stored start names. */
function startedBy({ data, headers: fields }: StoredMessage): string {
  const read = StartNames.safeParse(decode(data, fields[headers.contentType]));
  const { name = "something unreadable", version } = read.data ?? {};
  return version === undefined ? name : `${name}@${version}`;
}

const StartNames = StartMessage.pick({ name: true, version: true });
