/**
 * Inspected: everything that a ledger, or its first turns, says of a saga, as one document.
 */
import type { EndDocument } from "../../protocol/documents/saga.ts";
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import type { ArchivedEnd } from "../../protocol/tombstone.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { accounting } from "../ledger/account-reader.ts";
import { awaitedBy } from "./awaited.ts";
import { childrenOf } from "./children.ts";
import { contextSentOf } from "./context-sent.ts";
import { failuresOf } from "./failures.ts";
import { viewingByFold } from "./folded.ts";
import { steeringOf } from "./steering-view.ts";
import { type ViewOptions, viewOfAccount } from "./view.ts";

const lastEvents = 10;
const lastLogged = 20;

/**
 * In pieces. With the application what is open, what stands and what was sent are exact. Throws LEDGER_BROKEN; with it
 * VERSION_UNSERVED and FOLD_DIVERGED, too.
 */
export function* inspectedOf(
  turns: readonly Turn[],
  viewing: ViewOptions,
  app: App | undefined,
): Generator<undefined, InspectDocument> {
  const folded = app === undefined ? undefined : yield* viewingByFold(app, turns);
  const account = yield* accounting(turns);
  const view = viewOfAccount(account, { ...viewing, ...folded });
  const { parent, end, ...rest } = view;
  const awaits = view.status === "running" ? awaitedBy(view.intents) : undefined;
  const state = folded?.state;
  const failures = failuresOf(turns);
  const logged = turns
    .flatMap(({ turn, at, logged: lines = [] }) => lines.map((line) => ({ turn, at, line })))
    .slice(-lastLogged);
  const contextSent = app === undefined ? undefined : yield* contextSentOf(app, turns);
  return {
    ...rest,
    ...(parent === undefined ? {} : { parent }),
    ...(end === undefined ? {} : { end: endDocument(view.saga, end) }),
    ...steeringOf(account),
    children: childrenOf(view.intents),
    hosts: [...view.hosts],
    intents: view.intents.map((intent) => defined(intent)),
    open: view.open.map(({ intent }) => intent.id),
    ...(awaits === undefined ? {} : { awaits }),
    ...(failures.length === 0 ? {} : { failures }),
    effects: [...view.effects],
    events: turns
      .flatMap(({ turn, at, steps }) => steps.map(({ event }) => ({ turn, at, event })))
      .slice(-lastEvents),
    ...(logged.length === 0 ? {} : { logged }),
    ...(state === undefined
      ? {}
      : {
          ...(state.memory === undefined ? {} : { memory: state.memory }),
          machine: { value: toJson(state.snapshot.value), context: toJson(state.snapshot.context) },
        }),
    ...(contextSent === undefined ? {} : { contextSent }),
  };
}

/** Without the members that are undefined, as JSON has none. */
const defined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;

export const endDocument = (
  saga: SagaId,
  { status, output, code, reason, standing }: ArchivedEnd,
): EndDocument => ({
  saga,
  status,
  ...(output === undefined ? {} : { output }),
  ...(code === undefined ? {} : { code }),
  ...(reason === undefined ? {} : { reason }),
  standing,
});
