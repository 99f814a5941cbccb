/**
 * Fold: what it costs to fold a saga of n steps from its first turn, where its snapshot is gone.
 *
 * Method: `idempotent` calls one after the other, each of which stands for good. The ledger is decided first; then it is read
 * from its bytes and folded from nothing, in this process: no host, no server. `cpu` is the processor time of this
 * process, its collector of garbage included; `longest` is the longest turn, in processor time of the thread.
 */
import { foldingLedger } from "../../actors/kernel/replay.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import { toStored, Turn } from "../../protocol/turn.ts";
import { longLedger } from "../support/long-ledger.ts";
import { type Report, rounded } from "./figures.ts";
import { noopSaga } from "./noop-saga.ts";

const saga = parseSagaId("long");
const { definition } = noopSaga("host");

/** A ledger of so many steps, as it is stored. */
const ledgerOf = (steps: number): string[] =>
  longLedger(definition, saga, { steps, stays: true }, steps).map((turn) =>
    JSON.stringify(toJson(toStored(turn))),
  );

/** Processor time of this thread, milliseconds: other processes of the machine do not add to it. */
const workedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

export function measureFolds(sizes: readonly number[]): Promise<Report> {
  const rows = sizes.map((steps) => {
    const stored = ledgerOf(steps);
    const before = process.cpuUsage();
    const turns = stored.map((text) => Turn.parse(JSON.parse(text)));
    const read = process.cpuUsage(before);
    const fold = foldingLedger(definition, turns);
    let longest = 0;
    for (let isDone = false; !isDone;) {
      const began = workedMs();
      isDone = fold.next().done === true;
      longest = Math.max(longest, workedMs() - began);
    }
    const cpu = process.cpuUsage(before);
    return {
      turns: stored.length,
      "read, cpu s": rounded((read.user + read.system) / 1e6),
      "read and fold, cpu s": rounded((cpu.user + cpu.system) / 1e6),
      "µs a turn": Math.round((cpu.user + cpu.system) / stored.length),
      "longest, ms": rounded(longest),
    };
  });
  return Promise.resolve({
    title: "Folding a saga of `idempotent` steps from its first turn",
    rows,
    notes: ["Goal: 50,000 turns in 3 s, and no turn longer than 50 ms."],
  });
}
