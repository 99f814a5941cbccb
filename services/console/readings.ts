/**
 * Readings: the ledgers of the sagas that are looked at now, with all their turns.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { emptyHead, type Head } from "../ledger/reader.ts";
import { createInspecting, type Inspecting } from "../views/inspected.ts";
import { createGrowing, type GrowingPorts } from "./growing.ts";

/** A ledger as far as it was read. It grows where the ledger does, and never changes otherwise. */
export interface Reading {
  readonly saga: SagaId;
  readonly turns: Turn[];
  readonly inspecting: Inspecting;
  /** Behind the last of them. */
  head: Head;
}

/** Throws as `createGrowing` says. */
export type Readings = (saga: SagaId) => Promise<Reading>;

/** Of messages as they are stored: what is kept of them takes some five times as much. */
const bytesMax = 32 * 1024 * 1024;
const sagasMax = 100;
/** Of what is over, and of effects that stand, a summary tells; the timeline shows the others. */
const remembers = 200;

export const createReadings = (ports: GrowingPorts): Readings =>
  createGrowing<Reading>(ports, {
    begin: (saga) => ({ saga, turns: [], inspecting: createInspecting(remembers), head: emptyHead }),
    take: (reading, { turn, head }) => {
      reading.inspecting.take(turn);
      reading.turns.push(turn);
      reading.head = head;
    },
    ...{ sagasMax, bytesMax },
  });
