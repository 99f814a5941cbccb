/**
 * Staying: one suspect in one child, from the first input that it is handed to the end of its stay.
 *
 * SY1 Inputs are handed to a child that has one suspect one by one: what was in it, un-acked, each time it died is
 *     what it died of.
 */
import { limits } from "../../protocol/limits.ts";
import type { Log } from "../process/log.ts";
import type { Clock } from "../wire/ports.ts";
import { type Case, blamed, handedOf, inOrder, narrow, settle } from "./case.ts";
import type { Mark } from "./mark.ts";
import { mayShare } from "./verdict.ts";
import type { Guest, Stay, Ward } from "./ward.ts";
import type { Wards } from "./wards.ts";

/** What a stay lives on. */
export interface StayDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly wards: Wards;
}

/** What was handed in a stay. */
interface Handing {
  readonly one: Case;
  readonly ward: Ward;
  readonly isShared: boolean;
  /** The child has said that it holds nothing of it, and was handed nothing since. */
  isQuiet: boolean;
  lastAt: number;
}

/** A child takes the suspect. Its stay has survived once the child has settled all that is held. */
export async function stayTaken({ clock, log, wards }: StayDeps, one: Case, mark: Mark): Promise<Stay> {
  const isShared = mayShare(mark);
  const started = isShared ? undefined : await wards.mayStart();
  if (wards.hasEnded()) return { type: "gone", reason: "the parent ends" };
  const ward = wards.open(isShared);
  const over = Promise.withResolvers<Stay>();
  const handing: Handing = { one, ward, isShared, isQuiet: false, lastAt: Number.NEGATIVE_INFINITY };
  for (const each of one.held.values()) each.isHanded = false;
  const guest: Guest = {
    key: one.key,
    over: over.resolve,
    hear: (message) => {
      if (message.type === "quiet")
        handing.isQuiet = [...one.held.values()].every(({ isHanded }) => isHanded);
      else settle(one, message);
      if (handing.isQuiet && one.held.size === 0) over.resolve({ type: "survived" });
      else one.child?.feed();
    },
  };
  log.warn(
    { suspect: one.key, victims: mark.victims, isAlone: !isShared },
    "suspect taken in a child process",
  );
  await ward.admit(guest);
  one.child = { ward, feed: () => handOn(clock, handing) };
  one.child.feed();
  if (one.held.size === 0) over.resolve({ type: "gone", reason: "it was released" });
  const stay = await over.promise;
  one.child = undefined;
  started?.();
  if (stay.type === "survived") ward.discharge(guest);
  if (stay.type === "survived" && !isShared) ward.end();
  if (stay.type === "died") narrow(one);
  return stay;
}

/** SY1. */
function handOn(clock: Clock, handing: Handing): void {
  const { one, ward, isShared } = handing;
  for (const next of inOrder(one).filter(({ isHanded }) => !isHanded)) {
    const restMs = handing.lastAt + limits.handOneByOneMs - clock.elapsed();
    if (!isShared && restMs > 0 && [...one.held.values()].some(({ isHanded }) => isHanded)) {
      clock.after(restMs, () => one.child?.feed());
      return;
    }
    next.isHanded = true;
    handing.isQuiet = false;
    handing.lastAt = clock.elapsed();
    ward.send({ type: "offer", key: one.key, handed: handedOf(next.delivery) });
  }
}

/** A last child settles what the suspect died of, performing nothing. It is `died` if that kills it, too. */
export async function staySetAside(
  { log, wards }: StayDeps,
  one: Case,
): Promise<"settled" | "given back" | "died"> {
  let isGivenBack = false;
  const ward = wards.open(false);
  const over = Promise.withResolvers<Stay>();
  const handed = blamed(one).map(handedOf);
  const guest: Guest = {
    key: one.key,
    over: over.resolve,
    hear: (message) => {
      if (message.type === "quiet") return over.resolve({ type: "survived" });
      isGivenBack ||= message.type === "nak" && one.held.has(message.seq);
      settle(one, message);
    },
  };
  await ward.admit(guest);
  one.child = { ward, feed: () => undefined };
  ward.send({ type: "setAside", key: one.key, handed });
  const stay = await over.promise;
  one.child = undefined;
  ward.end();
  if (stay.type === "died") {
    log.error({ suspect: one.key, pid: stay.pid, how: stay.how }, "suspect cannot be folded");
    return "died";
  }
  return isGivenBack || stay.type === "gone" ? "given back" : "settled";
}
