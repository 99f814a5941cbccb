/**
 * Signal: one signal of a signed link.
 *
 * GI1 A link is one signal, however often it is used: its id is the signal's. The ledger is asked first, because a
 *     saga forgets ids after a week, and then the claim (once.ts).
 */
import { digestOf } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { LinkOf } from "../../protocol/link.ts";
import { type ClientDeps, sendSignal } from "../client/send.ts";
import { checkSignal } from "../client/registry.ts";
import { simulatedOf, simulatedWords } from "../client/tasks.ts";
import { type Asked, firstFit, readAsked, taken } from "./asked.ts";
import { takeOnce } from "./once.ts";
import { readData, readingsFor } from "./reading.ts";

/** Reads what a signal link is for. Throws SAGA_UNKNOWN, SAGA_ARCHIVED, SAGA_ENDED. */
export async function askedSignal(deps: ClientDeps, link: LinkOf<"signal">): Promise<Asked> {
  const { saga, name } = link;
  const { turns, view, registered } = await readAsked(deps, saga);
  const id = `link-${link.id}`;
  const sent = turns
    .flatMap(({ steps }) => steps.map(({ event }) => event))
    .find((event) => event.type === "signal" && event.id === id);
  if (sent === undefined && view.phase === "ended")
    throw new MeshError("SAGA_ENDED", `${saga} has ended: ${view.status}`);
  const definition = registered.definitions.find((one) => one.hash === view.definition.hash);
  const schema = definition?.signals[name];
  const simulated = simulatedOf(view);
  const over = sent === undefined ? undefined : taken(`this link was used already, for ${saga}`);
  return {
    title: `Send ${name}`,
    details: [
      ...(simulated === undefined ? [] : [simulatedWords(simulated)]),
      `to ${view.definition.name} ${saga}`,
      ...(link.data === undefined ? [] : [JSON.stringify(link.data)]),
    ],
    schema,
    isFixed: link.data !== undefined,
    over,
    take: async (given) => {
      const readings = link.data === undefined ? readingsFor(readData(given), schema) : [link.data];
      if (sent?.type === "signal") {
        if (readings.some((one) => digestOf(one) === digestOf(sent.data))) return "already";
        throw taken(`this link was used already, for ${saga}`);
      }
      const data = firstFit(readings, (one) => checkSignal(registered, view.definition, name, one));
      const question = { key: `${saga}.signal.${link.id}`, round: 1 };
      const isTaken = await takeOnce(deps, question, { data }, (first: { data: Json }) =>
        sendSignal({ ...deps, from: "gateway" }, saga, name, first.data, id),
      );
      if (isTaken) return "stored";
      throw taken(`this link was used already, for ${saga}`);
    },
  };
}
