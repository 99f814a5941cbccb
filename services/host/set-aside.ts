/**
 * Set aside: what a saga's processes died of is settled, in a process that performs nothing and hands nothing on.
 *
 * SE1 An input that the ledger does not know is what killed: it becomes a dead letter, and what the saga has open is
 *    left alone. If it was the result of an effect, another one takes its place: the effect must end.
 * SE2 Else what its host performed killed: the end of each of these attempts is recorded in one turn, so that the
 *    saga goes on or compensates. The input is not acked: the host that takes it next hands on what that turn decided.
 * SE3 Where neither is so, the letter is all. Retried, it is a known input: what is open is handed on again.
 * SE4 A cancellation among them is taken before anything is folded, and without the machine (cancel-bare.ts): every saga can
 *    be cancelled. All inputs are given back; to a saga without its machine they do no harm.
 */
import { callKeyOf } from "../../actors/kernel/address.ts";
import { accept } from "../../actors/kernel/accept.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { isOwnWork, type OpenIntent } from "../../actors/contract/state.ts";
import type { MeshError } from "../../protocol/errors.ts";
import type { Event } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Result } from "../../protocol/result.ts";
import { parseInboxSubject } from "../../protocol/subjects.ts";
import { deadLetter } from "../wire/dead-letter.ts";
import { ackDelivery, nakDelivery } from "../wire/delivery.ts";
import { publishResult } from "../perform/publish-result.ts";
import type { Delivery } from "../wire/ports.ts";
import { appendTurn } from "./append.ts";
import { cancelBare, readBare, resultOfOwn } from "./cancel-bare.ts";
import { type DispatchDeps, publishRefusal } from "./tell-sagas.ts";
import type { HostDeps } from "./host-deps.ts";
import { readEvent } from "./intake.ts";
import { type Loaded, loadPast, loadSaga } from "./load.ts";
import { noteParked } from "./parked.ts";
import { keyOf } from "../suspects/saga-key.ts";
import { poison } from "./suspects.ts";
import { toldOf } from "./pure-step.ts";
import { encodeTurn, traceIdOf } from "./turn-message.ts";

interface Input {
  readonly delivery: Delivery;
  /** Undefined: it cannot be read, which is no reason to die. */
  readonly event: Event | undefined;
}

/** Settles what the deliveries of a saga died of; each is acked or given back. After a crash in between, again. */
export async function setAside(deps: HostDeps, saga: SagaId, deliveries: readonly Delivery[]): Promise<void> {
  const inputs = await Promise.all(deliveries.map((delivery) => read(deps, delivery)));
  const letGo = async () => {
    await Promise.all(deliveries.map((delivery) => nakDelivery(delivery)));
  };
  if (await isCancelled(deps, saga, inputs)) return letGo(); // SE4
  const found = await loadSaga(deps, deps.app, saga);
  if (found !== undefined && "type" in found) return letGo();
  const unknown = found === undefined ? startsOf(inputs) : await newTo(deps, found, inputs);
  for (const { delivery, event } of unknown) {
    const error = poison(`${saga} dies of this input`);
    if (event !== undefined)
      await answer({ ...deps, again: String(delivery.seq) }, saga, found, event, error); // SE1
    await refuse(deps, delivery, error);
    await noteParked(deps, saga, error);
  }
  if (unknown.length > 0 || found === undefined) return letGo();
  const [first] = deliveries;
  if (first === undefined) return;
  const own = Object.values(found.state.open).filter(
    (open) =>
      (open.intent.kind === "tool" || open.intent.kind === "model") && isOwnWork(open, deps.placementOf),
  );
  const names = own.map(({ intent }) => `${intent.id}${"name" in intent ? ` (${intent.name})` : ""}`);
  const error = poison(
    own.length > 0 ? `performing ${names.join(", ")} of ${saga}` : `${saga} dies of what follows this input`,
  );
  await deadLetter(deps, "inbox", first, error);
  deps.observe.refused(error.code);
  if (own.length > 0) {
    await settle(deps, found, own, error); // SE2
    return letGo();
  }
  for (const delivery of deliveries) {
    await deadLetter(deps, "inbox", delivery, error); // SE3; the first one is there already.
    await ackDelivery(delivery);
  }
  await noteParked(deps, saga, error);
}

