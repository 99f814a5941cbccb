/**
 * Claim: who may perform an attempt of a `once` or `probe` intent.
 *
 * CI1 The holder is a nonce that is made for one delivery and kept in memory: a restarted process, or one that gets
 *    its own delivery again, is another performer.
 * CI2 A holder acts within the tool's timeout, counted from before it asked for its claim; any other
 *    performer waits for the claim's time by the server, the timeout and a grace. Only then is anything said or done.
 * CI3 A `once` attempt has one claim. A `probe` effect has a row of them: a takeover claims the next, so that
 *    of several that wait only one goes on.
 * CI4 A claim that was won late may have been another's: those of an archived saga go (services/archive/left.ts). So whoever
 *    wins one reads the ledger after that, if its call was decided long ago (still-asked.ts), and acts only if it is asked for.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { patiently } from "../wire/patience.ts";
import type { Chance, ClaimPort, Clock } from "../wire/ports.ts";

/** What a claim is made with. */
export interface ClaimDeps {
  readonly claims: ClaimPort;
  readonly clock: Clock;
  readonly chance: Chance;
  /** CI4. Undefined for a saga's own host: it has the saga, and begins nothing once it has stood still. */
  readonly stillAsked?: (call: Call, signal: AbortSignal) => Promise<boolean>;
}

/** One attempt of a call. */
export interface Call {
  readonly saga: SagaId;
  readonly intent: IntentId;
  readonly attempt: number;
  readonly key: string;
  /** Milliseconds since the epoch; undefined where it is not known. */
  readonly decidedAt?: number | undefined;
}

/** Which effect is claimed. `timeoutMs` is for how long its holder acts. */
export interface ClaimRequest extends Call {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * `held`: another performer has it, and its time is over by the time this resolves. `over`: the saga asks for it no more, and
 * whether another had begun it is not known (CI4).
 */
export type Claim =
  { readonly type: "won"; readonly actUntil: number } | { readonly type: "held" } | { readonly type: "over" };

/** Claims an attempt, or a place of a row. `actUntil` is by the time elapsed in this process. */
export async function claimAttempt(deps: ClaimDeps, place: number, request: ClaimRequest): Promise<Claim> {
  const { key, timeoutMs, signal } = request;
  const nonce = deps.chance.nonce();
  const actUntil = deps.clock.elapsed() + timeoutMs; // CI2
  const options = { patienceMs: Number.POSITIVE_INFINITY, signal };
  const claim = await patiently(deps.clock, () => deps.claims.create(key, place, nonce), options);
  if (claim.won)
    return (await deps.stillAsked?.(request, signal)) === false
      ? { type: "over" }
      : { type: "won", actUntil };
  await outlast(deps, claim.claimedAt, timeoutMs, signal);
  return { type: "held" };
}

/** Claims the next place of an effect's row, after the time of all before it. `isFirst`: none was. Undefined: it is over. */
export async function claimNext(
  deps: ClaimDeps,
  request: ClaimRequest,
): Promise<{ actUntil: number; isFirst: boolean } | undefined> {
  for (let place = 1; ; place++) {
    const claim = await claimAttempt(deps, place, request);
    if (claim.type === "over") return undefined;
    if (claim.type === "won") return { actUntil: claim.actUntil, isFirst: place === 1 };
  }
}

async function outlast(
  deps: ClaimDeps,
  claimedAt: number,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const options = { patienceMs: Number.POSITIVE_INFINITY, signal };
  const now = await patiently(deps.clock, () => deps.claims.now(), options);
  const restMs = claimedAt + timeoutMs + limits.claimGraceMs - now;
  if (restMs > 0) await deps.clock.sleep(restMs, signal);
}
