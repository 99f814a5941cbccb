/**
 * IntakePort: what the living hosts say of the room that is left.
 *
 * The strictest counts: each host knows what it can see, a disk, a limit, and none of them all.
 */
import { MeshError } from "../../protocol/errors.ts";
import { decodeHostEntry } from "../../protocol/host-entry.ts";
import { scarcest, storageText } from "../../protocol/storage.ts";
import type { IntakePort, MembershipPort } from "../wire/ports.ts";
import { withinMs } from "./within-ms.ts";

/** A flood of starts costs one question in this time. */
const rememberMs = 2_000;
/** Nothing waits longer for an answer that may be missing. */
const answerMs = 1_000;

export function createIntake(membership: Pick<MembershipPort, "hosts">): IntakePort {
  let known: { readonly at: number; readonly refusal: Promise<MeshError | undefined> } | undefined;
  return {
    refusal: () => {
      if (known === undefined || performance.now() - known.at > rememberMs)
        known = { at: performance.now(), refusal: refusalBy(membership) };
      return known.refusal;
    },
  };
}

async function refusalBy(membership: Pick<MembershipPort, "hosts">): Promise<MeshError | undefined> {
  const entries = (await withinMs(answerMs, membership.hosts())) ?? [];
  const left = scarcest(entries.flatMap(({ data }) => decodeHostEntry(data)?.storage ?? []));
  if (left?.level !== "reserved") return undefined;
  return new MeshError("STORAGE_RESERVED", `${storageText(left)}, which is kept for what runs`);
}
