/**
 * Tell sagas: what one saga tells another: a child to start, a signal, an end to the parent. Each has a Msg-Id that
 * is made of the intent, so that what is told again is the same message.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { undoKeyOf } from "../../actors/kernel/address.ts";
import { noSpending, spendingOf } from "../../actors/kernel/spending.ts";
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import { isUndoable, type UndoneChild, undoOrder } from "../../actors/kernel/undo-child.ts";
import type { TreePlace } from "../../protocol/budget.ts";
import type { MeshError } from "../../protocol/errors.ts";
import type { ParentRef, StartMessage } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { ResultMessage } from "../../protocol/result.ts";
import { askedFor } from "../../protocol/start.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import { makeHeaders } from "../wire/messages.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { publishSagaSignal } from "../wire/saga-signal.ts";
import { send } from "../wire/send.ts";
import { storeStart, type Storing } from "../wire/start.ts";

/** What it takes to hand an intent on. */
export interface DispatchDeps {
  readonly ports: Pick<Ports, "inbox" | "work" | "blobs">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What is sent may have been sent before, and be gone: the server is not to know it for that (again.ts, AJ1). */
  readonly again?: string;
}

/** When the present attempt of what is told was decided, where the message follows from a decision of its teller. */
type Decided = Pick<OpenIntent, "decidedAt">;

/**
 * A Msg-Id: the same for the same decision, whoever hands it on and how often, but for what is sent once more on purpose. An
 * intent's id alone is not enough: what is decided anew under it, from an older copy of the ledger, is another message,
 * which the server would take for the one that it has had.
 */
export const msgIdOf = (deps: Pick<DispatchDeps, "again">, id: string, decided: Decided): string =>
  [id, ...marksOf(deps, decided)].join(":");

const marksOf = ({ again }: Pick<DispatchDeps, "again">, { decidedAt }: Decided): readonly string[] => [
  ...(decidedAt === undefined ? [] : [String(decidedAt)]),
  ...(again === undefined ? [] : [`again-${again}`]),
];

/** Whose message it is: what every message of a saga carries in its headers. */
export interface Sender {
  readonly saga: SagaId;
  readonly agent: string;
}

/** What a child is, and where it lies: in the tree of its sagas, and in their trace. */
export interface ChildPlace {
  readonly child: Definition;
  readonly tree: TreePlace;
  readonly traceparent: string;
}

/**
 * A child's start. Its id is a hash of the intent: published again, it is the same child. Where another start of that id
 * stands in the inbox, the parent is told at once.
 */
export async function publishStart(
  deps: DispatchDeps,
  from: Sender,
  open: OpenIntent,
  intent: IntentOf<"saga">,
  { child, tree, traceparent }: ChildPlace,
): Promise<void> {
  const body: StartMessage = {
    name: child.name,
    version: child.version,
    // A child that no policies are bound to is whatever its name and version are where it is started.
    ...(child.plain === undefined ? {} : { hash: child.hash }),
    input: open.input,
    parent: { saga: from.saga, intent: intent.id },
    tree,
  };
  const as = askedFor(body);
  let stored: Storing | undefined;
  await send(deps, body, async (data, contentType) => {
    const fields = makeHeaders({
      [headers.saga]: intent.saga,
      [headers.agent]: child.name,
      [headers.from]: from.saga,
      [headers.trace]: traceparent,
      [headers.contentType]: contentType,
    });
    const msgId = msgIdOf(deps, `${intent.saga}:start:${from.saga}:${intent.id}`, open);
    stored = await storeStart(deps.ports, { saga: intent.saga, as, data, headers: fields, msgId });
  });
  if (stored === "taken") await publishTaken(deps, intent.saga, { saga: from.saga, intent: intent.id }, open);
}

