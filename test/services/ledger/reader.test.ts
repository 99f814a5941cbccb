/**
 * Ledger reader: what a stored message must be to be read as a turn.
 *
 * Method: turns of a story that was folded, stored by hand, one of them changed.
 */
import { describe, expect, test } from "vitest";
import { encodeJson } from "../../../protocol/codec.ts";
import { toStored, type Turn } from "../../../protocol/turn.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";
import { given, replied, started } from "../../../services/testing/given.ts";
import { agentOf, finish } from "../../support/workbench.ts";

const { turns } = given(agentOf(), started({ of: "x" }), replied(finish));
const blobs = { get: () => Promise.reject(new Error("there are no blobs")) };
const read = (value: unknown) => decodeTurn(blobs, { data: encodeJson(value), headers: {} });
const first = toStored(turns[0] as Turn);

describe("a stored turn", () => {
  test("is read as it was written", async () => {
    expect(await read(first)).toEqual(turns[0]);
  });

  test.each([2, 4])("of format %i is refused with a code that says so, and no other", async (v) => {
    await expect(read({ ...first, v })).rejects.toMatchObject({
      code: "LEDGER_VERSION",
      retriable: false,
      message: expect.stringContaining(`has the format ${v}; this version reads 3`) as string,
    });
  });

  test("that lacks what a turn has is broken, whatever its format says", async () => {
    const { steps: _steps, ...rest } = first;
    await expect(read(rest)).rejects.toMatchObject({ code: "LEDGER_BROKEN" });
    await expect(read({ v: 1, type: "tombstone" })).rejects.toMatchObject({ code: "LEDGER_BROKEN" });
  });
});
