/**
 * Run undo: one saga is undone in this process, beside its hosts or without any (services/host/undo-alone.ts).
 *
 * UD1 What its hosts can do is left to them: a saga that a living host serves, and of which nothing was set aside, is undone
 *     here only if that is forced. Forced or not, the ledger's compare-and-set tells whose it is.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { UndoDocument, UndoStep } from "../../protocol/documents/undo.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { isUndoing } from "../../protocol/intent.ts";
import { parseInboxSubject } from "../../protocol/subjects.ts";
import type { App } from "../app/app.ts";
import { readLetters } from "../client/dead.ts";
import { unservedNow } from "../client/unserved.ts";
import { type Alone, openAlone } from "../host/undo-alone.ts";
import type { ForeseenUndo } from "../host/undo-foreseen.ts";
import { silentLog } from "../process/log.ts";
import { readView, type SagaView } from "../views/view.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import type { Config } from "./config.ts";
import { checkSignature, signerFor } from "./signing.ts";
import { newIncarnation } from "./system.ts";

/** What an undoing is told. */
export interface UndoOptions {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly config: Pick<Config, "callbackBase" | "hostNkey">;
  /** Also of what its hosts could undo. */
  readonly force: boolean;
  /** Undefined: only say what would be done. */
  readonly reason: string | undefined;
  /** What was undone, as it happens. */
  readonly told: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Says what would be undone, or undoes it. After a crash or the signal in the middle, again: what was recorded is not done
 * twice, and what had begun goes on under its key. Throws SAGA_UNKNOWN, SAGA_ENDED, SAGA_ARCHIVED, SAGA_SERVED (UD1),
 * VERSION_UNSERVED if the application lacks its definition, LEDGER_BROKEN, UNAVAILABLE.
 */
export async function runUndo(options: UndoOptions, app: App, saga: SagaId): Promise<UndoDocument> {
  const { ports, clock, chance, config, reason, told, signal } = options;
  const view = await readView(ports, saga);
  if (view.phase === "ended") throw new MeshError("SAGA_ENDED", `${saga} has ended: ${view.status}`);
  const alone = await openAlone(
    {
      ...{ ports, clock, chance, checkSignature, log: silentLog, callbackBase: config.callbackBase },
      signer: signerFor(ports, config, reason === undefined),
      incarnation: newIncarnation("undo"),
    },
    app,
    saga,
  );
  const because = await reasonFor(options, view, alone);
  if (reason === undefined) return foreseen(app, view, because, await alone.foresee());
  const toolOf = new Map(view.intents.map(({ intent }) => [intent.id, nameOf(intent)]));
  const end = await alone.undo(
    reason,
    ({ undoes, by, name, outcome }) =>
      told(`${name} ${by} for ${toolOf.get(undoes) ?? "an effect"} ${undoes}: ${outcome}`),
    signal,
  );
  if (end === "taken") told(`a host has taken ${saga} up and goes on with it`);
  return carriedOut(await readView(ports, saga), because);
}

/** Throws SAGA_SERVED. */
async function reasonFor(
  options: UndoOptions,
  { saga, definition }: SagaView,
  { hasBegun }: Alone,
): Promise<UndoDocument["because"]> {
  const { ports, clock, force } = options;
  if (hasBegun) return "begun";
  if ((await unservedNow(ports.membership, definition)) !== undefined) return "unserved";
  const letters = await readLetters({ ports, clock, chance: options.chance });
  if (
    letters.some(
      ({ code, subject, source }) => code === "POISON" && source === "inbox" && isOf(saga, subject),
    )
  )
    return "set_aside";
  if (force) return "forced";
  throw new MeshError("SAGA_SERVED", `a living host serves ${saga}, and nothing of it was set aside`);
}

function isOf(saga: SagaId, subject: string): boolean {
  try {
    return parseInboxSubject(subject).saga === saga;
  } catch {
    return false; // Not an input's.
  }
}

const nameOf = (intent: SagaView["intents"][number]["intent"]): string =>
  "name" in intent ? intent.name : intent.kind;

const nameIn = ({ intents }: SagaView, id: IntentId): string => {
  const found = intents.find(({ intent }) => intent.id === id);
  return found === undefined ? "" : nameOf(found.intent);
};

function foreseen(
  app: App,
  view: SagaView,
  because: UndoDocument["because"],
  all: readonly ForeseenUndo[],
): UndoDocument {
  const steps = all.map(({ round, undoes, name, contract, input }): UndoStep => {
    const performer = contract === undefined ? "saga" : app.bodies.has(contract) ? "here" : "worker";
    return { undoes, effect: nameIn(view, undoes), compensation: name, round, input, performer };
  });
  const undone = new Set(steps.map(({ undoes }) => undoes));
  return {
    ...{ saga: view.saga, did: "would", status: view.status, because, steps, open: [] },
    standing: view.effects.filter(({ intent }) => !undone.has(intent)),
  };
}

function carriedOut(view: SagaView, because: UndoDocument["because"]): UndoDocument {
  const steps = view.intents.flatMap(({ intent, outcome }): UndoStep[] => {
    if (!isUndoing(intent) || outcome !== "succeeded") return [];
    const { id, undoes, name } = intent;
    return [{ undoes, effect: nameIn(view, undoes), compensation: name, intent: id }];
  });
  const open = view.open.map(({ intent }) => ({
    intent: intent.id,
    kind: intent.kind,
    what: nameOf(intent),
  }));
  const did = view.phase === "ended" ? "undone" : "waits";
  return { saga: view.saga, did, status: view.status, because, steps, standing: [...view.effects], open };
}
