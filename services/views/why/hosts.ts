/**
 * Why, hosts: which incarnation wrote what, and where one went on in another's place.
 *
 * A host that is killed leaves no record but its silence. So a change of incarnation is told as what it is, whatever
 * its cause: a crash, a deploy or a hand-over look the same in a ledger.
 */
import type { EventOf } from "../../../protocol/event.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { StepPlace } from "../../ledger/account.ts";
import { eventRef, nameOf, tell, type Telling, type Told } from "./telling.ts";
import { counted, lasting, listed } from "./words.ts";

/** At the first turn of an incarnation that goes on in another's place. */
export function tellChange(t: Telling, turn: Turn, before: Turn | undefined): Told[] {
  if (before === undefined || before.host === turn.host) return [];
  if (turn.steps[0]?.event.type === "forked") return []; // Another saga goes on, which is told by itself.
  const open = openAt(t, turn.turn).map((id) => nameOf(t, id));
  const waiting = open.length === 0 ? "" : ` Still open: ${listed(open)}.`;
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

/** What had been decided before a turn and was not settled before it. */
function openAt({ view }: Telling, turn: number) {
  return view.intents
    .filter(
      ({ intent, turn: decided, outcome, settledTurn }) =>
        intent.kind !== "end" &&
        decided < turn &&
        (settledTurn === undefined ? outcome === undefined : settledTurn >= turn),
    )
    .map(({ intent }) => intent.id);
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

/** For the sum: who wrote which turns. */
export function tellHosts(turns: readonly Turn[]): Told[] {
  const last = turns.at(-1);
  if (last === undefined) return [];
  const runs: { host: string; from: number; to: number }[] = [];
  for (const { host, turn } of turns) {
    const run = runs.at(-1);
    if (run?.host === host) run.to = turn;
    else runs.push({ host, from: turn, to: turn });
  }
  const parts = runs.map(
    ({ host, from, to }) => `${host} (${from === to ? `turn ${from}` : `turns ${from} to ${to}`})`,
  );
  const changes = runs.length - 1;
  const text =
    changes === 0
      ? `One host wrote it: ${runs[0]?.host ?? ""}.`
      : `The host changed ${changes === 1 ? "once" : counted(changes, "time")}: ${listed(parts)}. Each change may have been a crash, a deploy or a hand-over.`;
  return [tell(last, "host", text, [])];
}