/** SE4. */
async function isCancelled(deps: HostDeps, saga: SagaId, inputs: readonly Input[]): Promise<boolean> {
  const cancel = inputs
    .map(({ event }) => event)
    .find((event) => event?.type === "signal" && event.name === "cancel");
  if (cancel?.type !== "signal") return false;
  const bare = await readBare(deps, saga);
  return bare !== undefined && cancelBare(deps, bare, cancel, poison(`performing what ${saga} had begun`));
}

async function read(deps: HostDeps, delivery: Delivery): Promise<Input> {
  try {
    const address = parseInboxSubject(delivery.subject);
    const event = await readEvent(deps, address, delivery);
    return { delivery, event };
  } catch {
    return { delivery, event: undefined }; // Given back: the host that takes it next refuses it, and says why.
  }
}

/** Without a ledger only a start does anything. */
const startsOf = (inputs: readonly Input[]): readonly Input[] =>
  inputs.filter(({ event }) => event?.type === "start");

async function newTo(deps: HostDeps, loaded: Loaded, inputs: readonly Input[]): Promise<Input[]> {
  const { state, definition } = await whole(deps, loaded);
  const now = deps.clock.now();
  const isNew = ({ event }: Input) =>
    event !== undefined && accept(definition, state, event, now).type === "new";
  return deps.holding.during(keyOf(state.saga), "what it died of", () => inputs.filter(isNew));
}

/** With nothing laid by: what is asked here is asked once. */
const whole = (deps: HostDeps, loaded: Loaded): Promise<Loaded> =>
  loaded.state.past === undefined ? Promise.resolve(loaded) : loadPast(deps, deps.app, loaded);

/** The saga that waits for what this input said hears how it ended. */
async function answer(
  deps: HostDeps & DispatchDeps,
  saga: SagaId,
  found: Loaded | undefined,
  event: Event,
  error: MeshError,
): Promise<void> {
  if (event.type === "start" && event.parent !== undefined)
    return publishRefusal(deps, saga, event.parent, error);
  if (event.type !== "result") return;
  const open = found?.state.open[event.intent];
  if (open === undefined) return;
  const tool = open.intent.kind === "tool" ? deps.app.tools.get(open.intent.contract) : undefined;
  const why = { code: error.code, reason: error.message };
  // It was performed, so only for what may be tried again it is as if it had not been.
  const result: Result =
    tool?.effect === "once" || tool?.effect === "probe"
      ? { outcome: "in_doubt", ...why }
      : { outcome: "failed", ...why, retry: false };
  const key = callKeyOf(open.intent);
  const to = {
    saga,
    intent: event.intent,
    attempt: event.attempt,
    key,
    call: open.decidedAt,
    insteadOf: event.result.outcome,
  };
  await publishResult(deps, to, { type: "result", result }, deps.signal);
}

async function refuse(deps: HostDeps, delivery: Delivery, error: MeshError): Promise<void> {
  deps.observe.refused(error.code);
  await deadLetter(deps, "inbox", delivery, error);
  await ackDelivery(delivery);
}

/** SE2. A turn that is refused is not tried again: another host has the saga. */
async function settle(
  deps: HostDeps,
  loaded: Loaded,
  own: readonly OpenIntent[],
  error: MeshError,
): Promise<void> {
  const { saga } = loaded.state;
  const events = await Promise.all(own.map((open) => resultOfOwn(deps, saga, open, error)));
  const at = deps.clock.now();
  const { definition, state, head } = await whole(deps, loaded);
  const taken = events.flatMap((event) => {
    const judged = accept(definition, state, event, at);
    return judged.type === "new" ? [judged.event] : [];
  });
  if (taken.length === 0) return;
  const decide = () => decideTurn(definition, state, { saga, at, events: taken });
  const decided = deps.holding.during(keyOf(saga), toldOf(taken), decide);
  const from = { definition, traceId: traceIdOf(saga) };
  const message = await encodeTurn(deps, from, head, decided, at);
  await appendTurn({ ...deps.ports, clock: deps.clock }, saga, message, deps.signal);
}
