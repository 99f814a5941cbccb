/**
 * Verify fold: whether today's code decides what a ledger recorded (VF4, VF6 of verify.ts), as its turns are read.
 *
 * QG1 What the first definition decided is folded as the ledger is read. Whether it was moved to another one shows on the way, and
 *     what that one decided is folded over all turns before it: for each move the ledger is read once more.
 */
import type { SagaState } from "../../actors/contract/state.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { Growing } from "../../actors/kernel/folding.ts";
import { definitionOf, foldTurn } from "../../actors/kernel/replay.ts";
import type { VerifyDocument } from "../../protocol/documents/verify.ts";
import { describeError, isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { type Segment, servedBy } from "./segments.ts";

type Finding = VerifyDocument["findings"][number];

/** What folding a ledger has shown. */
export interface Folded {
  readonly findings: readonly Finding[];
  /** All of it was folded, or as far as its first finding. */
  readonly folded: boolean;
  /** Decided by definitions that are not at hand. */
  readonly unproven: readonly Segment[];
  /** Why it was not folded. */
  readonly unfolded?: string;
}

/** What was not folded, for nobody asked for it. */
export const notFolded: Folded = { findings: [], folded: false, unproven: [] };

export interface LedgerFold {
  /** Takes the next turn that is whole. */
  take(turn: Turn): void;
  /**
   * After the last one, of so many turns, whole or not. `again` reads the turns once more, from the first, as far as they were
   * taken (QG1). Throws VERSION_UNSERVED where the last definition is not at hand.
   */
  end(turns: number, again: () => AsyncIterable<readonly Turn[]>): Promise<Folded>;
}

/** A fold by an application's definitions. `whereServed`: a saga that it does not serve is not folded, in place of the throw. */
export function ledgerFold(app: App, saga: SagaId, whereServed: boolean): LedgerFold {
  const segments: { definition: Segment["definition"]; from: number; to: number }[] = [];
  let first: SegmentFold | undefined;
  let taken = 0;
  return {
    take: (turn) => {
      const moves = turn.steps.flatMap(({ event }) => (event.type === "migrated" ? [event.to] : []));
      if (taken === 0) {
        const segment = { definition: definitionOf(turn), from: turn.turn, to: turn.turn };
        segments.push(segment);
        const definition = app.definition(segment.definition);
        first = definition && segmentFold(definition, segment.from);
      }
      for (const definition of moves) segments.push({ definition, from: turn.turn, to: turn.turn });
      segments.at(-1)!.to = turn.turn;
      taken += 1;
      if (segments.length === 1) first?.take(turn);
    },
    end: async (turns, again) => {
      if (taken === 0) return notFolded;
      const findings: Finding[] = [];
      const unproven: Segment[] = [];
      try {
        for (const [index, segment] of segments.entries()) {
          const isLast = index === segments.length - 1;
          const definition = isLast ? servedBy(app, { saga }, segment) : app.definition(segment.definition);
          if (definition === undefined) unproven.push(segment);
          else for (const one of await findingsOf(definition, segment, index, again)) findings.push(one);
        }
      } catch (error) {
        if (!whereServed || !isMeshError(error, "VERSION_UNSERVED")) throw error;
        return { findings, unproven, folded: false, unfolded: wordsOf(error) };
      }
      return { findings, unproven, folded: taken === turns || findings.length > 0 };
    },
  };

  async function findingsOf(
    definition: Definition,
    segment: Segment,
    index: number,
    again: () => AsyncIterable<readonly Turn[]>,
  ): Promise<readonly Finding[]> {
    if (index === 0 && first !== undefined) return first.findings;
    const fold = segmentFold(definition, segment.from);
    for await (const page of again())
      for (const turn of page) {
        if (turn.turn > segment.to) return fold.findings;
        fold.take(turn);
      }
    return fold.findings;
  }
}

interface SegmentFold {
  take(turn: Turn): void;
  /** One at most: after it nothing is folded. */
  readonly findings: readonly Finding[];
}

/** A fold over all turns, of which those from `from` on are the definition's own. */
function segmentFold(definition: Definition, from: number): SegmentFold {
  const growing: Growing = new WeakSet(); // No state between two turns is kept.
  const findings: Finding[] = [];
  let state: SagaState | undefined;
  return {
    findings,
    take: (turn) => {
      if (findings.length > 0) return;
      try {
        ({ state } = foldTurn(
          definition,
          state,
          turn,
          turn.turn < from ? "but for requests" : "strict",
          growing,
        ));
      } catch (error) {
        const code = isMeshError(error) ? error.code : "INTERNAL";
        findings.push({ turn: turn.turn, code, what: wordsOf(error) });
      }
    },
  };
}

/** What is wrong, without its code. */
export const wordsOf = (error: unknown): string => describeError(error).replace(/^\[\w+\] /, "");
