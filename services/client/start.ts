/**
 * Start: sagas and forks of sagas begin as one message that names them. An id is one saga's for ever: what it was started
 * with is in the first turn of its ledger, or in its tombstone.
 */
import { digestOf } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import { Name, type SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { subjects } from "../../protocol/subjects.ts";
import { decodeTurn, isTombstone, readTombstone } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { Ports } from "../wire/ports.ts";
import { type Forked, type ForkOptions, forkSaga } from "./fork.ts";
import { type ClientDeps, publishInput } from "./send.ts";

/** Stores a start. Throws SAGA_ID_TAKEN if the id is another saga's already. */
export async function startSaga(
  deps: ClientDeps,
  start: { id: SagaId; name: string; version?: number | undefined; input: Json },
): Promise<void> {
  const { id, name, version, input } = start;
  if (!Name.safeParse(name).success)
    throw new MeshError("AGENT_UNKNOWN", `"${name}" is not a definition's name`);
  const inputDigest = digestOf(input);
  await assertNotTaken(deps, id, name, inputDigest);
  await publishInput(deps, {
    subject: subjects.start(id),
    saga: id,
    body: { name, ...(version === undefined ? {} : { version }), input },
    msgId: `${id}:start:${inputDigest}`,
  });
}

/** Stores the start of a fork; throws as `Mesh.fork`. */
export const startFork = (deps: ClientDeps, origin: SagaId, options: ForkOptions): Promise<Forked> =>
  forkSaga(deps, origin, options, ({ saga, body, msgId }) =>
    publishInput(deps, { subject: subjects.start(saga), saga, body, msgId }),
  );

async function assertNotTaken(
  deps: ClientDeps,
  id: SagaId,
  name: string,
  inputDigest: string,
): Promise<void> {
  const start = await patiently(deps.clock, () => readStart(deps.ports, id));
  if (start === undefined) return;
  if (start.name === name && start.inputDigest === inputDigest && start.fork === undefined) return;
  const otherwise = start.name === name ? "with another input" : `as ${start.name}`;
  const what = start.fork === undefined ? otherwise : `as a fork of ${start.fork.saga}`;
  throw new MeshError("SAGA_ID_TAKEN", `saga ${id} exists and was started ${what}`);
}

/** What a saga was started with, or undefined if it has no ledger. Reads the first turn only, or the tombstone. */
async function readStart(
  ports: Pick<Ports, "ledger" | "blobs">,
  id: SagaId,
): Promise<{ name: string; inputDigest: string; fork: { saga: SagaId } | undefined } | undefined> {
  const last = await ports.ledger.last(id);
  if (last === undefined) return undefined;
  if (isTombstone(last)) {
    const { definition, inputDigest, fork } = await readTombstone(ports.blobs, last);
    return { name: definition.name, inputDigest, fork };
  }
  const own = new AbortController();
  const messages = ports.ledger.follow({ saga: id, signal: own.signal })[Symbol.asyncIterator]();
  try {
    const first = await messages.next();
    if (first.done === true) throw new MeshError("UNAVAILABLE", `the first turn of ${id} could not be read`);
    const event = (await decodeTurn(ports.blobs, first.value)).steps[0]?.event;
    if (event?.type === "start")
      return { name: event.definition.name, inputDigest: digestOf(event.input), fork: event.fork };
    throw new MeshError("LEDGER_BROKEN", `the ledger of ${id} does not begin with a start`);
  } finally {
    own.abort();
    await messages.return?.();
  }
}
