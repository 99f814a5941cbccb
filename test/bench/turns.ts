/**
 * Turns: how long one turn takes by what it opens and closes.
 *
 * Method: nothing but `decideTurn`, in this process: no host, no ledger, no encoding. Each story is told anew with n of
 * everything; each of its turns is timed by itself, and the least of the rounds is shown, which is what the machine can
 * do when nothing else runs on it. A turn that is linear in n costs ten times as much for ten times as many.
 *
 * It does not measure: writing the turn, which is linear in its bytes; turns of 64 events, which a host makes of
 * thousands that wait.
 */
import {
  type Decider,
  decider,
  manyAgent,
  manyInvokes,
  manyRegions,
  manySignals,
  manySpawns,
  manyTimers,
  replyOf,
  signal,
  success,
} from "../support/many.ts";
import { type Report, rounded } from "./figures.ts";

type Timed = (what: string, turn: () => void) => void;

const ask = (saga: Decider) => saga.open("model")[0]!;

/** Turns by what they do, each story on a saga of its own. */
const stories: Readonly<Record<string, (n: number, timed: Timed) => void>> = {
  agent(n, timed) {
    const saga = decider(manyAgent());
    saga.start();
    timed("a reply with n calls", () => saga.turn(success(ask(saga), replyOf(n))));
    timed("their n results", () => saga.turn(...saga.open("tool").map((id) => success(id))));
    timed("cancel: n undoings", () => saga.turn(signal("cancel", "c", { reason: "" })));
    timed("their n results, undone", () => saga.turn(...saga.open("tool").map((id) => success(id, {}))));
  },
  invokes(n, timed) {
    const saga = decider(manyInvokes(n));
    timed("a start that invokes n", () => saga.start());
    timed("n results for one state", () => saga.turn(...saga.open("tool").map((id) => success(id))));
    timed("a state left with n actors", () => saga.turn(signal("go", "g")));
  },
  regions(n, timed) {
    if (n > 200) return; // XState alone takes the cube of it.
    const saga = decider(manyRegions(n));
    timed("a start with n regions", () => saga.start());
    timed("64 results for n regions", () =>
      saga.turn(
        ...saga
          .open("tool")
          .slice(0, 64)
          .map((id) => success(id)),
      ),
    );
  },
  spawns(n, timed) {
    const saga = decider(manySpawns(n));
    timed("a start that spawns n", () => saga.start());
  },
  timers(n, timed) {
    const saga = decider(manyTimers(n));
    timed("a start with n timers", () => saga.start());
    const other = decider(manyTimers(n));
    other.start();
    timed("n timers that fire", () =>
      saga.turn(...saga.open("timer").map((intent) => ({ type: "timer" as const, intent }))),
    );
    timed("a state left with n timers", () => other.turn(signal("go", "g")));
  },
  signals(n, timed) {
    const saga = decider(manySignals());
    saga.start();
    const many = (name: string) => Array.from({ length: n }, (_, k) => signal(name, `${name}${k}`));
    timed("n signals", () => saga.turn(...many("note")));
    timed("n signals that come early", () => saga.turn(...many("early")));
    timed("n kept signals taken", () => saga.turn(signal("go", "g")));
  },
};

export function measureTurns(sizes: readonly number[], rounds = 3): Promise<Report> {
  const rows = new Map<string, Record<string, string | number>>();
  for (const story of Object.values(stories))
    for (const n of sizes) {
      const least = new Map<string, number>();
      for (let round = 0; round < rounds; round++) {
        let spent = 0;
        story(n, (what, turn) => {
          const began = performance.now();
          turn();
          const ms = performance.now() - began;
          spent += ms;
          least.set(what, Math.min(least.get(what) ?? Infinity, ms));
        });
        if (spent > 5_000) break;
      }
      for (const [what, ms] of least)
        rows.set(what, { ...(rows.get(what) ?? { turn: what }), [`${n}`]: rounded(ms) });
    }
  return Promise.resolve({
    title: "Milliseconds to decide one turn, by n",
    rows: [...rows.values()],
    notes: ["The least of the rounds. Nothing but the decision: no host, no ledger."],
  });
}
