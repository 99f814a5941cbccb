/**
 * Tries: the sagas that this host could not take, and when it tries each again. Until then what comes back of one is given
 * back unread: a message each way, and no request, fold or line of the log.
 *
 * Owns: what is remembered of them. Does not own: which errors a saga stands for (parked.ts), and which are said.
 *
 * ZT1 A message that was given back comes no earlier than it was told to. So it is told to within half a minute, however long
 *     the saga stands: a host that knows nothing of it, another's or one that was started anew, tries it by then. Rejected: minutes
 *     at the server. No consumer tells which of its messages were given back with a delay, so a host that comes after one that
 *     died unseen could end none; and what it saves, a message each way every half a minute, is the lesser part of it.
 * ZT2 What is delivered for the first time is tried at once: it may be what mends the saga.
 * ZT3 So is everything when that changes what a saga may stand for from outside: who serves what, what is declared, whose
 *     signatures count. And what leaves with its partition: its next host may have what this one lacks.
 * ZT4 For less work only. What is remembered is bounded, and what is not is tried whenever it comes.
 */
import { textOfDefinition } from "../../protocol/definition-text.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { partitionOf } from "../../protocol/subjects.ts";
import type { Declared } from "../deployments/declared.ts";
import type { LivingHost } from "../deployments/served.ts";
import type { Returns } from "../suspects/returns.ts";
import { nakDelivery } from "../wire/delivery.ts";
import type { Chance, Clock, Delivery, InboxPort, TrustPort } from "../wire/ports.ts";

/** The sagas that stand, as those see them that take sagas. */
export interface Trying {
  /** Notes that what is held of the saga could not be taken; after so many milliseconds it is to be offered again. */
  failed(this: void, saga: SagaId, held: Iterable<Delivery>): number;
  /** Notes that it is taken again: all that comes of it is tried from here on. */
  taken(this: void, saga: SagaId): void;
}

/** And as those see them that receive what comes for sagas. */
export interface Tries extends Trying {
  /** Gives a delivery back if its saga is not to be tried yet. False: it is to be taken. */
  putsOff(saga: SagaId, delivery: Delivery): boolean;
  /**
   * Hears what sagas may stand for from outside, in words that differ where that does: if they do, all are offered again (ZT3). To
   * be told now and then; undefined: that is not known now.
   */
  hear(outside: string | undefined): void;
  /** Forgets the sagas of a partition, or of all, and has them offered again at once (ZT3). */
  leave(partition?: number): void;
}

/** What remembering takes. */
export interface TriesOptions {
  readonly ports: { readonly inbox: Pick<InboxPort, "recall"> };
  readonly clock: Pick<Clock, "elapsed">;
  readonly chance: Pick<Chance, "random">;
  readonly returns: Pick<Returns, "took">;
  /** Is told of each saga that is tried anew, here or elsewhere. */
  readonly forgotten: (saga: SagaId) => void;
}

/** What was given back and is not back yet. */
interface Back {
  readonly dueAt: number;
  readonly recall: () => void;
}

interface Standing {
  readonly partition: number;
  tries: number;
  /** By the time elapsed. */
  triedAgainAt: number;
  /** By sequence. */
  readonly back: Map<number, Back>;
}

/** What comes so soon before its time has come in time. */
const slackMs = 50;
/** A saga of which nothing came for so long is with another host, or over. */
const forgottenAfterMs = 3 * limits.parkedDelayMs;

/** Twice as long as before. A quarter of it is left to chance: not all are tried at once that began to stand at once. */
const waitMs = (tries: number): number =>
  Math.min(limits.parkedTryMsMax, limits.earlyInputDelayMs * 2 ** Math.min(tries, 20));

