/**
 * Quarantine: what was delivered before is taken only with a mark; what died with its host or worker is taken in a
 * child process, and what kills that alone is set aside.
 *
 * Owns: which deliveries pass, and the cases that are looked into. Does not own: taking a message (`onward`, or the
 * child), what proves what (verdict.ts), the children (trial.ts), and how something is set aside (`giveUp`).
 *
 * QA1 A first delivery passes at once and costs nothing.
 * QA2 So does what comes back to the process that had it: a process that lives has died of nothing (returns.ts).
 * QA3 The mark of another process that lives is no suspicion. Whether it lives is looked at again once a dead one would have
 *     vanished.
 * QA4 Marks are read and written a few at a time, and so are suspects taken: what nothing died of must not be what the next
 *     process stands still of.
 */
import type { Log } from "../process/log.ts";
import type { Clock, Delivery, Ports } from "../wire/ports.ts";
import { type Case, giveBackAll, giveBackWaiting, hold, inOrder, openCase } from "./case.ts";
import type { Isolate } from "./child.ts";
import { limits } from "../../protocol/limits.ts";
import { createRoom } from "../process/room.ts";
import { createMarks, type Marks } from "./marks.ts";
import type { Returns } from "./returns.ts";
import { tried } from "./trial.ts";
import type { Mark } from "./mark.ts";
import { isFree, ownMark, suspectMark } from "./verdict.ts";
import { createWards, type Wards } from "./wards.ts";

