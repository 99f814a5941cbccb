/**
 * Child: a process that takes suspects in the place of the one that started it, its parent, and what the two say
 * to each other. Types only.
 *
 * CH1 The parent keeps the leases and settles the deliveries; the child only says how. So a child that dies has
 *     acked nothing that it had not finished, and one whose parent died is cut off.
 */
import type { StoredMessage } from "../wire/ports.ts";

/** A delivery on its way to a child, which settles it by its sequence. */
export type Handed = StoredMessage & { readonly deliveries: number };

/** What a parent says. */
export type ToChild =
  | { readonly type: "offer"; readonly key: string; readonly handed: Handed }
  /** Nothing more is to be begun for it. */
  | { readonly type: "leave"; readonly key: string }
  /** Settle what it died of, performing nothing. */
  | { readonly type: "setAside"; readonly key: string; readonly handed: readonly Handed[] }
  /** The leases of everything offered were prolonged. */
  | { readonly type: "beat" };

/** What a child says. */
export type FromChild =
  | { readonly type: "ack"; readonly key: string; readonly seq: number }
  | { readonly type: "nak"; readonly key: string; readonly seq: number; readonly delayMs?: number }
  /** It holds nothing of this any more. */
  | { readonly type: "quiet"; readonly key: string }
  | { readonly type: "alive" }
  /** It ends for a reason that no suspect is to blame for: no server, say. */
  | { readonly type: "excused"; readonly reason: string };

/** A child process that serves. */
export interface IsolatedChild {
  readonly pid: number;
  send(message: ToChild): void;
  /** Ends it at once. */
  end(): void;
  /** The signal or exit code it ended by. */
  readonly ended: Promise<string>;
}

/** Starts a child. Resolves when it serves; rejects if it ended before. */
export type Isolate = (hear: (message: FromChild) => void) => Promise<IsolatedChild>;
