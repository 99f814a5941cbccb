/** Storage: how much can still be stored, how soon that will be used up, and from where on nothing new is begun. Pure. */
import { z } from "zod";

/**
 * `low`: look after it. `reserved`: what is left is for what runs; starts, and signals from outside, are refused
 * (STORAGE_RESERVED).
 */
export const StorageLevel = z.enum(["fine", "low", "reserved"]);
export type StorageLevel = z.infer<typeof StorageLevel>;

/** What is left of one thing that fills up: a disk, or a limit. Bytes. */
export const StorageLeft = z.object({
  /** In words: "the disk of /var/lib/nats", "the account's storage". */
  of: z.string(),
  leftBytes: z.number().nonnegative(),
  allBytes: z.number().positive(),
  /** How fast it fills, over the last hour at most; below 0: it empties. Absent for what is not known for long enough. */
  bytesPerHour: z.number().optional(),
  level: StorageLevel,
});
export type StorageLeft = z.infer<typeof StorageLeft>;

/** What is left of a thing, before it is judged. */
export type Capacity = Pick<StorageLeft, "of" | "leftBytes" | "allBytes">;

const gibibyte = 1024 ** 3;
/** A fifth, as alarms of disks have it; of a very large disk 20 GiB are not low. */
const lowShare = 0.2;
const lowBytesMax = 20 * gibibyte;
/** Full within a day is low, however much is left. */
const lowHours = 24;
/** A twentieth, at most 1 GiB: thousands of sagas can end within that, and no disk is refused while it has so much. */
const reserveShare = 0.05;
const reserveBytesMax = gibibyte;

/** How much is kept for what runs, unless a host is told otherwise. Bytes. */
export const reserveOf = ({ allBytes }: Pick<Capacity, "allBytes">): number =>
  Math.min(allBytes * reserveShare, reserveBytesMax);

/** Hours until nothing is left, at the present rate; undefined where it does not fill, or that is not known. */
export const hoursLeft = ({ leftBytes, bytesPerHour = 0 }: StorageLeft): number | undefined =>
  bytesPerHour > 0 ? leftBytes / bytesPerHour : undefined;

/** Judges it. `reserveBytes`: what is kept for what runs; 0 keeps nothing. */
export function judgeStorageLeft(
  capacity: Capacity,
  {
    bytesPerHour,
    reserveBytes = reserveOf(capacity),
  }: { bytesPerHour?: number | undefined; reserveBytes?: number | undefined } = {},
): StorageLeft {
  const { leftBytes, allBytes } = capacity;
  const left = {
    ...capacity,
    ...(bytesPerHour === undefined ? {} : { bytesPerHour }),
    level: "fine" as const,
  };
  if (leftBytes < reserveBytes) return { ...left, level: "reserved" };
  const isLow =
    leftBytes < Math.min(allBytes * lowShare, lowBytesMax) || (hoursLeft(left) ?? Infinity) < lowHours;
  return isLow ? { ...left, level: "low" } : left;
}

/** The one that is used up first: by its level, then by its share that is left. Undefined for none. */
export const scarcest = (all: readonly StorageLeft[]): StorageLeft | undefined =>
  all.toSorted(
    (a, b) =>
      StorageLevel.options.indexOf(b.level) - StorageLevel.options.indexOf(a.level) ||
      a.leftBytes / a.allBytes - b.leftBytes / b.allBytes,
  )[0];

/** In words: how much is left, and for how long. */
export function storageText(left: StorageLeft): string {
  const hours = hoursLeft(left);
  const trend =
    left.bytesPerHour === undefined
      ? ""
      : hours === undefined
        ? "; it does not fill up now"
        : `; ${bytesText(left.bytesPerHour)} an hour come in, so it is full in about ${hoursText(hours)}`;
  return `${left.of} has ${bytesText(left.leftBytes)} left of ${bytesText(left.allBytes)}${trend}`;
}

const bytesText = (bytes: number): string => {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const number = bytes / 1_000 ** power;
  return `${number < 10 && power > 0 ? number.toFixed(1) : Math.round(number)} ${units[power]}`;
};

const hoursText = (hours: number): string =>
  hours < 2
    ? `${Math.max(1, Math.round(hours * 60))} minutes`
    : hours < 72
      ? `${Math.round(hours)} hours`
      : `${Math.round(hours / 24)} days`;