/** What a host or worker gives its quarantine. */
export interface QuarantineOptions {
  readonly ports: Pick<Ports, "suspects">;
  readonly clock: Clock;
  readonly log: Log;
  /** This process, whatever incarnation it is in. */
  readonly incarnation: string;
  /** What this process had, whatever incarnation it was in (QA2). */
  readonly returns: Returns;
  /** Whether another process is known to live now; none is unless given (QA3). */
  readonly isAlive?: ((incarnation: string) => boolean) | undefined;
  readonly isolate: Isolate;
  /** Releases what is here of it, so that the child is alone with it. */
  readonly evict: (key: string) => Promise<void>;
  /**
   * Whether this process has the code for what these are of. A child of one that lacks it would live on, and prove
   * nothing: such deliveries pass without a mark, and what is marked stays so. True unless given.
   */
  readonly isOurs?: (key: string, deliveries: readonly Delivery[]) => Promise<boolean>;
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
  /** Takes the marks of a group away, or all, as well as can be done now: what is given back then raises no suspicion. */
  forget(group?: number): Promise<void>;
  /** Takes this process's mark on a key away: another process takes it from here on. */
  unmark(key: string): Promise<void>;
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

/** A quarantine with nothing in it. It starts child processes only for what another process left marked. */
export function createQuarantine(options: QuarantineOptions): Quarantine {
  const { clock, log, returns } = options;
  const cases = new Map<string, Case>();
  const marks = createMarks(options.ports, clock, log);
  const wards = createWards(clock, options.isolate);
  const inside: Inside = { options, cases, marks, wards, inTurn: createTurns(clock) };

  /** What has not been acked is offered again, here or elsewhere, and finds the mark. */
  function close(one: Case, delayMs?: number): void {
    if (cases.get(one.key) === one) cases.delete(one.key);
    giveBackAll(one, delayMs);
    one.closed.resolve();
  }

  function begin(key: string, group: number): Case {
    const one = openCase(key, group);
    cases.set(key, one);
    investigate(inside, one).then(
      (delayMs) => close(one, delayMs),
      (error: unknown) => {
        log.error({ err: error, suspect: key }, "suspect not looked into");
        close(one);
      },
    );
    return one;
  }

  async function letGo(one: Case): Promise<void> {
    await giveBackWaiting(one);
    one.child?.ward.send({ type: "leave", key: one.key });
    await one.closed.promise;
  }

  return {
    take: (key, group, delivery, onward) => {
      const present = cases.get(key);
      const passes = delivery.deliveries < 2 || marks.isKept(key) || returns.isReturn(delivery); // QA1, QA2
      if (present === undefined && passes) {
        returns.took(delivery);
        return onward();
      }
      const one = present ?? begin(key, group);
      hold(one, delivery, onward);
      one.child?.feed();
    },
    forget: (group) => marks.forget(group),
    unmark: (key) => marks.unmark(key),
    tidy: (isBusy) => marks.tidy(isBusy),
    beat: () => {
      for (const { held } of cases.values()) for (const { delivery } of held.values()) delivery.working();
      wards.beat();
    },
    leave: async (group) => {
      const own = [...cases.values()].filter((one) => one.group === group);
      await Promise.all(own.map(letGo));
    },
    size: () => cases.size,
    end: async () => {
      wards.end();
      for (const one of cases.values()) close(one);
    },
  };
}

/** What a quarantine has. */
interface Inside {
  readonly options: QuarantineOptions;
  readonly cases: Map<string, Case>;
  readonly marks: Marks;
  readonly wards: Wards;
  readonly inTurn: <T>(act: () => Promise<T>) => Promise<T>;
}

/** Resolves with the delay to give back what is still held with, milliseconds. */
async function investigate(inside: Inside, one: Case): Promise<number | undefined> {
  const { options, marks, wards, inTurn } = inside;
  const looked = [suspicion(options, marks, one.key), isOursOf(options, one)] as const;
  const [suspected, isOurs] = await Promise.all(looked);
  if (wards.hasEnded()) return undefined;
  if (!isOurs || suspected === undefined) return pass(inside, one, isOurs);
  return inTurn(async () => {
    const found = await suspicion(options, marks, one.key); // Its process may have come back meanwhile.
    if (wards.hasEnded()) return undefined;
    if (found === undefined) return pass(inside, one, true);
    await options.evict(one.key);
    const { incarnation, clock } = options;
    return tried({ ...options, marks, wards }, one, suspectMark(found, incarnation, clock.now()));
  });
}

/** Taken in this process, with a mark if it is ours. */
async function pass(
  { options, cases, marks, wards }: Inside,
  one: Case,
  isOurs: boolean,
): Promise<undefined> {
  const { key, group } = one;
  const { incarnation, clock, returns } = options;
  const revision = isOurs ? await marks.write(key, ownMark(incarnation, clock.now())) : undefined;
  if (wards.hasEnded()) return;
  marks.keep(key, group, revision);
  cases.delete(key);
  for (const { delivery, onward } of inOrder(one)) {
    returns.took(delivery);
    onward();
  }
  one.held.clear();
}

/** QA3. The mark that makes a suspect of what it is on, if there is one. */
async function suspicion(
  { clock, incarnation, isAlive }: QuarantineOptions,
  marks: Marks,
  key: string,
): Promise<Mark | undefined> {
  const found = await marks.look(key);
  if (found === undefined || isFree(found, incarnation)) return undefined;
  if (found.isSuspect || isAlive?.(found.by) !== true) return found;
  await clock.sleep(limits.hostTtlMs + limits.hostBeatMs);
  return isAlive(found.by) ? undefined : found;
}

/** QA4. A place is given back once its suspect has lived on for the probation: what kills mostly kills at once. */
function createTurns(clock: Clock): <T>(act: () => Promise<T>) => Promise<T> {
  const room = createRoom(limits.suspectsAtOnceMax);
  return async (act) => {
    await room.enter({ signal: forever });
    let isLeft = false;
    const leave = () => {
      if (!isLeft) room.leave();
      isLeft = true;
    };
    const callOff = clock.after(limits.probationMs, leave);
    try {
      return await act();
    } finally {
      callOff();
      leave();
    }
  };
}

/** All that waits is let in: what ends lets the next one in. */
const forever = new AbortController().signal;

const isOursOf = async ({ isOurs }: QuarantineOptions, one: Case): Promise<boolean> =>
  isOurs === undefined ||
  isOurs(
    one.key,
    inOrder(one).map(({ delivery }) => delivery),
  );

/** For a process that can start no other: nothing is suspected, and nothing set aside. */
export const noQuarantine: Quarantine = {
  take: (_key, _group, _delivery, onward) => onward(),
  forget: async () => undefined,
  unmark: async () => undefined,
  tidy: () => undefined,
  beat: () => undefined,
  leave: async () => undefined,
  size: () => 0,
  end: async () => undefined,
};
