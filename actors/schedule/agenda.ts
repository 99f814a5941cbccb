/**
 * Agenda: what a schedule does next, as pure functions of what it knows and of the time of its turn.
 *
 * QN1 Each due time is dealt with once: it enters the line, or is counted among those that do not begin, and `seen` passes it.
 * QN2 What is due goes before what a person had filled in, so that a long range holds nothing up.
 * QN3 A full line loses nothing unsaid: `queue` counts what it drops, every other rule leaves it ahead until there is room.
 */
import { maxOf } from "../../protocol/extremes.ts";
import {
  jitterOf,
  latenessMs,
  lineMax,
  type Overlap,
  runIdOf,
  scheduleSagaId,
} from "../../protocol/schedule.ts";
import type { BegunRun, Carried, Counts, Item, Plan, ScheduleContext, ScheduleInput } from "./context.ts";

/** How many of the latest runs are known. */
const recentMax = 10;
/** How many due times are asked for at once. */
export const aheadMax = 100;
/** So much work, and the schedule goes on in another saga: this one's ledger is read in a moment, and may be archived. */
export const stepsMax = 500;
/** What is known of the times ahead is asked for again after so long: the rules of a time zone change. */
export const askAgainMs = 7 * 86_400_000;
/** How often it is looked whether a run has ended: at first, and later a quarter of the time that it was waited for. */
const lookMs = { least: 1_000, most: 60_000 } as const;

const none: Counts = { begun: 0, missed: 0, skipped: 0, dropped: 0, refused: 0 };

/** What the machine knows at first: times before its schedule was created are not due. */
export function begin({ settings, number, carried }: ScheduleInput, now: number): ScheduleContext {
  const { input: _onTheLedger, ...plan } = settings;
  const fresh: Carried = { held: false, seen: now, line: [], ranges: [], recent: [], counts: none };
  return {
    ...(carried ?? fresh),
    ...{ plan, number, ahead: [], askedAt: now, over: false, steps: 0, late: [], removed: false },
  };
}

/** What the next saga of the schedule begins with. */
export const carry = (context: ScheduleContext): Carried => {
  const { held, seen, line, ranges, last, blockedAt, cancelled, recent, refused, gap, counts } = context;
  return {
    ...{ held, seen, line: [...line], ranges: [...ranges], recent: [...recent], counts },
    ...(last && { last }),
    ...(blockedAt === undefined ? {} : { blockedAt }),
    ...(cancelled && { cancelled }),
    ...(refused && { refused }),
    ...(gap && { gap }),
  };
};

/** The id of the saga that goes on after this one. */
export const nextSaga = ({ plan, number }: ScheduleContext) => scheduleSagaId(plan.name, number + 1);

/** How late a run may begin. */
export const windowOf = ({ catchupMs }: Plan): number => maxOf([catchupMs, latenessMs]);

/** When the run of a due time begins. */
export const firesAt = ({ name, jitterMs }: Plan, due: number): number =>
  due + jitterOf(runIdOf(name, due), jitterMs);

/** The rule that holds for an item. What a person had filled in comes one after the other, or all together. */
export const ruleOf = ({ overlap }: Plan, { by }: Item): Overlap =>
  by === "backfill" && overlap !== "allow" ? "queue" : overlap;

const counted = (counts: Counts, what: keyof Counts, n = 1): Counts => ({
  ...counts,
  [what]: counts[what] + n,
});

/** QN1. The same, with what is due by now dealt with. While the schedule is held nothing is due. */
export function admitted(context: ScheduleContext, now: number): ScheduleContext {
  const { plan } = context;
  if (context.held) return context;
  let { ahead, line, seen, counts } = context;
  for (let [due] = ahead; due !== undefined; [due] = ahead) {
    const fires = firesAt(plan, due);
    if (fires > now) break;
    const item: Item = { run: runIdOf(plan.name, due), due, by: "due" };
    if (now - fires > windowOf(plan)) counts = counted(counts, "missed");
    else if (plan.overlap === "cancel-other") {
      // Only the newest counts: each would cancel the one before it.
      const others = line.filter(({ by }) => by !== "due");
      counts = counted(counts, "skipped", line.length - others.length);
      line = placed(others, item);
    } else if (line.length < lineMax) line = placed(line, item);
    else if (plan.overlap === "queue") counts = counted(counts, "dropped");
    else break; // QN3
    seen = due;
    ahead = ahead.slice(1);
  }
  return { ...context, ahead, line, seen, counts };
}

/** QN2. */
function placed(line: readonly Item[], item: Item): Item[] {
  const at = item.by === "backfill" ? -1 : line.findIndex(({ by }) => by === "backfill");
  return at < 0 ? [...line, item] : [...line.slice(0, at), item, ...line.slice(at)];
}

