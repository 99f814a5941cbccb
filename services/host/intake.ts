/**
 * Intake: ② an inbox message becomes an event, or is refused with a code.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { type DefinitionRef, type Event, type EventOf, StartMessage, Vote } from "../../protocol/event.ts";
import { digestOfOrder, type ForkOrder, type Lineage } from "../../protocol/fork.ts";
import type { Json } from "../../protocol/json.ts";
import { type ResultMessage as ResultBody, ResultMessage } from "../../protocol/result.ts";
import { type Address, headers } from "../../protocol/subjects.ts";
import { recordedTrace } from "../../protocol/trace.ts";
import { decodeBody, eventIdOf, readBody } from "../wire/messages.ts";
import type { BlobPort, Delivery } from "../wire/ports.ts";
import { recordedPrices } from "../app/prices.ts";
import { assertVoteSigned } from "../wire/signing.ts";
import type { HostDeps } from "./host-deps.ts";
import { meantFor } from "./routing.ts";
import { Unserved } from "./unserved.ts";

/** What reading takes. */
export interface Reading extends Pick<HostDeps, "app" | "routing" | "checkSignature"> {
  readonly ports: { readonly blobs: BlobPort };
}

/**
 * Reads a delivery. Throws BAD_MESSAGE, TOO_LARGE and the like for what can never be read, SIGNATURE_INVALID for a vote whose
 * signature is not its own; for a start VERSION_UNSERVED if it is for another host, AGENT_UNKNOWN if no host serves any such.
 */
export async function readEvent(
  reading: Reading,
  address: Address,
  delivery: Delivery,
  meant?: DefinitionRef,
): Promise<Event> {
  const { blobs } = reading.ports;
  switch (address.kind) {
    case "start": {
      const body = await readBody(blobs, delivery, StartMessage);
      const ref = meant ?? meantFor(delivery) ?? reading.routing.choose(body, address.saga);
      const definition = reading.app.definition(ref);
      if (definition === undefined) throw new Unserved(address.saga, ref);
      const { parent, tree, fork } = body;
      const trace = recordedTrace(delivery.headers[headers.trace], { saga: address.saga, parent, tree });
      return { ...readStart(reading, definition, body), ...(fork === undefined ? trace : {}) };
    }
    case "signal":
      return {
        type: "signal",
        name: address.name,
        data: await decodeBody(blobs, delivery),
        id: eventIdOf(delivery),
        from: delivery.headers[headers.from] ?? "outside",
        sentAt: delivery.storedAt,
        ...addressee(delivery.headers[headers.agent]),
      };
    case "result":
      return readResult(address.intent, await readBody(blobs, delivery, ResultMessage), delivery);
    case "task": {
      const vote = await readBody(blobs, delivery, Vote);
      assertVoteSigned(reading.checkSignature, address, vote);
      return { type: "task", intent: address.intent, id: eventIdOf(delivery), vote };
    }
    case "timer":
      return { type: "timer", intent: address.intent };
  }
}

/** The definition that the sender writes to, if it says so. */
const addressee = (agent: string | undefined) => (agent === undefined ? {} : { to: agent });

function readStart({ app, routing }: Reading, definition: Definition, body: StartMessage): EventOf<"start"> {
  const { name, version, hash } = definition;
  const tree = body.parent === undefined ? undefined : body.tree;
  const countsUsd = definition.budget.usd !== undefined || tree?.budget?.usd !== undefined;
  return {
    type: "start",
    definition: { name, version, hash },
    input: body.input,
    ...(body.parent === undefined ? {} : { parent: body.parent }),
    ...(tree === undefined ? {} : { tree }),
    ...(body.fork === undefined ? {} : { fork: lineageOf(body.fork) }),
    ...(countsUsd ? { prices: recordedPrices(definition, app) } : {}),
    ...routing.beginning(),
  };
}

/** What was asked for; whose turns come before the origin's own its ledger tells. */
const lineageOf = (order: ForkOrder): Lineage => {
  const { saga, turn, head } = order;
  return { saga, turn, head, order: digestOfOrder(order) };
};

function readResult(
  intent: Extract<Event, { type: "result" }>["intent"],
  body: ResultBody,
  delivery: Delivery,
): Event {
  const { attempt, by, spent, ...said } = body;
  if (said.outcome === "deferred")
    return { type: "deferred", intent, attempt, dueAt: delivery.storedAt + said.withinMs };
  return { type: "result", intent, attempt, by, result: said, ...(spent === undefined ? {} : { spent }) };
}

/** The event of something the host itself observed. */
export const localResult = (
  intent: Extract<Event, { type: "result" }>["intent"],
  attempt: number,
  by: string,
  output: Json,
): Event => ({
  type: "result",
  intent,
  attempt,
  by,
  result: { outcome: "succeeded", output },
});

/** Two inputs of one batch where what the second one is depends on what becomes of the first. */
export function concernsSame(a: Event, b: Event): boolean {
  if ("intent" in a && "intent" in b) return a.intent === b.intent;
  return a.type === "signal" && b.type === "signal" && a.id === b.id;
}
