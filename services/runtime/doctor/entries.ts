/** Entries: what is told of those that processes keep of themselves and of what they pause. */
import type { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { decodeHostEntry } from "../../../protocol/host-entry.ts";
import { ThrottleState, throttledOf } from "../../../protocol/throttle.ts";
import type { Examination } from "../../nats/examine.ts";

/** The hosts, each as far as it says what is understood. */
export const hostsOf = ({ hosts }: Examination): DoctorDocument["hosts"] =>
  (hosts ?? []).map(({ key, data }) => {
    const entry = decodeHostEntry(data); // A newer host may say more than we understand.
    return {
      host: key,
      partitions: entry?.partitions ?? [],
      draining: entry?.draining ?? false,
      ...(entry === undefined ? {} : { since: entry.since }),
      ...(entry?.linesLost === undefined ? {} : { linesLost: entry.linesLost }),
      ...(entry?.weight === undefined ? {} : { weight: entry.weight }),
    };
  });

/** What is paused of tools and models. */
export const pausesOf = ({ throttles }: Examination): DoctorDocument["paused"] =>
  (throttles ?? []).flatMap(({ key, data }) => {
    const what = throttledOf(key);
    const paused = pauseIn(data);
    return what === undefined || paused === undefined ? [] : [{ ...what, ...paused }];
  });

function pauseIn(data: Uint8Array): ThrottleState["paused"] {
  try {
    return ThrottleState.parse(JSON.parse(Buffer.from(data).toString())).paused;
  } catch {
    return undefined; // Not one that a process would read either.
  }
}
