/**
 * Timeline: a ledger as a list of what happened, each thing with the time it took.
 *
 * BT1 Everything here is what the account of the ledger and its graph say; nothing is worked out again.
 * BT2 Of two readings of a saga that grew, what differs is what `changed` says: a page that has the one and is sent the
 *     changes has the other.
 */
import { usageOf } from "../../actors/kernel/settle.ts";
import { promptTokens, usdOf } from "../../actors/kernel/spending.ts";
import type { ModelPrice, ModelPrices } from "../../protocol/budget.ts";
import { digestOf } from "../../protocol/digest.ts";
import type { GraphNode, GraphStatus } from "../../protocol/documents/graph.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Usage } from "../../protocol/result.ts";
import { shortened } from "../../protocol/shortened.ts";
import type { Turn } from "../../protocol/turn.ts";
import { accounting, stepsOf } from "../ledger/account-reader.ts";
import { reasonOf } from "../ledger/closing-words.ts";
import type { Account, Ended, StepPlace, ToldIntent } from "../ledger/account.ts";
import { graphOf } from "../views/graph/graph.ts";
import type { ViewOptions } from "../views/view.ts";
import type { TimelineDocument, TimelineItem } from "./documents.ts";

const wordsMax = 280;
const reasonMax = 400;

/** The whole timeline of these turns, in pieces. Throws LEDGER_BROKEN unless they begin with a start. */
export function* timelineOf(
  turns: readonly Turn[],
  viewing: ViewOptions,
): Generator<undefined, TimelineDocument> {
  const account = yield* accounting(turns);
  const { nodes } = yield* graphOf(turns, viewing);
  const prices = account.start.prices ?? {};
  // What came in stands before what was decided from it.
  const items = besides(turns, account);
  for (const node of nodes) items.push(itemOf(node, account, prices));
  items.sort((a, b) => a.turn - b.turn);
  return {
    saga: account.saga,
    status: account.end?.intent.status ?? "running",
    turns: account.turns,
    startedAt: account.startedAt,
    updatedAt: account.updatedAt,
    items,
  };
}

/** BT2. What a page lacks that has the timeline up to this turn. What is open may change without a turn that names it. */
export const changedAfter = (timeline: TimelineDocument, turn: number): TimelineDocument => ({
  ...timeline,
  items: timeline.items.filter((item) => item.changed > turn || item.status === "open"),
});

function itemOf(node: GraphNode, account: Account, prices: ModelPrices): TimelineItem {
  const { id, kind, label, detail, turn, at, status, attempts, intent, saga } = node;
  const bare = {
    id,
    kind,
    label,
    detail,
    turn,
    at,
    status,
    attempts,
    ...(saga === undefined ? {} : { saga }),
  };
  const told = intent === undefined ? undefined : account.intents.get(intent);
  if (intent === undefined || told === undefined) return { ...bare, changed: turn };
  return {
    ...bare,
    ...(told.input === undefined ? {} : { args: argumentsDigest(told.input) }),
    intent,
    changed: changedIn(account, told),
    ...lasting(told),
    ...wasOf(told, status),
    ...saidOf(account, told, prices),
  };
}

/** By what two calls of the same arguments are known, however long these are. */
function argumentsDigest(input: Json): string {
  const known = typeof input === "object" && input !== null ? digests.get(input) : undefined;
  const digest = known ?? digestOf(input).slice(0, 16);
  if (typeof input === "object" && input !== null) digests.set(input, digest);
  return digest;
}
/** Of arguments at hand: a timeline is made anew with each turn. */
const digests = new WeakMap<object, string>();

/** Until when it took its time, and how it stands. */
function lasting({ ended, deferred, intent }: ToldIntent): Partial<TimelineItem> {
  return {
    ...(ended === undefined ? {} : { until: ended.at, settledTurn: ended.turn }),
    ...(ended?.from === undefined ? {} : { by: ended.from }),
    ...(deferred === undefined ? {} : { deferred: true }),
    ...("dueAt" in intent
      ? { dueAt: intent.dueAt }
      : deferred === undefined
        ? {}
        : { dueAt: deferred.dueAt }),
  };
}

