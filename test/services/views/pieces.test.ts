/**
 * Goal: whoever reads, verifies, folds, tells or shows a long ledger gives way between its turns: no piece grows with the ledger.
 *
 * Method: a loop that counts what was done since it was last asked: turns decoded, signals folded. Nothing is timed.
 */
import { describe, expect, test } from "vitest";
import { foldUnder } from "../../../actors/kernel/migrate.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { describedUpTo } from "../../support/inspected-of.ts";
import { bareStateOf } from "../../../services/ledger/bare-state.ts";
import { everyDecision } from "../../support/every-decision.ts";
import { servedDefinition } from "../../../services/views/folded.ts";
import { graphOf } from "../../../services/views/graph/graph.ts";
import { stateOf } from "../../support/state-of.ts";
import { whyOf } from "../../support/why-of.ts";
import { inPieces } from "../../../services/wire/loop.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import { readLedger, readView } from "../../../services/views/view.ts";
import type { LedgerSource } from "../../../services/ledger/reader.ts";
import { loadWhole } from "../../../services/host/load.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { tickingApp, tickingLedger, tickingSaga } from "../../support/ticking.ts";

/** The ledger's source, and the most that was done between two looks at the loop. */
function watched(turns: number) {
  let since = 0;
  let most = 0;
  let asked = 0;
  const work = () => void (most = Math.max(most, ++since));
  const messages = tickingLedger(turns).map(({ data, ...message }) => ({
    ...message,
    get data() {
      work();
      return data;
    },
  }));
  const source: LedgerSource = {
    ledger: { last: async () => messages.at(-1), read: async () => messages },
    blobs: { get: async () => Promise.reject(new Error("no blobs here")) },
    loop: {
      breathe: () => {
        asked += 1;
        since = 0;
        return undefined;
      },
    },
  };
  return { source, turns, app: tickingApp(work).app, most: () => most, asked: () => asked };
}

/** What is made of a ledger that was read before. */
const described =
  (of: (given: ReturnType<typeof watched>, turns: readonly Turn[]) => Generator<unknown, unknown>) =>
  async (given: ReturnType<typeof watched>) => {
    const turns = (await readLedger(given.source, tickingSaga)).map(({ turn }) => turn);
    return inPieces(given.source.loop, of(given, turns));
  };

const reading: Record<string, (given: ReturnType<typeof watched>) => Promise<unknown>> = {
  "reads it": ({ source }) => readLedger(source, tickingSaga),
  "views it": ({ source }) => readView(source, tickingSaga),
  "shows it": described(({ app }, turns) => describedUpTo(turns, undefined, {}, app)),
  "tells why": described(({ app }, turns) => whyOf(turns, { app })),
  "draws its graph": described((_given, turns) => graphOf(turns)),
  "shows its state": described(({ app }, turns) => stateOf(app, turns, "application")),
  "looks for its decisions": described(({ app }, turns) => everyDecision(app, turns)),
  "judges it under another definition": described(({ app }, turns) =>
    foldUnder(servedDefinition(app, turns), turns),
  ),
  "knows it without its machine": described(({ app }, turns) =>
    bareStateOf(servedDefinition(app, turns), turns),
  ),
  "verifies it": ({ source, app }) => verifyLedger(source, tickingSaga, app),
  "loads it": ({ source, app, turns }) => {
    const { ports, clock } = createMemoryMesh({ seed: 1 }).spawn("host");
    const from = {
      ...ports,
      ...source,
      ledger: { ...ports.ledger, ...source.ledger },
      blobs: ports.blobs,
      inbox: ports.inbox,
    };
    return loadWhole({ ports: from, clock, log: silentLog }, app, tickingSaga, turns);
  },
};

describe.each(Object.keys(reading))("whoever %s", (how) => {
  test("does as much between two looks at the loop, however long the ledger is", async () => {
    const most = [];
    for (const turns of [10, 1_000, 5_000]) {
      const given = watched(turns);
      await reading[how]!(given);
      expect(given.asked()).toBeGreaterThanOrEqual(turns);
      most.push(given.most());
    }
    expect(new Set(most).size, most.join(", ")).toBe(1);
    expect(most[0]).toBeLessThan(10);
  });
});
