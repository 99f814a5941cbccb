/**
 * Recovery counts the sagas that had something under way, from the blow to their next turn, and nobody else's.
 *
 * Method: ledgers of a simulated run, whose hosts are given process numbers, and blows put between two turns of theirs.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { foldTurn } from "../../actors/kernel/replay.ts";
import { contractDigest } from "../../actors/contract/contract-digest.ts";
import { isOwnWork, type SagaState, notBeforeOf } from "../../actors/contract/state.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import { tools, undoTools } from "../simulation/contracts.ts";
import { sagasOf } from "../simulation/sagas.ts";
import { simulate } from "../simulation/simulator.ts";
import type { Strike } from "./disturber.ts";
import { measureRecovery } from "./recovery.ts";

const definitions = [1, 2].flatMap((version) =>
  Object.values(sagasOf(version)).map(({ definition }) => definition),
);
const definitionOf = (hash: string) => definitions.find((one) => one.hash === hash);
const placements = new Map(
  [...Object.values(tools), ...undoTools].map((tool) => [contractDigest(tool), tool.placement]),
);
const placementOf = (contract: string) => placements.get(contract) ?? "worker";

const pid = 4_711;
let ledgers: Map<SagaId, readonly StoredTurn[]>;
/** A turn after which its host has work of its own to do at once, and the time of the next turn. */
let busy: { at: number; nextAt: number };
/** A turn after which nothing is open but what others or time bring. */
let idle: { at: number };

beforeAll(async () => {
  const { account } = await simulate(11);
  ledgers = new Map(
    [...account.ledgers].map(([saga, turns]) => [
      saga,
      turns.map((stored) => ({ ...stored, turn: { ...stored.turn, host: `h-here-${pid}-abcdef` } })),
    ]),
  );
  const found: { busy?: typeof busy; idle?: typeof idle } = {};
  const all = [...ledgers.values()].flat().map(({ storedAt }) => storedAt);
  for (const turns of ledgers.values()) {
    const first = turns[0]?.turn.steps[0]?.event;
    const definition = definitionOf(first?.type === "start" ? first.definition.hash : "")!;
    let state: SagaState | undefined;
    for (const [n, { turn, storedAt }] of turns.entries()) {
      ({ state } = foldTurn(definition, state, turn));
      const nextAt = turns[n + 1]?.storedAt;
      const own = Object.values(state.open).filter((open) => isOwnWork(open, placementOf));
      if (
        nextAt !== undefined &&
        nextAt > storedAt + 1 &&
        own.some((open) => notBeforeOf(open) === undefined)
      )
        found.busy ??= { at: storedAt, nextAt };
    }
    found.idle ??= { at: Math.max(...all) };
  }
  ({ busy, idle } = found as { busy: typeof busy; idle: typeof idle });
});

const strike = (at: number, victim: Strike["blow"]["victim"], of = pid): Strike => ({
  ...{ at, pid: of, landed: true },
  blow: { atMs: 0, victim, deed: { do: "kill", downMs: 100 } },
});
const host = { kind: "host", index: 0 } as const;
const server = { kind: "server", which: 0 } as const;
const measure = (strikes: Strike[], only = ledgers) =>
  measureRecovery({ ledgers: only, strikes, definitionOf, placementOf });

/** The ledger alone that has the busy turn. */
const itsLedger = () =>
  new Map([...ledgers].filter(([, turns]) => turns.some(({ storedAt }) => storedAt === busy.at)).slice(0, 1));

describe("recovery", () => {
  test("a saga whose host dies with work in hand is counted from the blow to its next turn", () => {
    const [killed] = measure([strike(busy.at, host)], itsLedger());
    expect(killed).toMatchObject({
      after: "host killed",
      blows: 1,
      all: { sagas: 1, maxMs: busy.nextAt - busy.at },
    });
  });

  test("another host's death is nothing to it, and a server's is", () => {
    const [byHost, , byServer] = measure(
      [strike(busy.at, host, pid + 1), strike(busy.at, server, 1)],
      itsLedger(),
    );
    expect(byHost?.all.sagas).toBe(0);
    expect(byServer?.all).toMatchObject({ sagas: 1, maxMs: busy.nextAt - busy.at });
  });

  test("a saga that has ended does not recover", () => {
    const figures = measure([strike(idle.at + 1, host), strike(idle.at + 1, server)]);
    expect(figures.map(({ all }) => all.sagas)).toEqual([0, 0, 0, 0]);
  });

  test("with another blow in between it is counted, and not as undisturbed", () => {
    const one = strike(busy.at, host);
    const other = strike(busy.at + 1, { kind: "host", index: 1 }, 1);
    expect(measure([one], itsLedger())[0]?.undisturbed.sagas).toBe(1);
    expect(measure([one, other], itsLedger())[0]).toMatchObject({
      all: { sagas: 1 },
      undisturbed: { sagas: 0 },
    });
    const elsewhere = strike(busy.at + 1, { kind: "worker", index: 0 }, 1);
    expect(measure([one, elsewhere], itsLedger())[0]?.undisturbed.sagas).toBe(1);
  });
});
