/**
 * Quarantine: what was delivered before is taken only with a mark; what died with its host or worker is taken in a
 * child process, and what kills that alone is set aside.
 *
 * Owns: marks, children, and the verdict. Does not own: taking a message (`onward`, or the child), and how it is
 * set aside.
 *
 * QA1 A first delivery passes at once and costs nothing.
 * QA2 A host or worker that dies proves nothing against its sagas or calls: it may have been killed. Its marks only
 *     make suspects. Suspects share a ward; if that dies by itself, each is taken alone from then on.
 * QA3 A victim is a child that died by itself while its parent lived, and never had anything but this one suspect.
 * QA4 Inputs are handed to a child that has one suspect one by one: what was in it, un-acked, each time it died is
 *     what it died of.
 * QA5 A suspect whose child lives on is cleared.
 */
import { limits } from "../../protocol/limits.ts";
import { ackDelivery, nakDelivery } from "../wire/delivery.ts";
import type { Log } from "../process/log.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Delivery, Ports } from "../wire/ports.ts";
import { createRoom } from "../process/room.ts";
import type { Handed, Isolate } from "./child.ts";
import { type Mark, readMark, writeMark } from "./mark.ts";
import { type Guest, openWard, type Stay, type Ward } from "./ward.ts";

/** What a host or worker gives its quarantine. */
export interface QuarantineOptions {
  readonly ports: Pick<Ports, "suspects">;
  readonly clock: Clock;
  readonly log: Log;
  readonly incarnation: string;
  readonly isolate: Isolate;
  /** Releases what is here of it, so that the child is alone with it. */
  readonly evict: (key: string) => Promise<void>;
  /** A last child may settle what the suspect died of, before this process gives it up. */
  readonly settlesInChild: boolean;
  /** Sets these deliveries aside, running nothing of the application's, and acks them. */
  readonly giveUp: (key: string, deliveries: readonly Delivery[]) => Promise<void>;
}

/** The door between what is delivered and what is taken. */
export interface Quarantine {
  /**
   * Calls `onward` if the delivery may be taken here: at once, or once its mark is put; else a child takes it. The
   * group is what it came with and goes with: a partition, say.
   */
  take(key: string, group: number, delivery: Delivery, onward: () => void): void;
  /** Takes the marks of a group away, as well as can be done now: what is given back then raises no suspicion. */
  forget(group: number): Promise<void>;
  /** Takes the marks away of what is done with. */
  tidy(isBusy: (key: string) => boolean): void;
  /** Prolongs the leases of all it holds. */
  beat(): void;
  /** Nothing more is begun for the group; resolves when it is not here any more. */
  leave(group: number): Promise<void>;
  /** Keys that are looked into now. */
  size(): number;
  /** Ends the children and gives everything back. */
  end(): Promise<void>;
}

interface Held {
  delivery: Delivery;
  readonly onward: () => void;
  isHanded: boolean;
}

interface Case {
  readonly key: string;
  readonly group: number;
  readonly held: Map<number, Held>;
  /** Hands on what has come; undefined while no child could take it. */
  feed: (() => void) | undefined;
  /** In the child at each of its deaths (QA4). */
  suspected: ReadonlySet<number> | undefined;
  ward: Ward | undefined;
  readonly closed: PromiseWithResolvers<void>;
}

