/**
 * Audit: now and then each host looks through its share of the sagas for what is open and in no queue, and has it handed
 * on again. It finds what a deleted queue, a lost tail or a bug has left standing for good.
 *
 * Owns: when, which share, and how often one saga. Does not own: what is found (services/ledger/orphans.ts), and what
 * becomes of it (again.ts): a nudge goes to the saga's owner through its inbox. Rejected: a scan of WORK for each call, which
 * grows with the backlog, and an index of open work beside the ledger, which may be lost as well.
 *
 * AQ1 Hosts share the sagas by a hash of their ids over the hosts that live. While two see the list differently a
 *     saga is looked at twice or in the next round; neither does harm.
 * AQ2 A saga whose last turn is younger than a round is not looked at: it goes on.
 * AQ3 One that is found again and again is nudged ever more seldom, at least daily, and said once.
 * AQ4 A saga with an input in INBOX is passed over, for a host that has it holds one. Where that input concerns nothing of
 *    the saga, as a result of a turn that was lost does, its owner looks itself, without going by that.
 * AQ5 What a saga told another is closed once it is acked, and open nowhere. After INBOX was made anew, each host looks once
 *    for what its share of the sagas had told in the week before and its receivers lack, and tells it again.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { findLostSignals } from "../ledger/lost-signals.ts";
import { createOrphanSearch, lostCalls, type OrphanedSaga } from "../ledger/orphans.ts";
import { publishNudge } from "../wire/nudge.ts";
import { patiently } from "../wire/patience.ts";
import { publishSagaSignal } from "../wire/saga-signal.ts";
import type { HostDeps } from "./host-deps.ts";
import type { Owned } from "./phase.ts";

/** What an audit takes. */
export interface AuditDeps extends Pick<HostDeps, "ports" | "clock" | "log" | "observe" | "incarnation"> {
  readonly everyMs: number;
  /** Those that live, this host too. */
  readonly hosts: () => readonly { readonly host: string; readonly draining: boolean }[];
  readonly signal: AbortSignal;
}

/** Ledgers read at a time: slow on purpose, beside all else that a host does. */
const atOnce = 2;
const dayMs = 86_400_000;

interface Nudged {
  times: number;
  notBefore: number;
}

/** A round of the audit, to be run every `everyMs`. Throws UNAVAILABLE. */
export function createAudit(deps: AuditDeps): () => Promise<void> {
  const { ports, clock, log, everyMs, signal } = deps;
  const search = createOrphanSearch(ports);
  const nudged = new Map<SagaId, Nudged>();
  /** The loss of INBOX that it has looked after. */
  let toldFor: number | undefined;

  async function handOnAgain({ saga, since, orphans }: OrphanedSaga): Promise<void> {
    const before = nudged.get(saga);
    if (before !== undefined && clock.elapsed() < before.notBefore) return;
    const times = (before?.times ?? 0) + 1;
    nudged.set(saga, { times, notBefore: clock.elapsed() + Math.min(everyMs * 2 ** times, dayMs) }); // AQ3
    const intents = orphans.map(({ intent, kind, name }) => [intent, kind, name].join(" ").trim());
    const level = times === 1 ? "warn" : "debug";
    log[level](
      { sagaId: saga, since: new Date(since).toISOString(), intents: intents.slice(0, 10), times },
      "open and in no queue: handed on again",
    );
    for (const { kind } of orphans) deps.observe.orphaned(kind);
    await publishNudge(ports, saga, lostCalls(orphans));
  }

  /** AQ5. */
  async function tellAgain(quietSince: number): Promise<void> {
    const until = search.inboxRemadeAt();
    const since = quietSince - limits.signalHorizonMs;
    if (until === undefined || until === toldFor || until > quietSince || until < since) return;
    const lost = await findLostSignals(ports, { of: shareOf(deps), since, until, atOnce, signal });
    for (const { from, intent, body } of lost) {
      log.warn({ sagaId: from, to: intent.saga, name: intent.name }, "signal lost on its way: told again");
      deps.observe.orphaned("signal");
      await publishSagaSignal({ ports, clock, signal }, from, intent, body, [`again-${until}`]);
    }
    toldFor = until;
  }

  return async () => {
    const quietSince = (await ports.claims.now()) - everyMs; // AQ2
    const found = await search.look({ of: shareOf(deps), quietSince, atOnce, signal });
    await tellAgain(quietSince);
    for (const one of found) await handOnAgain(one);
    for (const { saga, code, reason } of found.unreadable)
      log.debug({ sagaId: saga, code, reason }, "a ledger that the audit cannot read");
    for (const [saga, { notBefore }] of nudged)
      if (notBefore + everyMs < clock.elapsed()) nudged.delete(saga);
  };
}

/**
 * AQ4: the same for one saga that this host has, now and then. Throws UNAVAILABLE.
 */
export async function auditHeld(
  {
    ports,
    clock,
    auditEveryMs: everyMs,
    signal,
  }: Pick<HostDeps, "ports" | "clock" | "auditEveryMs" | "signal">,
  saga: SagaId,
  own: Owned,
): Promise<void> {
  const now = clock.elapsed();
  if (own.auditedAt !== undefined && now - own.auditedAt < everyMs) return;
  own.auditedAt = now;
  const quietSince = (await patiently(clock, () => ports.claims.now())) - everyMs; // AQ2
  const options = { of: (one: SagaId) => one === saga, quietSince, alsoHeld: true, signal };
  const [found] = await patiently(clock, () => createOrphanSearch(ports).look(options));
  const { open } = own.loaded.state;
  const lost = found?.orphans.filter(({ intent }) => {
    const one = open[intent];
    return one !== undefined && !own.hands.isInHand(one);
  });
  if (lost !== undefined && lost.length > 0)
    await patiently(clock, () => publishNudge(ports, saga, lostCalls(lost)));
}

/** AQ1. */
function shareOf({ hosts, incarnation }: AuditDeps): (saga: SagaId) => boolean {
  const serving = hosts()
    .flatMap(({ host, draining }) => (draining ? [] : [host]))
    .sort();
  const own = serving.indexOf(incarnation);
  return (saga) => own >= 0 && hashOf(saga) % serving.length === own;
}

/** FNV-1a: evenness is all that counts. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
