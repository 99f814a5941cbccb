/**
 * Changes: what a page is told without asking, so that it is never reloaded: that the list changed, that a saga it shows has
 * another turn, and the words of models as they are said.
 *
 * BQ1 One look serves all pages, and none is taken while nobody looks.
 * BQ2 What a page is told is a hint to ask: it holds nothing that a page must have, so a message that is lost costs nothing
 *     but time, and what is missed is asked for when the page is back.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { followLive, type LiveEvent } from "../client/live.ts";
import type { ClientDeps } from "../client/send.ts";
import type { Log } from "../process/log.ts";
import type { ChangeEvents } from "./documents.ts";
import type { SagaFinder } from "./sagas.ts";

/** Takes what a page is told. */
export type Tell = <K extends keyof ChangeEvents>(name: K, event: ChangeEvents[K]) => void;

export interface Changes {
  /** Tells until the signal: of all sagas, and with `follow` of one, from behind the turn that the page has. */
  tell(tell: Tell, signal: AbortSignal, follow?: { readonly saga: SagaId; readonly afterTurn: number }): void;
}

/** How often it is looked while somebody does. Milliseconds. */
const lookMs = 500;

export function createChanges(deps: ClientDeps, finder: SagaFinder, log: Log): Changes {
  const { ports, clock } = deps;
  const listeners = new Set<Tell>();
  let isLooking = false;
  let end = "";
  let told = 0;

  /** BQ1. */
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    while (listeners.size > 0) {
      try {
        const revision = await finder.refresh();
        const now = (await ports.ledger.end()).join(" ");
        if (revision !== told) for (const tell of listeners) tell("sagas", finder.counts());
        told = revision;
        if (now !== end) for (const tell of listeners) tell("moved", { at: clock.now() });
        end = now;
      } catch (error) {
        log.debug({ err: error }, "console has no answer"); // The next look has; pages see it by their own requests.
      }
      await clock.sleep(lookMs);
    }
    isLooking = false;
  };

  const follow = async (saga: SagaId, afterTurn: number, tell: Tell, signal: AbortSignal): Promise<void> => {
    try {
      for await (const event of followLive(ports, saga, { signal, afterTurn })) tellLive(saga, event, tell);
    } catch (error) {
      if (signal.aborted) return;
      const { code, message } = isMeshError(error)
        ? error
        : new MeshError("INTERNAL", "it is not followed on");
      tell("lost", { code, message });
    }
  };

  return {
    tell: (tell, signal, followed) => {
      if (signal.aborted) return;
      listeners.add(tell);
      signal.addEventListener("abort", () => listeners.delete(tell), { once: true });
      tell("sagas", finder.counts());
      void look();
      if (followed !== undefined) void follow(followed.saga, followed.afterTurn, tell, signal);
    },
  };
}

function tellLive(saga: SagaId, event: LiveEvent, tell: Tell): void {
  switch (event.type) {
    case "turn":
      return tell("turn", { saga, turn: event.turn.turn });
    case "token":
      return tell("words", { intent: event.intent, kind: event.kind, piece: event.piece });
    case "missed":
      return tell("words", { intent: event.intent, kind: "text", piece: " … " });
    case "retracted":
    case "settled":
      return tell("unsaid", { intent: event.intent });
    case "progress":
      return tell("progress", { intent: event.intent, note: event.note });
  }
}