/** A quarantine with nothing in it. It starts child processes only for what another process left marked. */
export function createQuarantine(options: QuarantineOptions): Quarantine {
  const { ports, clock, log, incarnation } = options;
  const cases = new Map<string, Case>();
  /** Marks put by this process on what it takes itself, with their revisions. */
  const marked = new Map<string, { readonly revision: number; readonly group: number }>();
  const wards = new Set<Ward>();
  let shared: Ward | undefined;
  const ending = new AbortController();
  const hasEnded = () => ending.signal.aborted;
  /** Children that are starting for one suspect each. */
  const starting = createRoom(limits.childrenStartingMax);

  const open = (isShared: boolean): Ward => {
    if (isShared && shared !== undefined && !shared.isOver()) return shared;
    const ward = openWard(clock, options.isolate);
    for (const one of wards) if (one.isOver()) wards.delete(one);
    wards.add(ward);
    if (isShared) shared = ward;
    return ward;
  };

  /** Waits until another child may be started. Undefined if the quarantine ended meanwhile. */
  async function mayStart(): Promise<(() => void) | undefined> {
    try {
      await starting.enter(ending);
    } catch {
      return undefined;
    }
    let isLeft = false;
    const leave = () => {
      if (!isLeft) starting.leave();
      isLeft = true;
    };
    clock.after(limits.probationMs, leave); // What kills mostly kills at once; a child that lives on holds up none.
    return leave;
  }

  async function write(key: string, mark: Mark): Promise<number | undefined> {
    try {
      return await patiently(clock, () => writeMark(ports.suspects, key, mark));
    } catch (error) {
      log.warn({ err: error, suspect: key }, "mark not written");
      return undefined;
    }
  }

  async function remove(key: string, revision: number): Promise<void> {
    await ports.suspects
      .remove(key, revision)
      .catch((error: unknown) => log.debug({ err: error, suspect: key }, "mark not removed"));
  }

  async function look(key: string): Promise<Mark | undefined> {
    try {
      return (await patiently(clock, () => readMark(ports.suspects, key)))?.mark;
    } catch (error) {
      log.debug({ err: error, suspect: key }, "mark not read");
      return undefined;
    }
  }

  async function investigate(one: Case): Promise<void> {
    const { key, held } = one;
    const found = await look(key);
    if (hasEnded()) return;
    if (found === undefined || (found.by === incarnation && !found.isSuspect)) {
      const mark = { by: incarnation, at: clock.now(), isSuspect: false, isAlone: false, victims: 0 };
      const revision = await write(key, mark);
      if (hasEnded()) return;
      if (revision !== undefined) marked.set(key, { revision, group: one.group });
      cases.delete(key);
      for (const { onward } of inOrder(held)) onward();
      held.clear();
      return;
    }
    await options.evict(key);
    // One trial more if who had the last victim died before it acted: what it died of is not known here.
    const victims = Math.min(found.victims, limits.victimsMax - 1);
    await isolate(one, { ...found, by: incarnation, at: clock.now(), isSuspect: true, victims });
  }

  async function isolate(one: Case, first: Mark): Promise<void> {
    const { key, held } = one;
    let mark = first;
    while (!hasEnded() && held.size > 0) {
      const revision = await write(key, mark);
      if (mark.victims >= limits.victimsMax) {
        const goesOn = await setAside(one, mark.victims);
        // Its next taker is careful, if there is one.
        if (goesOn || held.size > 0) await write(key, { ...mark, victims: 0, isAlone: true });
        else if (revision !== undefined) await remove(key, revision);
        break;
      }
      const stay = await stayIn(one, mark);
      if (stay.type === "survived") {
        log.info({ suspect: key, victims: mark.victims }, "suspect cleared"); // QA5
        if (revision !== undefined) await remove(key, revision);
        break;
      }
      if (stay.type === "gone") {
        if (!hasEnded()) log.warn({ suspect: key, reason: stay.reason }, "child process gone");
        return close(one, limits.earlyInputDelayMs);
      }
      const isVictim = stay.wasAlone; // QA3
      mark = isVictim ? { ...mark, victims: mark.victims + 1 } : { ...mark, isAlone: true };
      log.warn(
        { suspect: key, pid: stay.pid, how: stay.how, wasAlone: isVictim, victims: mark.victims },
        "child process died with a suspect",
      );
    }
  }

  /** One stay in a child, from the first input to its end. */
  async function stayIn(one: Case, mark: Mark): Promise<Stay> {
    const { key, held } = one;
    const isShared = !mark.isAlone && mark.victims === 0; // QA2
    const started = isShared ? undefined : await mayStart();
    if (hasEnded()) return { type: "gone", reason: "the parent ends" };
    const ward = open(isShared);
    const over = Promise.withResolvers<Stay>();
    let isQuiet = false;
    let lastHandedAt = Number.NEGATIVE_INFINITY;
    for (const each of held.values()) each.isHanded = false;
    const settled = () => {
      if (isQuiet && held.size === 0) over.resolve({ type: "survived" });
      else one.feed?.();
    };
    const guest: Guest = {
      key,
      over: over.resolve,
      hear: (message) => {
        if (message.type === "quiet") isQuiet = [...held.values()].every(({ isHanded }) => isHanded);
        else settle(one, message);
        settled();
      },
    };
    log.warn({ suspect: key, victims: mark.victims, isAlone: !isShared }, "suspect taken in a child process");
    await ward.admit(guest);
    one.ward = ward;
    one.feed = () => {
      const waiting = inOrder(held).filter(({ isHanded }) => !isHanded);
      for (const next of waiting) {
        const restMs = lastHandedAt + limits.handOneByOneMs - clock.now();
        if (!isShared && restMs > 0 && [...held.values()].some(({ isHanded }) => isHanded)) {
          clock.after(restMs, () => one.feed?.()); // QA4
          return;
        }
        next.isHanded = true;
        isQuiet = false;
        lastHandedAt = clock.now();
        ward.send({ type: "offer", key, handed: handedOf(next.delivery) });
      }
    };
    one.feed();
    if (held.size === 0) over.resolve({ type: "gone", reason: "it was released" });
    const stay = await over.promise;
    one.feed = undefined;
    one.ward = undefined;
    started?.();
    if (stay.type === "survived") ward.discharge(guest);
    if (stay.type === "survived" && !isShared) ward.end();
    if (stay.type === "died") one.suspected = narrowed(one);
    return stay;
  }

  function settle(one: Case, message: { type: "ack" | "nak"; seq: number; delayMs?: number }): void {
    const delivery = one.held.get(message.seq)?.delivery;
    if (delivery === undefined) return;
    one.held.delete(message.seq);
    void (message.type === "ack" ? ackDelivery(delivery) : nakDelivery(delivery, message.delayMs));
  }

  /** What it died of, for all that is known: in the last child, and in all before it. True if some is given back. */
  async function setAside(one: Case, victims: number): Promise<boolean> {
    const { key, held } = one;
    const deliveries = () =>
      inOrder(held)
        .filter(({ delivery }) => one.suspected?.has(delivery.seq) ?? true)
        .map(({ delivery }) => delivery);
    log.warn(
      { suspect: key, victims, subjects: deliveries().map(({ subject, seq }) => `${subject}#${seq}`) },
      "suspect set aside",
    );
    const settled = options.settlesInChild ? await settleInChild(one, deliveries().map(handedOf)) : "died";
    if (settled !== "died" || hasEnded()) return settled === "given back";
    const rest = deliveries();
    await options.giveUp(key, rest);
    for (const { seq } of rest) held.delete(seq);
    return false;
  }

  async function settleInChild(
    one: Case,
    handed: readonly Handed[],
  ): Promise<"settled" | "given back" | "died"> {
    const { key, held } = one;
    let isGivenBack = false;
    const ward = open(false);
    const over = Promise.withResolvers<Stay>();
    const guest: Guest = {
      key,
      over: over.resolve,
      hear: (message) => {
        if (message.type === "quiet") return over.resolve({ type: "survived" });
        isGivenBack ||= message.type === "nak" && held.has(message.seq);
        settle(one, message);
      },
    };
    await ward.admit(guest);
    one.ward = ward;
    ward.send({ type: "setAside", key, handed });
    const stay = await over.promise;
    one.ward = undefined;
    ward.end();
    if (stay.type === "died") {
      log.error({ suspect: key, pid: stay.pid, how: stay.how }, "suspect cannot be folded");
      return "died";
    }
    return isGivenBack || stay.type === "gone" ? "given back" : "settled";
  }

  /** What has not been acked is offered again, here or elsewhere, and finds the mark. */
  function close(one: Case, delayMs?: number): void {
    if (cases.get(one.key) === one) cases.delete(one.key);
    for (const { delivery } of one.held.values()) void nakDelivery(delivery, delayMs);
    one.held.clear();
    one.closed.resolve();
  }

  function begin(key: string, group: number): Case {
    const one: Case = {
      key,
      group,
      held: new Map(),
      feed: undefined,
      suspected: undefined,
      ward: undefined,
      closed: Promise.withResolvers(),
    };
    cases.set(key, one);
    investigate(one)
      .catch((error: unknown) => log.error({ err: error, suspect: key }, "suspect not looked into"))
      .finally(() => close(one));
    return one;
  }

  const forget = async (key: string): Promise<void> => {
    const mark = marked.get(key);
    marked.delete(key);
    if (mark !== undefined) await remove(key, mark.revision);
  };

  /** What the child has stays there until what it began has ended. */
  const letGo = async (one: Case): Promise<void> => {
    for (const [seq, { delivery, isHanded }] of one.held) {
      if (isHanded) continue;
      one.held.delete(seq);
      await nakDelivery(delivery);
    }
    one.ward?.send({ type: "leave", key: one.key });
    await one.closed.promise;
  };

  return {
    take: (key, group, delivery, onward) => {
      const present = cases.get(key);
      if (present === undefined && (delivery.deliveries < 2 || marked.has(key))) return onward(); // QA1
      const one = present ?? begin(key, group);
      const same = one.held.get(delivery.seq);
      if (same === undefined) one.held.set(delivery.seq, { delivery, onward, isHanded: false });
      else same.delivery = delivery;
      one.feed?.();
    },
    forget: async (group) => {
      const own = [...marked].filter(([, mark]) => mark.group === group);
      await Promise.all(own.map(([key]) => forget(key)));
    },
    tidy: (isBusy) => {
      for (const key of marked.keys()) if (!isBusy(key)) void forget(key);
    },
    beat: () => {
      for (const { held } of cases.values()) for (const { delivery } of held.values()) delivery.working();
      for (const ward of wards) ward.beat();
    },
    leave: async (group) => {
      const own = [...cases.values()].filter((one) => one.group === group);
      await Promise.all(own.map(letGo));
    },
    size: () => cases.size,
    end: async () => {
      ending.abort();
      for (const ward of wards) ward.end();
      for (const one of cases.values()) close(one);
    },
  };
}

/** For who can start no process: nothing is suspected, and nothing set aside. */
export const noQuarantine: Quarantine = {
  take: (_key, _group, _delivery, onward) => onward(),
  forget: async () => undefined,
  tidy: () => undefined,
  beat: () => undefined,
  leave: async () => undefined,
  size: () => 0,
  end: async () => undefined,
};

const inOrder = (held: ReadonlyMap<number, Held>): Held[] =>
  [...held.values()].sort((a, b) => a.delivery.seq - b.delivery.seq);

/** QA4. */
function narrowed({ held, suspected }: Case): ReadonlySet<number> {
  const now = [...held.values()].filter(({ isHanded }) => isHanded).map(({ delivery }) => delivery.seq);
  const both = now.filter((seq) => suspected?.has(seq) ?? true);
  return new Set(both.length > 0 ? both : now);
}

/** What of a delivery can be told to another process. */
const handedOf = ({ subject, seq, headers, data, storedAt, deliveries }: Delivery): Handed => ({
  subject,
  seq,
  headers,
  data,
  storedAt,
  deliveries,
});
