/**
 * Why, silent: what of a ledger the story leaves out, all of it, each with its reason.
 */
import type { Event } from "../../../protocol/event.ts";
import type { Telling } from "./telling.ts";

interface Silent {
  readonly reason: string;
  readonly isIt: (t: Telling, event: Event) => boolean;
}

export const silent: readonly Silent[] = [
  {
    reason: "that people were told of a task is told where it was to be done; only that it failed is news",
    isIt: ({ views }, event) => {
      if (event.type !== "result" || event.result.outcome !== "succeeded") return false;
      const intent = views.get(event.intent)?.intent;
      return intent?.kind === "tool" && intent.for !== undefined;
    },
  },
  {
    reason: "that a signal or an end was handed on to another saga is told where it was decided",
    isIt: ({ views }, event) =>
      event.type === "result" &&
      event.result.outcome === "succeeded" &&
      ["signal", "end"].includes(views.get(event.intent)?.intent.kind ?? ""),
  },
];

export const isSilent = (t: Telling, event: Event): boolean => silent.some(({ isIt }) => isIt(t, event));
