/**
 * Verdict: what a mark and the death of a child prove. Pure.
 *
 * VI1 A host or worker that dies proves nothing against its sagas or calls: it may have been killed. Its marks only
 *     make suspects. Suspects share a ward; if that dies by itself, each is taken alone from then on.
 * VI2 A victim is a child that died by itself while its parent lived, and never had anything but this one suspect.
 */
import { limits } from "../../protocol/limits.ts";
import type { Mark } from "./mark.ts";

/** Whether an incarnation may take this itself: no process that is gone had it. */
export const isFree = (found: Mark | undefined, incarnation: string): boolean =>
  found === undefined || (found.by === incarnation && !found.isSuspect);

/** The mark of an incarnation on what it takes itself. */
export const ownMark = (by: string, at: number): Mark => ({
  by,
  at,
  isSuspect: false,
  isAlone: false,
  victims: 0,
});

/**
 * The mark of an incarnation that looks into what it found marked. It has one trial more if the process that had the
 * last victim died before it acted: what the suspect died of is not known here.
 */
export const suspectMark = (found: Mark, by: string, at: number): Mark => ({
  ...found,
  by,
  at,
  isSuspect: true,
  victims: Math.min(found.victims, limits.victimsMax - 1),
});

/** Whether it may be in one child with other suspects (VI1). */
export const mayShare = ({ isAlone, victims }: Mark): boolean => !isAlone && victims === 0;

/** The mark after its child died by itself (VI1, VI2). */
export const afterDeath = (mark: Mark, wasAlone: boolean): Mark =>
  wasAlone ? { ...mark, victims: mark.victims + 1 } : { ...mark, isAlone: true };

/** Whether it is set aside. */
export const isProven = ({ victims }: Mark): boolean => victims >= limits.victimsMax;

/** The mark on what is left of it once something was set aside: its next taker is careful. */
export const afterSetAside = (mark: Mark): Mark => ({ ...mark, victims: 0, isAlone: true });