/** Nothing stands yet. For a process, whatever its incarnation: one that stood still has forgotten nothing. */
export function createTries({ ports, clock, chance, returns, forgotten }: TriesOptions): Tries {
  const standing = new Map<SagaId, Standing>();
  let known = "";

  function remember(one: Standing, delivery: Delivery, delayMs: number): void {
    const recall = ports.inbox.recall(delivery);
    if (recall === undefined || (one.back.size >= limits.parkedRecallMax && !one.back.has(delivery.seq)))
      return; // It comes by itself (ZT1).
    one.back.set(delivery.seq, { recall, dueAt: clock.elapsed() + delayMs });
  }

  function tidy(): void {
    const before = clock.elapsed() - forgottenAfterMs;
    for (const [saga, one] of standing) if (one.triedAgainAt < before) standing.delete(saga);
  }

  /** Undefined where too many are remembered (ZT4). */
  function admitted(saga: SagaId, partition: number): Standing | undefined {
    if (standing.size >= limits.parkedKnownMax) tidy();
    if (standing.size >= limits.parkedKnownMax) return undefined;
    const one: Standing = { partition, tries: 0, triedAgainAt: 0, back: new Map() };
    standing.set(saga, one);
    return one;
  }

  /** How long what comes of it is to stay away. */
  const awayMs = ({ triedAgainAt }: Standing): number =>
    Math.min(limits.parkedDelayMs, triedAgainAt - clock.elapsed());

  function forget(isMeant: (one: Standing) => boolean): void {
    const now = clock.elapsed();
    for (const [saga, one] of standing) {
      if (!isMeant(one)) continue;
      standing.delete(saga);
      forgotten(saga);
      // What is due is on its way, perhaps to another: called back it would be taken from that one.
      for (const { dueAt, recall } of one.back.values()) if (dueAt > now + slackMs) recall();
    }
  }

  return {
    failed: (saga, held) => {
      const all = [...held];
      const one = standing.get(saga) ?? (all[0] && admitted(saga, partitionOf(all[0].subject)));
      if (one === undefined) return limits.parkedDelayMs;
      if (awayMs(one) <= slackMs) {
        one.triedAgainAt = clock.elapsed() + waitMs(one.tries) * (0.75 + chance.random() / 4);
        one.tries += 1;
      }
      const delayMs = awayMs(one);
      for (const delivery of all) remember(one, delivery, delayMs);
      return delayMs;
    },
    taken: (saga) => {
      const one = standing.get(saga);
      if (one !== undefined) one.triedAgainAt = Math.min(one.triedAgainAt, clock.elapsed());
    },
    putsOff: (saga, delivery) => {
      const one = standing.get(saga);
      one?.back.delete(delivery.seq);
      const delayMs = one === undefined || delivery.deliveries < 2 ? 0 : awayMs(one); // ZT2
      if (one === undefined || delayMs <= slackMs) return false;
      returns.took(delivery); // Of what this process had, and gave back, nothing died.
      remember(one, delivery, delayMs);
      void nakDelivery(delivery, delayMs);
      return true;
    },
    hear: (outside) => {
      if (outside === undefined || outside === known) return;
      forget(() => true);
      known = outside;
    },
    leave: (partition) => forget((one) => partition === undefined || one.partition === partition),
  };
}

/**
 * Who serves what, what is declared, and whose signatures count, as a host knows it now. Undefined while it does not know what is
 * declared: a host that is late, or was cut off, would else try all that stands at once, each time.
 */
export function outsideOf(
  roster: { hosts(): readonly LivingHost[]; declared(): Declared | undefined },
  trust: TrustPort | undefined,
): string | undefined {
  const declared = roster.declared();
  if (declared === undefined) return undefined;
  const serving = roster.hosts().filter(({ draining }) => !draining);
  const served = new Set(serving.flatMap(({ serves }) => serves.map(textOfDefinition)));
  return [trust?.revision(), declared.revision, ...[...served].sort()].join(" ");
}

/** Of a process that receives nothing of a queue: whoever does so remembers. */
export const tryingAlone: Trying = { failed: () => limits.parkedDelayMs, taken: () => undefined };
