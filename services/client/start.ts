/**
 * Start: sagas and forks of sagas begin as one message that names them. An id is one saga's for ever: what it was started
 * with is in the inbox until a host takes it, then in the first turn of its ledger, or in its tombstone.
 *
 * CS1 Of all that start one id with something else, at the same time or later, with a host or without, one is told that it
 *     is stored, and every other SAGA_ID_TAKEN. The inbox takes a start only where none stands; then the ledger is looked
 *     at once more, and is right: a saga may have begun since the first look, and what stands then is for the dead letters.
 * CS2 The same start again is the same saga. One that a host refused is stored anew.
 */
import { digestOf } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { StartMessage } from "../../protocol/event.ts";
import { Name, type SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { askedFor, isSameStart, startDigest, type StartIdentity } from "../../protocol/start.ts";
import { headers } from "../../protocol/subjects.ts";
import { traceparentIn } from "../../protocol/trace.ts";
import { assertValue } from "../../protocol/value.ts";
import { type BegunSaga, readBegun } from "../ledger/begun.ts";
import { encodeBody, makeHeaders } from "../wire/messages.ts";
import { patiently } from "../wire/patience.ts";
import { readStanding, storeStart } from "../wire/start.ts";
import { type Forked, type ForkOptions, forkSaga } from "./fork.ts";
import type { ClientDeps } from "./send.ts";

/** Stores a start. Throws STORAGE_RESERVED, and SAGA_ID_TAKEN if the id is another saga's already, or becomes it now (CS1). */
export async function startSaga(
  deps: ClientDeps,
  start: {
    id: SagaId;
    name: string;
    version?: number | undefined;
    input: Json;
    /** Its id was made for it just now. */
    isMinted?: boolean;
    /** The span that it is started from. What is none is left out: the saga has a trace of its own then. */
    traceparent?: string | undefined;
  },
): Promise<void> {
  const { id, name, version, input, isMinted, traceparent } = start;
  if (!Name.safeParse(name).success)
    throw new MeshError("AGENT_UNKNOWN", `"${name}" is not a definition's name`);
  assertValue(input, `the input of ${name}`);
  const body = { name, ...(version === undefined ? {} : { version }), input };
  await storeOnce(deps, id, body, { isMinted, traceparent });
}

/** Stores the start of a fork; throws as `Mesh.fork`. */
export const startFork = (deps: ClientDeps, origin: SagaId, options: ForkOptions): Promise<Forked> =>
  forkSaga(deps, origin, options, ({ saga, body }) => storeOnce(deps, saga, body));

/** The first look, which keeps a start that is known from being stored again, a minted id does without: CS1 is by the second. */
async function storeOnce(
  deps: ClientDeps,
  saga: SagaId,
  body: StartMessage,
  {
    isMinted = false,
    traceparent,
  }: { isMinted?: boolean | undefined; traceparent?: string | undefined } = {},
): Promise<void> {
  const { ports, clock } = deps;
  const as = askedFor(body);
  const asking = ports.intake?.refusal();
  asking?.catch(() => undefined); // Waited for below.
  if (!isMinted && (await isBegun(deps, saga, as))) return; // CS2
  const refusal = await asking;
  if (refusal !== undefined) throw refusal;
  const { data, contentType } = await encodeBody(ports.blobs, body);
  const fields = makeHeaders({
    [headers.saga]: saga,
    [headers.from]: deps.from,
    [headers.trace]: traceparentIn(traceparent),
    [headers.contentType]: contentType,
  });
  for (let msgId = `${saga}:start:${startDigest(as)}`; ;) {
    const start = { saga, as, data, headers: fields, msgId };
    const stored = await patiently(clock, () => storeStart(ports, start));
    if (await isBegun(deps, saga, as)) return; // CS1
    if (stored === "stored" || stored === "stands") return;
    if (stored === "taken") throw await takenByStanding(deps, saga, as);
    msgId = `${saga}:start:${startDigest(as)}:${deps.chance.nonce()}`; // CS2
  }
}

/** Whether this very saga has begun. Throws SAGA_ID_TAKEN if another has. */
async function isBegun(deps: ClientDeps, saga: SagaId, as: StartIdentity): Promise<boolean> {
  const begun = await patiently(deps.clock, () => readBegun(deps.ports, saga));
  if (begun === undefined) return false;
  assertBegunAs(saga, begun, as);
  return true;
}

/** Throws SAGA_ID_TAKEN unless the saga was begun with exactly this. */
export function assertBegunAs(saga: SagaId, begun: BegunSaga, as: StartIdentity): void {
  if (begun.as === undefined || !isSameStart(begun.as, as))
    throw taken(`${saga} exists and was started`, begun, as);
}

async function takenByStanding(deps: ClientDeps, saga: SagaId, as: StartIdentity): Promise<MeshError> {
  const standing = await patiently(deps.clock, () => deps.ports.inbox.standingStart(saga));
  const asked = standing && (await patiently(deps.clock, () => readStanding(deps.ports, standing)));
  const fork = asked?.fork && { fork: asked.fork };
  return taken(`a start of ${saga} is stored already,`, { as: asked && askedFor(asked), ...fork }, as);
}

/** What tells the other from this one, in words. */
function taken(
  what: string,
  { as: there, fork }: { as?: StartIdentity | undefined; fork?: { saga: SagaId } },
  as: StartIdentity,
): MeshError {
  const how = () => {
    if (fork !== undefined) return as.fork === undefined ? `as a fork of ${fork.saga}` : "as another fork";
    if (there === undefined) return "with something that cannot be read";
    if (there.parent !== undefined) return `by ${there.parent.saga}`;
    if (as.fork !== undefined) return "and is not this fork";
    return there.name === as.name ? "with another input" : `as ${there.name}`;
  };
  return new MeshError("SAGA_ID_TAKEN", `${what} ${how()}`);
}

/** What a caller's own start asks for. */
export const ownStart = (name: string, input: Json): StartIdentity => ({
  name,
  inputDigest: digestOf(input),
});
