/**
 * Wards: the child processes of one quarantine: one that suspects share, and one for each that is alone.
 *
 * WQ1 Of the children for one suspect each, only so many start at once: after an outage there may be hundreds.
 */
import { limits } from "../../protocol/limits.ts";
import { createRoom } from "../process/room.ts";
import type { Clock } from "../wire/ports.ts";
import type { Isolate } from "./child.ts";
import { openWard, type Ward } from "./ward.ts";

/** The children of a quarantine. */
export interface Wards {
  /** The ward that suspects share, opened if there is none, or a new one for a suspect alone. */
  open(isShared: boolean): Ward;
  /**
   * Waits until another child may be started for one suspect (WQ1). What it gives is to be called once that child is
   * over; undefined if the wards ended meanwhile.
   */
  mayStart(): Promise<(() => void) | undefined>;
  beat(): void;
  /** Ends the children. From here on `hasEnded` says so, and nothing more may be begun. */
  end(): void;
  hasEnded(): boolean;
}

/** Wards without a child. */
export function createWards(clock: Clock, isolate: Isolate): Wards {
  const wards = new Set<Ward>();
  let shared: Ward | undefined;
  const ending = new AbortController();
  const starting = createRoom(limits.childrenStartingMax);
  return {
    open: (isShared) => {
      if (isShared && shared !== undefined && !shared.isOver()) return shared;
      const ward = openWard(clock, isolate);
      for (const one of wards) if (one.isOver()) wards.delete(one);
      wards.add(ward);
      if (isShared) shared = ward;
      return ward;
    },
    mayStart: async () => {
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
    },
    beat: () => {
      for (const ward of wards) ward.beat();
    },
    end: () => {
      ending.abort();
      for (const ward of wards) ward.end();
    },
    hasEnded: () => ending.signal.aborted,
  };
}
