/**
 * Asked: the claims of a mesh whose store was put back, claims and all (services/wire/restored.ts).
 *
 * KA1 What such a mesh has forgotten may have been done: what it decides again has the same key, and nothing tells that the
 *     effect is there. So the first attempt of each call that a saga from before the restore claims is claimed for nobody. A
 *     `once` is in doubt then, and a `probe` asks the outside.
 * KA2 A call is asked about once: what is attempted again, after a person's word or an outside's, is performed.
 */
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { beganBefore } from "../ledger/begun.ts";
import type { ClaimPort, Ports } from "../wire/ports.ts";
import type { RestoreMark } from "../wire/restored.ts";

type AskedPorts = Pick<Ports, "claims" | "ledger" | "blobs" | "restored">;

/** The holder of what is claimed for nobody; with `unasked` behind it, of an attempt that nobody had claimed at all. */
export const askedHolder = ({ at }: RestoreMark): string => `restored-${at}`;

/** By their claims: what is known of sagas, of which a process meets the same ones again. */
const known = new WeakMap<ClaimPort, Map<string, Promise<boolean>>>();
const knownMax = 10_000;

/** The claims that effects are performed by. Those of answers to questions (services/gateway) are the port's own. */
export const claimsOf = (ports: AskedPorts): ClaimPort => ({
  ...ports.claims,
  create: async (key, attempt, nonce) => {
    const mark = ports.restored?.();
    const create = (of: number, holder: string) => ports.claims.create(key, of, holder);
    if (mark === undefined || !(await isFromBefore(ports, parseSagaId(key.split(".")[0] ?? ""), mark)))
      return create(attempt, nonce);
    const holder = askedHolder(mark);
    if (attempt > 1) {
      const unasked = `${holder}-unasked`;
      const before = await create(attempt - 1, unasked);
      const isAsked = !before.won && before.holder !== unasked && before.claimedAt >= mark.at;
      if (isAsked) return create(attempt, nonce); // KA2
    }
    const claim = await create(attempt, holder); // KA1
    if (claim.won) return { won: false, holder, claimedAt: mark.at };
    return claim.holder === nonce ? { won: true } : claim;
  },
});

function isFromBefore(ports: AskedPorts, saga: SagaId, { until }: RestoreMark): Promise<boolean> {
  const name = `${saga} ${until}`;
  const all = known.get(ports.claims) ?? new Map<string, Promise<boolean>>();
  known.set(ports.claims, all);
  const there = all.get(name);
  if (there !== undefined) return there;
  const asked = beganBefore(ports, saga, until);
  if (all.size >= knownMax) all.clear();
  all.set(name, asked);
  asked.catch(() => all.delete(name)); // Asked again with the next claim.
  return asked;
}