/** How it stood before it was corrected or undone. */
function wasOf({ before, ended }: ToldIntent, status: GraphStatus): Pick<TimelineItem, "was"> {
  const all = [
    ...(before === undefined ? [] : [before]),
    ...(status !== "undone" || ended === undefined ? [] : [ended]),
  ];
  return all.length === 0
    ? {}
    : { was: all.map((one) => ({ turn: one.turn, status: standingOf(one), until: one.at })) };
}

/** A call that was given up before its answer came may have happened. */
const standingOf = ({ as, stands }: Ended): GraphStatus =>
  as === "cancelled" && stands === true ? "in_doubt" : as;

/** What was said for it and what it cost. */
function saidOf(account: Account, told: ToldIntent, prices: ModelPrices): Partial<TimelineItem> {
  const { intent, ended } = told;
  const reason = ended === undefined || ended.as === "succeeded" ? undefined : reasonOf(account, told);
  const event = ended?.event;
  const usage =
    intent.kind === "model" && event?.type === "result" && event.intent === intent.id
      ? usageOf(event.result)
      : undefined;
  const words = intent.kind === "model" ? ModelReply.safeParse(ended?.output).data?.text : undefined;
  return {
    ...(reason === undefined ? {} : { reason: shortened(reason, reasonMax) }),
    ...(words === undefined || words === "" ? {} : { words: shortened(words, wordsMax) }),
    ...(usage === undefined ? {} : costOf(usage, prices["name" in intent ? intent.name : ""])),
  };
}

function costOf(usage: Usage, price: ModelPrice | undefined): Pick<TimelineItem, "tokens" | "usd"> {
  const usd = usage.usd ?? (price === undefined ? undefined : usdOf(usage, price));
  return { tokens: promptTokens(usage) + usage.outputTokens, ...(usd === undefined ? {} : { usd }) };
}

/** The last turn that says something of it: its own, the one it ended in, and the one that has undone it. */
function changedIn({ intents, undone }: Account, { intent, place, ended }: ToldIntent): number {
  const by = undone.get(intent.id);
  const undoing = by === undefined ? undefined : intents.get(by);
  return Math.max(place.turn, ended?.turn ?? 0, undoing?.ended?.turn ?? undoing?.place.turn ?? 0);
}

/** What no node stands for: votes, and that another host went on. */
function besides(turns: readonly Turn[], account: Account): TimelineItem[] {
  return turns.flatMap((turn, k) => [
    ...takeoverIn(turn, turns[k - 1]),
    ...stepsOf(turn).flatMap((at) => voteIn(at, account)),
  ]);
}

function takeoverIn({ turn, at, host }: Turn, before: Turn | undefined): TimelineItem[] {
  if (before === undefined || before.host === host) return [];
  const happened = { turn, at, changed: turn, status: "taken", attempts: 1 } as const;
  const detail = `${host} goes on after ${before.host}`;
  return [{ id: `host-${turn}`, kind: "takeover", label: "another host", detail, ...happened }];
}

function voteIn({ turn, step, at, event }: StepPlace, { intents }: Account): TimelineItem[] {
  if (event.type !== "task") return [];
  const { vote, by, as, reason } = event.vote;
  const task = intents.get(event.intent)?.intent;
  const about = task?.kind === "task" ? ` on ${task.tool ?? task.about}` : "";
  const detail = `${by}${as === undefined ? "" : ` as ${as}`}${about}${reason === undefined ? "" : `: ${reason}`}`;
  const happened = { turn, at, changed: turn, status: "taken", attempts: 1 } as const;
  return [
    { id: `vote-${turn}-${step}`, kind: "vote", label: vote, detail, intent: event.intent, ...happened },
  ];
}
