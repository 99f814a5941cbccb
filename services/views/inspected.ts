/**
 * Inspected: everything that a ledger, or its first turns, says of a saga, as one document.
 */
import type { SagaState } from "../../actors/contract/state.ts";
import type { EndDocument } from "../../protocol/documents/saga.ts";
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import type { ArchivedEnd } from "../../protocol/tombstone.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import type { Account } from "../ledger/account.ts";
import { createAccountReader } from "../ledger/account-reader.ts";
import { lastOf } from "../ledger/last-of.ts";
import { awaitedBy } from "./awaited.ts";
import { childrenOf } from "./children.ts";
import { contextOf } from "./context-sent.ts";
import { failing } from "./failures.ts";
import { readFolded } from "./folded.ts";
import { findingLastAsked, readRequest } from "./last-request.ts";
import { steeringOf } from "./steering-view.ts";
import type { ReadUpTo } from "./up-to.ts";
import { type ViewOptions, viewOfAccount } from "./view.ts";

const lastEvents = 10;
const lastLogged = 20;

/** Takes a ledger turn by turn, and tells what it says of its saga. */
export interface Inspecting {
  /** Throws LEDGER_BROKEN where another turn belongs. */
  take(turn: Turn): void;
  /** As of the last turn taken. Throws LEDGER_BROKEN before the first. */
  document(viewing: ViewOptions): InspectDocument;
}

/** Nothing was taken yet. `remembers`: so many of the intents that are over, and of what stands, are told; all unless given. */
export function createInspecting(remembers?: number): Inspecting {
  const reader = createAccountReader(remembers);
  const failures = failing();
  const events = lastOf<InspectDocument["events"][number]>(lastEvents);
  const logged = lastOf<NonNullable<InspectDocument["logged"]>[number]>(lastLogged);
  return {
    take: (turn) => {
      reader.take(turn);
      failures.take(turn);
      for (const { event } of turn.steps) events.add({ turn: turn.turn, at: turn.at, event });
      for (const line of turn.logged ?? []) logged.add({ turn: turn.turn, at: turn.at, line });
    },
    document: (viewing) =>
      documentOf(reader.account, viewing, {
        ...{ remembers, failures: failures.last(), events: events.all(), logged: logged.all() },
      }),
  };
}

/** How a ledger that is read some turns at a time is shown. */
export interface InspectOptions {
  readonly viewing: ViewOptions;
  /** As `createInspecting` says it. */
  readonly remembers: number | undefined;
  readonly app: App | undefined;
  /** These are not all of its turns, and it is said how many there are. */
  readonly isPast: boolean;
}

/**
 * Everything that a ledger says of a saga, read some turns at a time up to a moment. With the application what is open, what stands
 * and what was sent are exact. Throws LEDGER_BROKEN, with it VERSION_UNSERVED and FOLD_DIVERGED, and as `read`.
 */
export async function readInspected(
  read: ReadUpTo,
  { viewing, remembers, app, isPast }: InspectOptions,
): Promise<InspectDocument> {
  const begin = () => {
    const [inspecting, finding] = [createInspecting(remembers), findingLastAsked()];
    return {
      ...{ inspecting, finding },
      take: (turn: Turn) => {
        inspecting.take(turn);
        if (app !== undefined) finding.take(turn);
      },
    };
  };
  const folded = app === undefined ? undefined : await readFolded(app, read, begin);
  const found = folded ?? (await read(begin));
  const { inspecting, finding } = found.taker;
  const asked = finding.asked();
  const contextSent =
    app === undefined || asked === undefined
      ? undefined
      : contextOf(await readRequest(app, asked, read), asked.reply);
  const asOf = isPast && found.last !== undefined ? { asOf: { ...found.last, of: found.of } } : {};
  return { ...withFolded(inspecting, viewing, folded?.state, contextSent), ...asOf };
}

function withFolded(
  inspecting: Inspecting,
  viewing: ViewOptions,
  state: SagaState | undefined,
  contextSent: InspectDocument["contextSent"],
): InspectDocument {
  return {
    ...inspecting.document(state === undefined ? viewing : { ...viewing, state }),
    ...(state === undefined
      ? {}
      : {
          ...(state.memory === undefined ? {} : { memory: state.memory }),
          machine: { value: toJson(state.snapshot.value), context: toJson(state.snapshot.context) },
        }),
    ...(contextSent === undefined ? {} : { contextSent }),
  };
}

interface Lasts extends Pick<InspectDocument, "events"> {
  readonly remembers: number | undefined;
  readonly failures: NonNullable<InspectDocument["failures"]>;
  readonly logged: NonNullable<InspectDocument["logged"]>;
}

function documentOf(account: Account, viewing: ViewOptions, lasts: Lasts): InspectDocument {
  const { failures, events, logged, remembers } = lasts;
  const { parent, end, ...rest } = viewOfAccount(account, viewing);
  const awaits = rest.status === "running" ? awaitedBy(rest.intents) : undefined;
  const effects = remembers === undefined ? rest.effects : rest.effects.slice(-remembers);
  const [intentsLeft, effectsLeft] = [account.forgotten, rest.effects.length - effects.length];
  return {
    ...rest,
    ...(parent === undefined ? {} : { parent }),
    ...(end === undefined ? {} : { end: endDocument(rest.saga, end) }),
    ...steeringOf(account),
    children: childrenOf(rest.intents),
    hosts: [...rest.hosts],
    intents: rest.intents.map((intent) => defined(intent)),
    open: rest.open.map(({ intent }) => intent.id),
    ...(awaits === undefined ? {} : { awaits }),
    ...(failures.length === 0 ? {} : { failures }),
    effects: [...effects],
    ...(intentsLeft + effectsLeft === 0 ? {} : { leftOut: { intents: intentsLeft, effects: effectsLeft } }),
    events: [...events],
    ...(logged.length === 0 ? {} : { logged }),
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
