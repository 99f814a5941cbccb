/**
 * Witness: sees every turn as it is stored, so that nothing that once stood in a ledger can vanish unnoticed.
 *
 * It reads as any client does, over a line that nobody disturbs, and decides nothing.
 */
import { chainHash } from "../../protocol/digest.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { sagaOfLedger } from "../../protocol/subjects.ts";
import type { LedgerPort } from "../../services/wire/ports.ts";

/** A turn that stood in a ledger once. */
export interface Seen {
  readonly saga: SagaId;
  readonly seq: number;
  readonly hash: string;
}

export interface Witness {
  readonly seen: readonly Seen[];
  /** Sagas of which an end was recorded. */
  readonly ended: ReadonlySet<SagaId>;
  /** Sagas that have a ledger. */
  readonly begun: ReadonlySet<SagaId>;
  stop(): void;
}

export function startWitness(ledger: LedgerPort, onFailure: (error: unknown) => void): Witness {
  const over = new AbortController();
  const seen: Seen[] = [];
  const ended = new Set<SagaId>();
  const begun = new Set<SagaId>();
  const watch = async () => {
    for await (const { subject, seq, data } of ledger.follow({ signal: over.signal })) {
      const saga = sagaOfLedger(subject);
      seen.push({ saga, seq, hash: chainHash(data) });
      begun.add(saga);
      if (Buffer.from(data).includes('"kind":"end"')) ended.add(saga);
    }
  };
  watch().catch(onFailure);
  return { seen, ended, begun, stop: () => over.abort() };
}
