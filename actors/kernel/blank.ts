/**
 * Blank: the state before a saga's first turn.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Definition } from "../contract/definition.ts";
import type { Draft } from "./folding.ts";
import { nothingSpent } from "./spending.ts";

/** Its snapshot comes with the start, before anything reads it. */
export function blank(saga: SagaId, definition: Definition): Draft {
  const memory = definition.kind.memory?.(definition);
  return {
    saga,
    turn: 0,
    definition: { name: definition.name, version: definition.version, hash: definition.hash },
    parent: undefined,
    inputDigest: "",
    startedAt: 0,
    updatedAt: 0,
    phase: { kind: "running" },
    snapshot: undefined as never,
    open: {},
    actors: {},
    effects: [],
    doubts: {},
    unpaid: [],
    plans: [],
    undoneBefore: { turn: 0, k: 0 },
    toldParent: false,
    seen: {},
    seenPacks: [],
    kept: [],
    spent: nothingSpent,
    ...(memory === undefined ? {} : { memory }),
  };
}
