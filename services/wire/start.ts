/**
 * Start: storing the message with which a saga begins. All doors use it: clients, forks, parents, retried letters.
 *
 * WS1 A start is stored only where none of its saga stands in the inbox. Whether the saga has begun already only its
 *     ledger tells: a host acks a start after it is there.
 * WS2 It may be sent again identically: the same start that stands is taken for this one.
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { StartMessage } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { askedFor, isSameStart, type StartIdentity } from "../../protocol/start.ts";
import { type Headers, subjects } from "../../protocol/subjects.ts";
import { readBody } from "./messages.ts";
import type { Ports, StoredMessage } from "./ports.ts";

/** A start ready to be stored; `as` is what it asks for, its Msg-Id is that start's alone. */
export interface StartToStore {
  readonly saga: SagaId;
  readonly as: StartIdentity;
  readonly data: Uint8Array;
  readonly headers: Headers;
  readonly msgId: string;
}

/**
 * `stored`: now. `stands`: it stood there already. `taken`: another one stands there. `known`: the server knows its
 * Msg-Id and it stands no more: a host has begun the saga, or refused to.
 */
export type Storing = "stored" | "stands" | "taken" | "known";

/**
 * Stores a start unless one stands. Throws UNAVAILABLE, STORAGE_FULL, and WRITE_IN_FLIGHT while another comes or goes: then
 * the same call may be made again.
 */
export async function storeStart(
  ports: Pick<Ports, "inbox" | "blobs">,
  { saga, as, ...message }: StartToStore,
): Promise<Storing> {
  let isKnown = false;
  try {
    const ack = await ports.inbox.publish({ ...message, subject: subjects.start(saga), expectedSeq: 0 });
    if (!ack.duplicate) return "stored";
    isKnown = true;
  } catch (error) {
    if (!isMeshError(error, "WRONG_SEQUENCE")) throw error;
  }
  const standing = await ports.inbox.standingStart(saga);
  if (standing !== undefined) return (await isOf(ports, standing, as)) ? "stands" : "taken";
  if (isKnown) return "known";
  throw new MeshError("WRITE_IN_FLIGHT", `another start of ${saga} has just left the inbox`);
}

/** What a stored start asks for. Undefined for one that cannot be read: a host will refuse it. */
export async function readStanding(
  ports: Pick<Ports, "blobs">,
  message: Pick<StoredMessage, "subject" | "data" | "headers">,
): Promise<StartMessage | undefined> {
  try {
    return await readBody(ports.blobs, message, StartMessage);
  } catch (error) {
    if (isMeshError(error) && error.retriable) throw error;
    return undefined;
  }
}

async function isOf(
  ports: Pick<Ports, "blobs">,
  standing: StoredMessage,
  as: StartIdentity,
): Promise<boolean> {
  const asked = await readStanding(ports, standing);
  return asked !== undefined && isSameStart(askedFor(asked), as);
}
