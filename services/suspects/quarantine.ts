/**
 * Quarantine: what was delivered before is taken only with a mark; what died with its host or worker is taken in a
 * child process, and what kills that alone is set aside.
 *
 * Owns: which deliveries pass, and the cases that are looked into. Does not own: taking a message (`onward`, or the
 * child), what proves what (verdict.ts), the children (trial.ts), and how something is set aside (`giveUp`).
 *
 * QA1 A first delivery passes at once and costs nothing.
 */
import type { Log } from "../process/log.ts";
import type { Clock, Delivery, Ports } from "../wire/ports.ts";
import { type Case, giveBackAll, giveBackWaiting, hold, inOrder, openCase } from "./case.ts";
import type { Isolate } from "./child.ts";
import { createMarks } from "./marks.ts";
import { tried } from "./trial.ts";
import { isFree, ownMark, suspectMark } from "./verdict.ts";
import { createWards } from "./wards.ts";

/** What a host or worker gives its quarantine. */
export interface QuarantineOptions {
  readonly ports: Pick<Ports, "suspects">;
  readonly clock: Clock;
  readonly log: Log;
  readonly incarnation: string;
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
  /** Takes the marks of a group away, as well as can be done now: what is given back then raises no suspicion. */
  forget(group: number): Promise<void>;
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
  const { clock, log, incarnation } = options;
  const cases = new Map<string, Case>();
  const marks = createMarks(options.ports, clock, log);
  const wards = createWards(clock, options.isolate);

  /** Resolves with the delay to give back what is still held with, milliseconds. */
  async function investigate(one: Case): Promise<number | undefined> {
    const { key, group } = one;
    const [found, isOurs] = await Promise.all([marks.look(key), isOursOf(options, one)]);
    if (wards.hasEnded()) return undefined;
    if (isOurs && found !== undefined && !isFree(found, incarnation)) {
      await options.evict(key);
      return tried({ ...options, marks, wards }, one, suspectMark(found, incarnation, clock.now()));
    }
    const revision = isOurs ? await marks.write(key, ownMark(incarnation, clock.now())) : undefined;
    if (wards.hasEnded()) return undefined;
    marks.keep(key, group, revision);
    cases.delete(key);
    for (const { onward } of inOrder(one)) onward();
    one.held.clear();
    return undefined;
  }

  /** What has not been acked is offered again, here or elsewhere, and finds the mark. */
  function close(one: Case, delayMs?: number): void {
    if (cases.get(one.key) === one) cases.delete(one.key);
    giveBackAll(one, delayMs);
    one.closed.resolve();
  }

  function begin(key: string, group: number): Case {
    const one = openCase(key, group);
    cases.set(key, one);
    investigate(one).then(
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
      if (present === undefined && (delivery.deliveries < 2 || marks.isKept(key))) return onward(); // QA1
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