/** The first of the line is to begin now. */
export const taken = ({ line: [current, ...line], ...context }: ScheduleContext): ScheduleContext => ({
  ...context,
  line,
  ...(current && { current }),
});

/** It goes back, before all of its kind, and is looked at again with what came meanwhile. */
export function putBack(context: ScheduleContext): ScheduleContext {
  const { current, ...rest } = context;
  if (current === undefined) return rest;
  const at = current.by === "backfill" ? rest.line.findIndex(({ by }) => by === "backfill") : 0;
  const before = at < 0 ? rest.line.length : at;
  return { ...rest, line: [...rest.line.slice(0, before), current, ...rest.line.slice(before)] };
}

/** Another runs: neither the current one nor what stands behind it by the same rule begins. */
export function skipped({ current: _, ...context }: ScheduleContext): ScheduleContext {
  const { plan, line, counts } = context;
  const left = line.filter((item) => ruleOf(plan, item) !== "skip");
  return { ...context, line: left, counts: counted(counts, "skipped", 1 + line.length - left.length) };
}

/** The current one has begun. */
export function begun(context: ScheduleContext, now: number): ScheduleContext {
  const { current, blockedAt: _, cancelled: __, ...rest } = context;
  if (current === undefined) return rest;
  const run: BegunRun = { ...current, begunAt: now };
  const counts = counted(rest.counts, "begun");
  return { ...rest, last: current.run, recent: [...rest.recent, run].slice(-recentMax), counts };
}

/** The current one cannot be begun. */
export function refused(
  context: ScheduleContext,
  { code, reason }: { readonly code: string; readonly reason: string },
  now: number,
): ScheduleContext {
  const { current, ...rest } = context;
  if (current === undefined) return rest;
  return { ...rest, refused: { ...current, at: now, code, reason }, counts: counted(rest.counts, "refused") };
}

/** Whether it makes sense to try the current one again after such an error. A person waits for what they asked for. */
export function mayTryAgain({ plan, current }: ScheduleContext, code: string, now: number): boolean {
  if (current === undefined || final.has(code)) return false;
  return current.by !== "due" || now - firesAt(plan, current.due) <= windowOf(plan);
}

/** Another attempt would be told the same. */
const final: ReadonlySet<string> = new Set([
  ...["AGENT_UNKNOWN", "BAD_ID", "BAD_RESULT", "CALL_INVALID", "INPUT_INVALID", "SAGA_ID_TAKEN"],
  ...["TOO_LARGE", "VALUE_REFUSED", "USAGE"],
]);

/** Whether it is asked what is due. While nothing more enters the line there is no need: what is due is found later (QN3). */
export function asks({ plan, held, ahead, over, askedAt, line }: ScheduleContext, now: number): boolean {
  if (held || (line.length >= lineMax && plan.overlap !== "queue")) return false;
  return (ahead.length === 0 && !over) || now >= askedAt + askAgainMs;
}

/** Times after which due ones are asked for. What is too late for all of them is passed over unseen, as `gap`. */
export function asksAfter({ plan, seen }: ScheduleContext, now: number): number {
  return maxOf([seen, now - windowOf(plan) - plan.jitterMs - 1]);
}

/** What is ahead, by the answer to what was asked at `askedAt`. */
export function told(
  context: ScheduleContext,
  { due, over }: { readonly due: readonly number[]; readonly over: boolean },
  now: number,
): ScheduleContext {
  const { seen, askedAt } = context;
  const after = asksAfter(context, askedAt);
  const isGap = after > seen;
  return {
    ...context,
    ...(isGap ? { seen: after, gap: { from: seen, to: after } } : {}),
    ahead: due,
    askedAt: now,
    over,
  };
}

/** The first range's next runs stand in the line, and it is over where there are no more. */
export function filled(
  context: ScheduleContext,
  { due, over }: { readonly due: readonly number[]; readonly over: boolean },
): ScheduleContext {
  const {
    plan,
    ranges: [first, ...ranges],
    line,
  } = context;
  const items = due.map((time): Item => ({ run: runIdOf(plan.name, time), due: time, by: "backfill" }));
  const [last] = due.slice(-1);
  const rest = first === undefined || last === undefined || over ? [] : [{ from: last + 1, to: first.to }];
  return { ...context, line: [...line, ...items], ranges: [...rest, ...ranges] };
}

/** How long until it is looked again whether the run that is waited for has ended. */
export function lookInMs({ blockedAt }: ScheduleContext, now: number): number {
  const waited = blockedAt === undefined ? 0 : now - blockedAt;
  return Math.min(lookMs.most, maxOf([lookMs.least, waited / 4]));
}

/** How long until something is due, or what is ahead is asked for again. */
export function dueInMs({ plan, ahead: [due], askedAt }: ScheduleContext, now: number): number {
  const again = askedAt + askAgainMs;
  return maxOf([0, (due === undefined ? again : Math.min(again, firesAt(plan, due))) - now]);
}
