/**
 * Why, origin: what was asked for, and of a fork where it comes from and where it leaves.
 */
import type { EventOf } from "../../../protocol/event.ts";
import { answeredIn } from "../../../protocol/fork.ts";
import type { StepPlace } from "../../ledger/account.ts";
import { eventRef, tell, type Telling, type Told } from "./telling.ts";
import { counted, lasting, quoted, valueOf } from "./words.ts";

export function tellStart(
  t: Telling,
  at: StepPlace,
  { definition, input, parent, tree, fork }: EventOf<"start">,
): Told {
  const who =
    parent === undefined
      ? "It was asked for"
      : `The saga ${parent.saga} asked for it (intent ${parent.intent})`;
  const of =
    fork === undefined
      ? ""
      : ` It is a fork of ${fork.saga}: its first ${counted(fork.turn, "turn")}, and what they tell, are that saga's; \`sagamesh why ${fork.saga}\` tells how that one went on.`;
  const budget =
    tree?.budget === undefined
      ? ""
      : ` It was given a slice of the budget above it: ${valueOf(tree.budget)}.`;
  const text = `${who}: ${definition.name}, version ${definition.version}, with ${valueOf(input, 300)}. ${at.host} took it.${of}${budget}`;
  return tell(at, "asked", text, [eventRef(at)]);
}

const effectsWords = {
  live: "are done for real",
  simulated: "are answered from its origin's record or by a stand-in, and touch nothing outside",
  forbidden: "are refused",
} as const;

export function tellForked(
  t: Telling,
  at: StepPlace,
  { by, effects, model, instructions, idleMs }: EventOf<"forked">,
): Told {
  const from = t.fork === undefined ? "its origin" : t.fork.saga;
  const other = [
    ...(model === undefined ? [] : [` From here on ${model} is asked.`]),
    ...(instructions === undefined ? [] : [` Its instructions are others: ${quoted(instructions)}.`]),
    ...(idleMs < 1_000 ? [] : [` What was to fall due was put off by ${lasting(idleMs)}.`]),
  ].join("");
  const text = `Here the fork left ${from}, as ${by} wanted; ${at.host} took it. Effects from here on ${effectsWords[effects]}.${other}`;
  return tell(at, "asked", text, [eventRef(at)]);
}

export function tellMigrated(at: StepPlace, { from, to, by }: EventOf<"migrated">): Told {
  const text = `${by} had the saga moved from ${from.name}, version ${from.version} (${from.hash.slice(0, 8)}), to version ${to.version} (${to.hash.slice(0, 8)}), which its host had found to decide all that had been decided before.`;
  return tell(at, "asked", text, [eventRef(at)]);
}

/** Who reported a result, as a clause. */
export function reportWords(by: string): string {
  if (!by.startsWith("simulated:")) return `${by} reported it`;
  const intent = answeredIn(by);
  return intent === undefined
    ? "nobody did it: a stand-in of the fork's was taken for the result"
    : `nobody did it here: the result is the one that the origin recorded for ${intent}`;
}
