/**
 * Why, hosts: which incarnation wrote what, and where one went on in another's place.
 *
 * A host that is killed leaves no record but its silence. So a change of incarnation is told as what it is, whatever
 * its cause: a crash, a deploy or a hand-over look the same in a ledger.
 */
import type { EventOf } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { StepPlace } from "../../ledger/account.ts";
import { eventRef, nameOf, tell, type Telling, type Told } from "./telling.ts";
import { counted, lasting, listed } from "./words.ts";

/** What is told of turns by who wrote them. */
type Written = Pick<Turn, "turn" | "at" | "host">;

/** At the first turn of an incarnation that goes on in another's place; `open`: what was open before it. */
export function tellChange(
  t: Telling,
  turn: Turn,
  before: Written | undefined,
  open: readonly IntentId[],
): Told[] {
  if (before === undefined || before.host === turn.host) return [];
  if (turn.steps[0]?.event.type === "forked") return []; // Another saga goes on, which is told by itself.
  const waiting = open.length === 0 ? "" : ` Still open: ${listed(open.map((id) => nameOf(t, id)))}.`;
  const gap = lasting(turn.at - before.at);
  return [
    tell(
      turn,
      "host",
      `Another host went on: ${turn.host}, ${gap} after the last turn of ${before.host}. The ledger does not say why that one wrote no more.${waiting}`,
      [],
    ),
  ];
}

export function tellAdopted(at: StepPlace, { anew }: EventOf<"adopted">): Told {
  const lost =
    anew === undefined
      ? ""
      : " Nothing that had been begun before was in its hands, so what a call that had been begun has cost may never be told.";
  return tell(at, "recovery", `${at.host} proved that it owns the saga before it acted.${lost}`, [
    eventRef(at),
  ]);
}

/** Turns in a row by one incarnation. */
export interface Run {
  readonly host: string;
  readonly from: number;
  to: number;
}

/** For the sum: who wrote which turns. */
export function tellHosts(runs: readonly Run[], last: Written): Told {
  const parts = runs.map(
    ({ host, from, to }) => `${host} (${from === to ? `turn ${from}` : `turns ${from} to ${to}`})`,
  );
  const changes = runs.length - 1;
  const text =
    changes === 0
      ? `One host wrote it: ${runs[0]?.host ?? ""}.`
      : `The host changed ${changes === 1 ? "once" : counted(changes, "time")}: ${listed(parts)}. Each change may have been a crash, a deploy or a hand-over.`;
  return tell(last, "host", text, []);
}
