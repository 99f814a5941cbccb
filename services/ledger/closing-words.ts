/**
 * Closing words: why an intent ended as it did, in words, where no result says so.
 */
import type { ClosedBecause } from "../../protocol/closing.ts";
import type { Account, ToldIntent } from "./account.ts";

/** Undefined where the outcome says it all. */
export function reasonOf(account: Account, told: ToldIntent): string | undefined {
  const { ended, intent } = told;
  if (ended === undefined) return undefined;
  if (ended.reason !== undefined) return ended.reason;
  if (ended.because === "edit" || (ended.because === "deadline" && ended.as === "superseded"))
    return gaveWay(account, told);
  if (ended.because === "undo" && ended.stands === true) return "it was undone before the outside answered";
  if (ended.because === "forked" && ended.as === "succeeded") return "by the origin";
  if (ended.because !== undefined) return words[ended.because];
  if (ended.as !== "cancelled" || intent.kind === "end") return undefined;
  const isCancel = ended.event.type === "signal" && ended.event.name === "cancel";
  return isCancel ? "the saga was cancelled" : "nobody waited for it";
}

const words: Readonly<Record<ClosedBecause, string>> = {
  deadline: "nobody spoke in time",
  default: "nobody spoke in time; the default holds",
  edit: "the arguments were changed",
  task: "its task was over",
  raised: "the signal budget came",
  settled: "the doubt was settled",
  undone: "it was undone after all",
  undo: "it was to be undone",
  end: "the saga ended",
  forked: "the fork asks anew",
  moved: "the saga was moved to another definition",
};

/** Why a task gave way, and to which one. */
function gaveWay({ intents }: Account, { ended, followedBy }: ToldIntent): string {
  const next = followedBy === undefined ? undefined : intents.get(followedBy)?.intent;
  const why =
    ended?.because === "edit" ? `${ended.from ?? "somebody"} changed the arguments` : words.deadline;
  if (next?.kind !== "task") return why;
  return ended?.because === "edit"
    ? `${why}; ${next.id} asks about those`
    : `${why}; ${next.id} asks ${next.to.join(", ") || "anybody"}`;
}
