/**
 * Inspected, of turns at hand: the document of `inspect` where all of a ledger is held. The reference of what is shown as it is read.
 */
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { ContextSentDocument } from "../../protocol/documents/prompt.ts";
import { toJson } from "../../protocol/json.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { contextOf } from "../../services/views/context-sent.ts";
import { viewingByFold } from "../../services/views/folded.ts";
import { createInspecting } from "../../services/views/inspected.ts";
import { lastRequest, replyTo } from "../../services/views/prompt.ts";
import type { ViewOptions } from "../../services/views/view.ts";

/** In pieces. Throws LEDGER_BROKEN; with the application VERSION_UNSERVED and FOLD_DIVERGED, too. */
export function* inspectedOf(
  turns: readonly Turn[],
  viewing: ViewOptions,
  app: App | undefined,
): Generator<undefined, InspectDocument> {
  const state = app === undefined ? undefined : (yield* viewingByFold(app, turns)).state;
  const inspecting = createInspecting();
  for (const turn of turns) {
    inspecting.take(turn);
    yield;
  }
  const contextSent = app === undefined ? undefined : yield* contextSentOf(app, turns);
  const sent = contextSent === undefined ? {} : { contextSent };
  if (state === undefined) return { ...inspecting.document(viewing), ...sent };
  return {
    ...inspecting.document({ ...viewing, state }),
    ...(state.memory === undefined ? {} : { memory: state.memory }),
    machine: { value: toJson(state.snapshot.value), context: toJson(state.snapshot.context) },
    ...sent,
  };
}

function* contextSentOf(
  app: App,
  turns: readonly Turn[],
): Generator<undefined, ContextSentDocument | undefined> {
  const found = yield* lastRequest(app, turns, turns.at(-1)?.turn ?? 0);
  return found && contextOf(found, replyTo(found.intent.id, turns));
}

/** These turns of a saga as a document; `of` so many where they are not all. */
export function* describedUpTo(
  turns: readonly Turn[],
  of: number | undefined,
  viewing: ViewOptions,
  app: App | undefined,
): Generator<undefined, InspectDocument> {
  const last = turns.at(-1);
  const asOf = of === undefined || last === undefined ? {} : { asOf: { turn: last.turn, at: last.at, of } };
  return { ...(yield* inspectedOf(turns, viewing, app)), ...asOf };
}
