/**
 * Kill plan: which processes the outside world will kill, in the middle of which effect, and when exactly.
 *
 * Pure: a seed and a number give the same plan for ever.
 *
 * KP1 Two kills or more hold a host's first and a worker's after it, in the order of the work.
 * KP2 Over the seeds 1 to 50, three kills each, every effect class meets every window.
 */
import { sha256 } from "../../protocol/digest.ts";

/** The request is dropped; it is done, and no reply; the reply is sent. */
export const windowInWords = {
  "before-record": "before the outside world recorded the request",
  "after-record": "after the outside world recorded it and before it replied",
  "after-reply": "after the outside world replied",
} as const;
export type Window = keyof typeof windowInWords;
export const windows = Object.keys(windowInWords) as Window[];

export type Role = "host" | "worker";

export interface Target {
  readonly role: Role;
  readonly tool: string;
  readonly effect: "read" | "idempotent" | "probe" | "once";
  /** How many requests of this tool a run makes. */
  readonly requests: number;
}

/** Where a kill can strike, in the order of the work. */
export const targets = [
  { role: "host", tool: "search_candidates", effect: "read", requests: 1 },
  { role: "worker", tool: "enrich_candidate", effect: "read", requests: 20 },
  { role: "worker", tool: "request_interview", effect: "idempotent", requests: 3 },
  { role: "host", tool: "reserve_room", effect: "probe", requests: 1 },
  { role: "worker", tool: "charge_deposit", effect: "once", requests: 1 },
  { role: "host", tool: "create_invite", effect: "idempotent", requests: 3 },
] as const satisfies readonly Target[];

export interface PlannedKill {
  readonly role: Role;
  readonly tool: string;
  readonly effect: Target["effect"];
  readonly window: Window;
  /** The kill strikes this request of the tool, counted from 1, or the first after it that it can. */
  readonly nth: number;
}

export const killsMax = 8;

/** The plan of `kills` kills, 0 to 8. Beyond one for each target, tools with many requests are hit again. */
export function planKills(seed: number, kills: number): PlannedKill[] {
  let drawn = 0;
  const random = () => chanceOf(`${seed} ${++drawn}`);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T; // None is empty.
  const chosen: Target[] = kills >= 2 ? [...pickPair(pick)] : [];
  while (chosen.length < Math.min(kills, targets.length))
    chosen.push(pick(targets.filter((target) => !chosen.includes(target))));
  while (chosen.length < kills) chosen.push(pick(targets.filter((target) => target.requests > 1)));
  chosen.sort((a, b) => orderOf(a) - orderOf(b));
  return chosen.map(({ role, tool, effect, requests }, index) => {
    const earlier = chosen.slice(0, index).filter((other) => other.tool === tool).length;
    return {
      role,
      tool,
      effect,
      window: pick(windows),
      nth: 1 + earlier + Math.floor((random() * requests) / 2),
    };
  });
}

const orderOf = (target: Target): number => targets.findIndex((other) => other.tool === target.tool);

/** KP1. */
function pickPair(pick: <T>(from: readonly T[]) => T): [Target, Target] {
  const last = targets.findLastIndex((target) => target.role === "worker");
  const host = pick(targets.filter((target, index) => target.role === "host" && index < last));
  return [host, pick(targets.filter((target, index) => target.role === "worker" && index > orderOf(host)))];
}

/** A number in [0, 1) that is the same for the same text. */
export const chanceOf = (text: string): number => Number.parseInt(sha256(text).slice(0, 8), 16) / 2 ** 32;
