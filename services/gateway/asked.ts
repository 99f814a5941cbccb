/**
 * Asked: what a link asks for, as the ledger has it now, and how an answer to it is taken.
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { ClientDeps } from "../client/send.ts";
import { type Registered, readRegistry, viewingBy } from "../client/registry.ts";
import { readLedger, type SagaView, viewInPieces } from "../views/view.ts";
import type { Given } from "./reading.ts";
import { inPieces } from "../wire/loop.ts";

/** `already`: this very answer is on the ledger; nothing was stored now. */
export type Taken = "stored" | "already";

export interface Asked {
  /** For a person who opens the link. */
  readonly title: string;
  readonly details: readonly string[];
  /** JSON Schema of the answer, where there is one to give and it is known. */
  readonly schema: Json | undefined;
  /** Whether the answer is the link's own and a body would say nothing. */
  readonly isFixed: boolean;
  /** Why no other answer than the recorded one is taken any more. */
  readonly over: MeshError | undefined;
  /** Takes an answer. Throws ANSWER_TAKEN and what the other doors of its kind throw; then it was not taken. */
  take(given: Given): Promise<Taken>;
}

/** What the gateway reads of a saga before it judges an answer. Throws SAGA_UNKNOWN, SAGA_ARCHIVED. */
export interface Read {
  readonly turns: readonly Turn[];
  readonly view: SagaView;
  readonly registered: Registered;
}

export async function readAsked({ ports }: ClientDeps, saga: SagaId): Promise<Read> {
  const registered = await readRegistry(ports.registry);
  const turns = (await readLedger(ports, saga)).map(({ turn }) => turn);
  const view = await inPieces(ports.loop, viewInPieces(turns, viewingBy(registered)));
  return { turns, registered, view };
}

/** The first reading that passes the check; where none does, what is wrong with the most literal one is thrown. */
export function firstFit(readings: readonly Json[], check: (reading: Json) => void): Json {
  let fault: MeshError | undefined;
  for (const reading of readings)
    try {
      check(reading);
      return reading;
    } catch (error) {
      if (!isMeshError(error, "INPUT_INVALID")) throw error;
      fault ??= error;
    }
  throw fault ?? new MeshError("INTERNAL", "a body is read in one way at least");
}

export const taken = (detail: string): MeshError => new MeshError("ANSWER_TAKEN", detail);
