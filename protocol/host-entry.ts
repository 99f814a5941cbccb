/** Host entry: what a host says of itself in HOSTS, with each heartbeat and at once when it changes. */
import { z } from "zod";
import { ServedDefinition } from "./deployments.ts";
import { Keys } from "./event.ts";
import { StorageLeft } from "./storage.ts";
import { Hearing } from "./follows.ts";
import { WeightNow } from "./host-weight.ts";

/** Which process a host is, for another on its machine to see that it has ended. */
export const ProcessMark = z.object({
  /** The machine since its last start, and the space in which its processes are numbered. */
  machine: z.string(),
  pid: z.int().positive(),
  /** When it began: a number is given again. */
  began: z.string(),
});
export type ProcessMark = z.infer<typeof ProcessMark>;

/** The entry of one incarnation, under its name. Other hosts read it to share the partitions, `doctor` to list them. */
export const HostEntry = z.object({
  /** The partitions it consumes. */
  partitions: z.array(z.int().nonnegative()),
  /** The host is ending and takes nothing more: others may take its partitions without waiting for it. */
  draining: z.boolean(),
  /** When it began, milliseconds since the epoch by its own clock. */
  since: z.number(),
  /** The definitions it serves. */
  serves: z.array(ServedDefinition),
  /** The revision of the declared deployments that it goes by; 0: none was declared yet. */
  deployments: z.int().nonnegative(),
  /** How it can make keys besides the oldest way: a saga begins with what every living host can make. */
  keys: Keys.optional(),
  /** The same of the ids of signals to other sagas. */
  told: Keys.optional(),
  /** How it can fold machines besides the oldest way; the same holds for each. */
  ...Hearing.shape,
  /** It keeps the rows of its sagas; absent in a host of a version without rows, and while one could not be written. */
  lists: z.literal(true).optional(),
  /** It finds ledgers over several streams; absent in a host of a version that knows of one. */
  shards: z.literal(true).optional(),
  /** What it knows of whose signatures count, by its revision, and the public key that it signs with, if it signs. */
  trust: z.object({ revision: z.int().nonnegative(), signs: z.string().optional() }).optional(),
  /** Lines of its log that it could not write; absent where there are none. */
  linesLost: z.int().positive().optional(),
  /** Of what this host knows the limits of, what is used up first; absent where it knows of none. */
  storage: StorageLeft.optional().catch(undefined),
  /** How much it takes beside others; absent in a host of a version in which all took the same. */
  weight: WeightNow.optional().catch(undefined),
  /** The server at which it hears what is handed on to it, by the name that is new with each of its starts; absent while it does not. */
  heardAt: z.string().optional(),
  /** Absent where its machine does not tell. */
  process: ProcessMark.optional(),
});
export type HostEntry = z.infer<typeof HostEntry>;

/** The entry as it is stored: JSON. */
export const encodeHostEntry = (entry: HostEntry): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(entry));

/** Reads an entry. Undefined where it cannot be read: it is of a host of another version, or was written by mistake. */
export function decodeHostEntry(data: Uint8Array): HostEntry | undefined {
  try {
    return HostEntry.parse(JSON.parse(new TextDecoder().decode(data)));
  } catch {
    return undefined; // Placement is for speed only: a host that cannot be understood is not waited for.
  }
}
