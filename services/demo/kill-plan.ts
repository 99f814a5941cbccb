/**
 * Kill plan: which processes the outside world will kill, in the middle of which effect, and when exactly.
 *
 * Pure: a seed and a number give the same plan for ever.
 *
 * KP1 Two kills or more hold a host's first and a worker's after it, in the order of the work.
 * KP2 Over the seeds 1 to 50, three kills each, every effect class meets every window.
 */
import { sha256 } from "../../protocol/digest.ts";
import * as tools from "./hiring.ts";

/** The request is dropped; it is done, and no reply; the reply is sent. */
export const windowInWords = {
  "before-record": "before the outside world recorded the request",
  "after-record": "after the outside world recorded it and before it replied",
  "after-reply": "after the outside world replied",
} as const;
/** How far an effect has come when its process is killed. */
export type Window = keyof typeof windowInWords;
/** All of them, in the order of an effect. */
export const windows = Object.keys(windowInWords) as Window[];

/** Where kills can strike, in the order of the work; `requests` is how many of the tool a run makes. */
export const targets = [
  { tool: tools.searchCandidates, requests: 1 },
  { tool: tools.enrichCandidate, requests: 20 },
  { tool: tools.enrichCandidate, requests: 20 },
  { tool: tools.requestInterview, requests: 3 },
  { tool: tools.requestInterview, requests: 3 },
  { tool: tools.reserveRoom, requests: 1 },
  { tool: tools.chargeDeposit, requests: 1 },
  { tool: tools.createInvite, requests: 3 },
] as const;

/** Each target is struck once at most. */
export const killsMax = targets.length;

/** A kill to come, with what the tool's contract says of the effect and of who performs it. */
export interface PlannedKill {
  readonly role: "host" | "worker";
  readonly tool: string;
  readonly effect: (typeof targets)[number]["tool"]["effect"];
  readonly window: Window;
  /** The kill strikes this request of the tool, counted from 1, or the first after it that it can. */
  readonly nth: number;
}

/** The plan of `kills` kills, 0 to 8. Drawn again until it holds KP1. */
export function planKills(seed: number, kills: number): PlannedKill[] {
  for (let draw = 1; ; draw++) {
    const plan = drawPlan(`${seed} ${draw}`, kills);
    const host = plan.findIndex(({ role }) => role === "host");
    const isPair = host !== -1 && plan.slice(host).some(({ role }) => role === "worker");
    if (kills < 2 || isPair) return plan;
  }
}

function drawPlan(seed: string, kills: number): PlannedKill[] {
  const drawn = targets
    .map((target, place) => ({ ...target, place, lot: chanceOf(`${seed} lot ${place}`) }))
    .sort((a, b) => a.lot - b.lot)
    .slice(0, kills)
    .sort((a, b) => a.place - b.place);
  return drawn.map(({ tool, requests, place }, index) => {
    const earlier = drawn.slice(0, index).filter((other) => other.tool === tool).length;
    const { name, effect, placement: role } = tool;
    const window = windows[Math.floor(chanceOf(`${seed} window ${place}`) * windows.length)] as Window; // Never beyond.
    const nth = 1 + earlier + Math.floor((chanceOf(`${seed} nth ${place}`) * requests) / 2);
    return { role, tool: name, effect, window, nth };
  });
}

/** A number in [0, 1) that is the same for the same text. */
export const chanceOf = (text: string): number => Number.parseInt(sha256(text).slice(0, 8), 16) / 2 ** 32;
