/**
 * Task: one vote of a signed link, in the name of the person that the link was made for.
 */
import { callKeyOf } from "../../actors/kernel/address.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { LinkOf } from "../../protocol/link.ts";
import { assertAsked, type ClientDeps, sendVote } from "../client/send.ts";
import { simulatedOf, simulatedWords } from "../client/tasks.ts";
import { notOpenIn } from "../client/vote.ts";
import { type Asked, readAsked, taken } from "./asked.ts";
import { takeOnce } from "./once.ts";

/** Reads what a task link is for. Throws SAGA_UNKNOWN, SAGA_ARCHIVED, TASK_UNKNOWN, VOTER_NOT_ASKED; `take` also TASK_OVER. */
export async function askedVote(deps: ClientDeps, link: LinkOf<"task">): Promise<Asked> {
  const { saga, vote, by, as } = link;
  const { turns, view } = await readAsked(deps, saga);
  const viewed = view.intents.find(({ intent }) => intent.id === link.intent);
  if (viewed?.intent.kind !== "task")
    throw new MeshError("TASK_UNKNOWN", `${saga}/${link.intent} is no task`);
  const { about, question, of, to, digest } = viewed.intent;
  const key = callKeyOf(viewed.intent);
  const input = viewed.input ?? view.intents.find(({ intent }) => intent.id === of)?.input;
  if (about !== "approval" && about !== "stuck")
    throw new MeshError("TASK_UNKNOWN", `${saga}/${link.intent} is a ${about}: a link cannot answer it`);
  const own = turns
    .flatMap(({ steps }) => steps.map(({ event }) => event))
    .findLast((event) => event.type === "task" && event.intent === link.intent && event.vote.by === by);
  const isSaid = own?.type === "task" && own.vote.vote === vote;
  const over = viewed.outcome !== undefined ? notOpenIn(turns, link.intent) : undefined;
  if (over === undefined && !isSaid) assertAsked({ saga, intent: link.intent, to }, { by, as });
  const simulated = simulatedOf(view);
  return {
    title: vote === "approve" ? "Approve" : "Deny",
    details: [
      ...(simulated === undefined ? [] : [simulatedWords(simulated)]),
      question,
      ...(input === undefined ? [] : [JSON.stringify(input, undefined, 2)]),
      `as ${by}${as === undefined ? "" : `, ${as}`}, for ${view.definition.name} ${saga}`,
    ],
    schema: undefined,
    isFixed: true,
    over: over ?? (isSaid ? taken(`${saga}/${link.intent}: ${by} has said so already`) : undefined),
    take: async () => {
      if (isSaid) return "already";
      if (over !== undefined) throw over;
      await takeOnce(
        deps,
        { key: `${saga}.${link.intent}.vote-${link.id}`, round: 1 },
        // Bound to the arguments that the page shows.
        { vote, by, ...(as === undefined ? {} : { as }), ...(digest === undefined ? {} : { digest }) },
        (first) => sendVote({ ...deps, from: "gateway" }, { saga, intent: link.intent, key }, first),
      );
      return "stored"; // The link holds all of the vote, so the first caller said the same.
    },
  };
}