/** A signal to another saga. */
export function publishSignal(
  deps: DispatchDeps,
  from: Sender,
  open: OpenIntent,
  intent: IntentOf<"signal">,
): Promise<void> {
  // A model's reply holds what the model sends (IN2 of intent.ts), and the open intent has it from there.
  const body = intent.call === undefined ? (intent.data ?? null) : open.input;
  return publishSagaSignal(deps, from.saga, intent, body, marksOf(deps, open));
}

/** A child that ended well is to undo what it did; its next end is the result of this intent. */
export function publishUndo(
  deps: DispatchDeps,
  from: Sender,
  open: OpenIntent,
  intent: IntentOf<"saga">,
): Promise<void> {
  const data = undoOrder(from.saga, intent.id);
  return publishSagaSignal(deps, from.saga, { ...intent, name: "cancel" }, data, marksOf(deps, open));
}

/** A child's end, as the result of its parent's intent: the one that started it, or that asked it to undo. */
export function publishEnd(
  deps: DispatchDeps,
  from: Sender,
  state: SagaState,
  intent: IntentOf<"end">,
  decided: Decided = {},
): Promise<void> {
  const { status, output, reason } = intent;
  const parent = state.tells ?? state.parent;
  if (parent === undefined) return Promise.resolve();
  if (state.tells !== undefined) {
    const undone: UndoneChild = { standing: intent.standing };
    const told = { attempt: 1, by: from.saga, outcome: "succeeded", output: undone } as const;
    return publishToParent(deps, from.saga, parent, told, { id: intent.id, decided });
  }
  const spent = spendingOf(state);
  const body: ResultMessage =
    status === "completed"
      ? {
          ...{ attempt: 1, by: from.saga, spent, outcome: "succeeded", output: output ?? null },
          ...(isUndoable(state) ? { undoable: true } : {}),
        }
      : {
          attempt: 1,
          by: from.saga,
          spent,
          outcome: "failed",
          code: intent.code ?? "TOOL_FAILED",
          reason: reason ?? status,
          retry: false,
          ...(intent.standing.length === 0 ? {} : { standing: intent.standing }),
        };
  return publishToParent(deps, from.saga, parent, body, { id: intent.id, decided });
}

/** Tells a parent that its child never began. `again` is the start's own sequence: asked for anew, it is refused anew. */
export const publishRefusal = (
  deps: DispatchDeps,
  saga: SagaId,
  parent: ParentRef,
  { code, message }: MeshError,
): Promise<void> =>
  publishToParent(
    deps,
    saga,
    parent,
    { attempt: 1, by: saga, spent: noSpending, outcome: "failed", code, reason: message, retry: false },
    { id: "refused", decided: {} },
  );

/** Tells a parent that its child's id is another saga's; by who refuses the start, `again` as above. */
export function publishTaken(
  deps: DispatchDeps,
  saga: SagaId,
  parent: ParentRef,
  decided: Decided = {},
): Promise<void> {
  const reason = `saga ${saga} exists and was started by another`;
  const body: ResultMessage = {
    attempt: 1,
    by: saga,
    spent: noSpending,
    outcome: "failed",
    code: "SAGA_ID_TAKEN",
    reason,
    retry: false,
  };
  return publishToParent(deps, saga, parent, body, { id: "taken", decided });
}

function publishToParent(
  deps: DispatchDeps,
  from: SagaId,
  parent: ParentRef,
  body: ResultMessage,
  { id, decided }: { readonly id: string; readonly decided: Decided },
): Promise<void> {
  return send(deps, body, (data, contentType) =>
    deps.ports.inbox.publish({
      subject: subjects.result(parent.saga, parent.intent),
      data,
      headers: makeHeaders({
        [headers.saga]: parent.saga,
        [headers.intent]: parent.intent,
        [headers.key]: body.outcome === "succeeded" && body.spent === undefined ? undoKeyOf(from) : from,
        [headers.event]: `result.${body.outcome}`,
        [headers.from]: from,
        [headers.contentType]: contentType,
      }),
      msgId: msgIdOf(deps, `${parent.saga}:result:${parent.intent}:${from}:${id}`, decided),
    }),
  );
}
