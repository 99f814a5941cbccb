/** What `deployments rehearse` prints for people. */
import type { RehearsalDocument } from "../../../protocol/documents/rehearsal.ts";
import { table } from "../frame/table.ts";
import { brief, describeDefinition } from "./describe.ts";
import { describeRun } from "./replay-text.ts";

const words = {
  moves: "would move as they are",
  same: "decide the same, and have nothing to move",
  stays: "decide the same, and would stay",
  differs: "would decide otherwise",
  unfoldable: "cannot be folded",
} as const;

export function describeRehearsal(document: RehearsalDocument): string {
  const { meant, sampled, seed, definitions, counts, kinds, replay, failedOn = [] } = document;
  const verdicts = Object.keys(words) as (keyof typeof words)[];
  return [
    `${sampled} of ${meant} sagas (seed ${seed}) under the new application`,
    ...definitions.map(
      ({ from, to, sagas, changed }) =>
        `${describeDefinition(from)} -> ${describeDefinition(to)}, ${sagas} saga${sagas === 1 ? "" : "s"}; changed: ${changed ?? "not known, the old one is not registered"}`,
    ),
    table(
      ["", ""],
      verdicts.filter((one) => counts[one] > 0).map((one) => [String(counts[one]), words[one]]),
    ),
    ...kinds.flatMap(({ verdict, why, sagas, first }) => [
      `${sagas} ${words[verdict]}: ${why}`,
      `  first ${first.saga}${first.turn === undefined ? "" : `, turn ${first.turn}`}`,
      ...(first.expected === undefined && first.got === undefined
        ? []
        : [
            `  expected ${brief(first.expected ?? null, 200)}`,
            `  got      ${brief(first.got ?? null, 200)}`,
          ]),
    ]),
    ...(replay === undefined ? [] : ["", describeRun(replay)]),
    ...failedOn.map((one) => `failed on ${one}`),
  ].join("\n");
}
