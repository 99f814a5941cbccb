/**
 * Goal: `--at` means the last turn at or before what was typed, and nothing that was mistyped is taken for another.
 * Method: a ledger of known times; every form, and forms that are none; and times of every order beside a list that is searched from
 * its end.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeJson } from "../../../../protocol/codec.ts";
import { chainHash } from "../../../../protocol/digest.ts";
import { parseSagaId } from "../../../../protocol/ids.ts";
import type { Turn } from "../../../../protocol/turn.ts";
import type { Json } from "../../../../protocol/json.ts";
import { ledgerVersion } from "../../../../protocol/turn.ts";
import { upToMoment } from "../../../../services/cli/frame/moment.ts";
import type { LedgerSource } from "../../../../services/ledger/reader.ts";
import type { StoredMessage } from "../../../../services/wire/ports.ts";
import { sourceOf } from "../../../support/recorded.ts";

const keeping = () => {
  const turns: Turn[] = [];
  return { turns, take: (turn: Turn) => void turns.push(turn) };
};

const times = [
  "2026-11-20T10:00:00.000Z",
  "2026-11-20T23:59:59.500Z",
  "2026-11-22T00:00:00.000Z",
  "2026-11-22T09:30:00.000Z",
].map((time) => Date.parse(time));
const now = Date.parse("2026-11-22T10:00:00.000Z");
const saga = parseSagaId("timed");

/** A ledger whose turns were decided at these times. */
function ledgerAt(all: readonly number[]): LedgerSource {
  let prev = "";
  const messages = all.map((at, k): StoredMessage => {
    const start = { type: "start", definition: { name: "x", version: 1, hash: "h" }, input: null };
    const signal = { type: "signal", id: `s${k}`, name: "go", data: null, from: "t", sentAt: at };
    const event: Json = k === 0 ? start : signal;
    const turn = { v: ledgerVersion, saga, turn: k + 1, at, host: "h", prev };
    const data = encodeJson({ ...turn, steps: [{ event, intents: [], closed: [] }] });
    prev = chainHash(data);
    return { subject: "", seq: k + 1, headers: {}, data, storedAt: at };
  });
  return sourceOf({ saga, messages, blobs: new Map() });
}

async function turnsUpTo(all: readonly number[], moment: string | undefined): Promise<number[]> {
  const { taker } = await upToMoment(ledgerAt(all), saga, moment, now)(keeping);
  return taker.turns.map(({ turn }) => turn);
}
const upTo = async (moment: string | undefined): Promise<number> => (await turnsUpTo(times, moment)).length;

test("without a moment all turns are meant", async () => {
  expect(await upTo(undefined)).toBe(4);
});

test.each([
  ["1", 1],
  ["4", 4],
  ["2026-11-20", 2],
  ["2026-11-21", 2],
  ["2026-11-22", 4],
  ["2026-11-20T10:00:00.000Z", 1],
  ["2026-11-20T10:00", 1],
  ["2026-11-20 23:59:59", 1],
  ["2026-11-20T23:59:59.5Z", 2],
  ["2026-11-22T01:00:00+01:00", 3],
  ["2026-11-22T01:00:00+0200", 2],
  ["29m", 4],
  ["30m", 4],
  ["31m", 3],
  ["-31m", 3],
  ["1d 1h", 2],
])("%s is the last turn at or before it", async (moment, expected) => {
  expect(await upTo(moment)).toBe(expected);
});

test("a turn whose host's clock was behind does not cut off what came before it", async () => {
  expect(await turnsUpTo([...times, times[1]!], "2026-11-20")).toEqual([1, 2, 3, 4, 5]);
});

test("whatever the clocks said, the first turns up to the last one in time are handed on, in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 12 }),
      async (hours) => {
        const all = hours.map((hour) => now - hour * 3_600_000);
        for (let hour = 1; hour <= 9; hour++) {
          const last = all.findLastIndex((at) => at <= now - hour * 3_600_000);
          const read = turnsUpTo(all, `${hour}h`);
          if (last < 0) await expect(read).rejects.toThrow("[USAGE] --at: the saga's first turn");
          else expect(await read).toEqual(all.slice(0, last + 1).map((_, k) => k + 1));
        }
      },
    ),
    { numRuns: 40 },
  );
});

describe("refused with what to type", () => {
  test.each([
    "0",
    "5",
    "007x",
    "-1",
    "1.5",
    "",
    "yesterday",
    "2026-02-31",
    "2026-13-01",
    "2026-11-22T25:00",
    "2026",
    "-",
    "5 parsecs",
  ])("%j", async (moment) => {
    await expect(upTo(moment)).rejects.toThrow("[USAGE] --at: ");
  });

  test("a time before the saga began", async () => {
    await expect(upTo("2026-11-19")).rejects.toThrow(
      "[USAGE] --at: the saga's first turn is of 2026-11-20T10:00:00.000Z, which is after 2026-11-19T23:59:59.999Z",
    );
  });
});
