/**
 * Attack: what every attacker is and may use. Each is one file of `attacks/`, found by its place there.
 *
 * AT1 An attacker is anybody with a connection: it publishes what it likes to any subject. It holds no key of the mesh's
 *     and stops no process but those that it says it kills.
 * AT2 What it sends bears its name in a header, which the mesh passes on and heeds nowhere; so its letters and inputs are
 *     told from those of the workload.
 * AT3 A saga of an attacker is a saga: the promises hold of it, and when the storm is over it is cancelled, and ends.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { SeededChance } from "../../services/memory/faults.ts";
import type { Ports } from "../../services/wire/ports.ts";
import type { Crew } from "./crew.ts";
import type { Violation } from "./violation.ts";
import type { Witness } from "./witness.ts";

/** The header that every message of an attacker bears, with its name. */
export const attackHeader = "Chaos-Attack";

/** Where attackers act. */
export interface Field {
  /** On a line that nobody disturbs. */
  readonly ports: Ports;
  readonly crew: Crew;
  readonly witness: Witness;
  /** An id that is nobody's yet. */
  nameSaga(kind: "planner" | "journey"): SagaId;
  /** Starts a saga of the kind that its id names, as a client would; resolves when the start is stored. */
  begin(saga: SagaId, input: object): Promise<void>;
  cancel(saga: SagaId): Promise<void>;
  /** Resolves when the saga has a ledger, or has ended, or the storm is over. */
  until(what: "begun" | "ended", saga: SagaId): Promise<void>;
  /** Stores bytes on any subject that a stream takes, and resolves with their sequence there; as often as it takes. */
  store(subject: string, data: Uint8Array, headers?: Readonly<Record<string, string>>): Promise<number>;
  /** Publishes bytes that nobody stores. */
  shout(subject: string, data: Uint8Array): void;
  /** Aborted when the storm is over. */
  readonly over: AbortSignal;
  /** For the attack's own account: what `expects` is given back. */
  note(fact: Fact): void;
}

/** What an attacker saw that must not be, or must be found by `expects`. */
export type Fact = Readonly<Record<string, unknown>>;

export interface Attack {
  readonly name: string;
  /** In a sentence. */
  readonly does: string;
  /** A strike about this often, milliseconds. */
  readonly everyMs: number;
  /** Whether it is part of a short run. */
  readonly short: boolean;
  /** One strike. What it does follows from the chance, as far as real time allows. Rejects where the attacker itself is at fault. */
  strike(field: Field, chance: SeededChance): Promise<void>;
  /** What does not hold of its own account, beside what is held against everybody. */
  expects?(facts: readonly Fact[]): Violation[];
}

/** What an attack came to. */
export interface Struck {
  readonly attack: Attack;
  readonly facts: readonly Fact[];
  /** Strikes that were carried out. */
  readonly strikes: number;
  /** Of the attacker's own making; a broken attacker proves nothing. */
  readonly failures: readonly string[];
}
