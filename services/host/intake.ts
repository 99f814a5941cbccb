/**
 * Intake: ② an inbox message becomes an event, or is refused with a code.
 */
import type { Event } from "../../protocol/event.ts";
import { StartMessage, Vote } from "../../protocol/event.ts";
import { MeshError } from "../../protocol/errors.ts";
import { digestOfOrder, type ForkOrder, type Lineage } from "../../protocol/fork.ts";
import type { Json } from "../../protocol/json.ts";
import { type ResultMessage as ResultBody, ResultMessage } from "../../protocol/result.ts";
import { type Address, headers } from "../../protocol/subjects.ts";
import type { App } from "../app/app.ts";
import { decodeBody, eventIdOf, readBody } from "../wire/messages.ts";
import type { BlobPort, Delivery } from "../wire/ports.ts";
import { recordedPrices } from "../app/prices.ts";
import { assertVoteSigned, type CheckSignature } from "../wire/signing.ts";

/**
 * Reads a delivery. Throws BAD_MESSAGE, TOO_LARGE and the like for what can never be read, AGENT_UNKNOWN for
 * a start that this host does not serve, SIGNATURE_INVALID for a vote whose signature is not its own.
 */
export async function readEvent(
  blobs: BlobPort,
  app: App,
  address: Address,
  delivery: Delivery,
  check?: CheckSignature,
): Promise<Event> {
  switch (address.kind) {
    case "start":
      return readStart(app, await readBody(blobs, delivery, StartMessage));
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
      assertVoteSigned(check, address, vote);
      return { type: "task", intent: address.intent, id: eventIdOf(delivery), vote };
    }
    case "timer":
      return { type: "timer", intent: address.intent };
  }
}

/** The definition that the sender writes to, if it says so. */
const addressee = (agent: string | undefined) => (agent === undefined ? {} : { to: agent });

function readStart(app: App, body: StartMessage): Event {
  const { version: wanted, hash: exact } = body;
  const definition =
    exact === undefined
      ? app.latest(body.name, wanted)
      : app.definition({ name: body.name, version: wanted ?? 0, hash: exact });
  const which = `${wanted === undefined ? "" : ` version ${wanted}`}${exact === undefined ? "" : ` (${exact})`}`;
  if (definition === undefined)
    throw new MeshError("AGENT_UNKNOWN", `no definition "${body.name}"${which} is served here`);
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
