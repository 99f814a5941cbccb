/**
 * Watch: a saga's turns as they come, and what is said between them, to its end.
 */
import type { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { ArchivedEnd } from "../../../protocol/tombstone.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { endIn } from "../../client/follow-turns.ts";
import { endDocument } from "../../views/inspected.ts";
import { followLive, type LiveEvent } from "../../client/live.ts";
import { refusalOfStart } from "../../client/refusal.ts";
import { storedText, waitingOf } from "../../client/unserved.ts";
import { readLedger } from "../../views/view.ts";
import { findTombstone } from "../../ledger/reader.ts";
import type { Ports } from "../../wire/ports.ts";
import { systemClock } from "../../runtime/system.ts";
import type { CommandContext } from "../frame/context.ts";
import { describeTurn, describeEnd } from "./describe.ts";
import type { SagaSource } from "../frame/saga-source.ts";

/** While nothing happens, a line says so this often, and the dead letters are looked through. */
const quietMs = 5_000;

/**
 * Shows each turn and, at last, the end on stdout. Resolves to the exit code: 0 only if the saga completed.
 * Throws the reason if the start itself was refused.
 */
export async function watchToEnd(
  { output, signal }: CommandContext,
  ports: Ports,
  saga: SagaId,
  show: {
    turn: (lines: string[], turn: Turn) => void | Promise<void>;
    /** What is said between turns; not told unless given. */
    between?: (event: Exclude<LiveEvent, { type: "turn" }>) => void;
  },
): Promise<number> {
  const own = new AbortController();
  const watching = AbortSignal.any([signal, own.signal]);
  let turns = 0;
  let refused: MeshError | undefined;
  let end: ArchivedEnd | undefined;
  let told = "";
  const tellUnserved = async () => {
    const waiting = end === undefined ? await waitingOf({ ports, clock: systemClock }, saga) : {};
    const line = Object.keys(waiting).length === 0 ? "" : storedText(`  ${saga} waits`, waiting);
    if (line !== told && line !== "") output.note(line);
    told = line;
  };
  const quiet = whileQuiet(watching, async (seconds) => {
    if (turns > 0) return tellUnserved();
    refused = await refusalOfStart(ports, saga);
    if (refused !== undefined) return own.abort();
    const isStored = (await ports.inbox.standingStart(saga)) !== undefined;
    output.note(
      isStored
        ? `  no host has taken the start of ${saga} yet: ${seconds} s. Is one running? \`sagamesh doctor\` tells.`
        : `  ${saga} has not begun: ${seconds} s`,
    );
  });
  try {
    const tombstone = await findTombstone(ports, saga);
    if (tombstone !== undefined) {
      output.note(`${saga} was archived to ${tombstone.file}; its turns are there`);
      end = tombstone.end;
    }
    await tellUnserved();
    for await (const event of end === undefined ? followLive(ports, saga, { signal: watching }) : []) {
      if (event.type !== "turn") {
        show.between?.(event);
        continue;
      }
      turns += 1;
      await show.turn(describeTurn(event.turn), event.turn);
      end = endIn(event.turn) ?? end;
    }
  } finally {
    own.abort();
    await quiet;
  }
  if (refused !== undefined) throw refused;
  if (end === undefined) return 1; // Asked to end before the saga did.
  const document = endDocument(saga, end);
  output.print(document, () => `${saga} ${describeEnd(document)}`);
  return end.status === "completed" ? 0 : 1;
}

/** Shows the turns of a saga that is in a file, and how it stands at the last of them. The exit code is that of `tail`. */
export async function showTurns({ output }: CommandContext, { saga, source }: SagaSource): Promise<number> {
  let end: ArchivedEnd | undefined;
  let last = 0;
  for (const { turn } of await readLedger(source, saga)) {
    output.print(turn, () => describeTurn(turn).join("\n"));
    end = endIn(turn) ?? end;
    last = turn.turn;
  }
  if (end === undefined) output.note(`${saga} was running still at turn ${last}, the last one here`);
  if (end === undefined) return 0;
  const document = endDocument(saga, end);
  output.print(document, () => `${saga} ${describeEnd(document)}`);
  return end.status === "completed" ? 0 : 1;
}

async function whileQuiet(signal: AbortSignal, look: (seconds: number) => Promise<void>): Promise<void> {
  const from = systemClock.elapsed();
  while (!signal.aborted) {
    await systemClock.sleep(quietMs, signal).catch(() => undefined); // Aborted: the loop ends.
    if (!signal.aborted) await look(Math.round((systemClock.elapsed() - from) / 1000)).catch(() => undefined); // Told again in a moment.
  }
}
