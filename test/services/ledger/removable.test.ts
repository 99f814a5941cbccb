/**
 * Goal: whatever stands on a ledger's subject, what may be removed of it is never a turn. That removing it leaves the turns
 * is in test/services/client/repair.test.ts.
 * Method: properties over ledgers that fast-check writes: turns as a host appends them, foreign messages of every kind
 * between them, some of them stored by comparing, archived or not. Then turns are taken out or changed, too.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeJson } from "../../../protocol/codec.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { headers } from "../../../protocol/subjects.ts";
import { removableOf } from "../../../services/ledger/removable.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { foreignKinds, plantedOf } from "../../support/foreign.ts";

const saga = sagaId("s1");

/** What is written next: a turn by a host, or something foreign. */
type Write = "turn" | { readonly kind: string; readonly compares: boolean };

const writes = fc.array(
  fc.oneof(
    fc.constant("turn" as const),
    fc.record({ kind: fc.constantFrom(...Object.keys(foreignKinds)), compares: fc.boolean() }),
  ),
  { maxLength: 14 },
);
const endings = fc.record({ isArchived: fc.boolean(), isPurged: fc.boolean(), after: writes });
interface Ending {
  readonly isArchived: boolean;
  readonly isPurged: boolean;
  readonly after: readonly Write[];
}

/** A ledger as it comes about, with the sequences of what hosts and archivers wrote. */
function written(all: readonly Write[], { isArchived, isPurged, after }: Ending) {
  let stored: StoredMessage[] = [];
  const own: StoredMessage[] = [];
  let seq = 0;
  const put = (data: Uint8Array, fields: StoredMessage["headers"], compares: boolean) => {
    const told: Record<string, string> = compares ? { [headers.expectedSeq]: String(seq) } : {};
    const message = { subject: "", seq: ++seq, storedAt: seq, data, headers: { ...fields, ...told } };
    stored.push(message);
    return message;
  };
  const prev = () => (own.length === 0 ? "" : chainHash(own.at(-1)!.data));
  const write = (one: Write) => {
    if (one === "turn") {
      const body = { v: 3, saga, turn: own.length + 1, prev: prev(), steps: seq };
      return own.push(put(encodeJson(body), {}, true));
    }
    const { data, headers: fields } = plantedOf(one.kind, saga, own);
    return put(data, fields, one.compares);
  };
  for (const one of all) write(one);
  if (isArchived && own.length > 0) {
    const body = { v: 1, type: "tombstone", saga, turns: own.length, prev: prev() };
    const tombstone = put(encodeJson(body), { [headers.event]: "archived" }, true);
    own.push(tombstone);
    if (isPurged) stored = [tombstone];
    for (const one of after) if (one !== "turn") write(one); // No host appends to what is archived.
  }
  return { stored, own: new Set(own.map((message) => message.seq)) };
}

const keptOf = (messages: readonly StoredMessage[], named?: ReadonlySet<number>): boolean[] =>
  removableOf(saga, messages, named).judged.map(({ kept }) => kept !== undefined);

describe("what is removable", () => {
  test("is never a turn, also where a turn was taken away or changed", () => {
    fc.assert(
      fc.property(writes, endings, fc.option(fc.nat()), fc.boolean(), (all, ending, which, isChanged) => {
        const { stored, own } = written(all, ending);
        const hurt = which === null ? undefined : [...own][which % Math.max(1, own.size)];
        const left = stored.flatMap((message) => {
          if (message.seq !== hurt) return [message];
          return isChanged ? [{ ...message, data: Buffer.from(message.data).reverse() }] : [];
        });
        const sorted = removableOf(saga, left);
        // Where the first turn was taken out, copies of all turns in their order are the ledger: no byte is lost.
        const isCopied = ({ data }: StoredMessage) =>
          sorted.own.some((one) => Buffer.compare(one.data, data) === 0);
        for (const { kept, foreign } of sorted.judged)
          if (kept === undefined) {
            const { message } = foreign;
            expect(message.seq === hurt || !own.has(message.seq) || isCopied(message)).toBe(true);
          }
        if (hurt === undefined)
          expect(removableOf(saga, left).own).toEqual(left.filter(({ seq }) => own.has(seq)));
      }),
      {
        numRuns: 400,
        examples: [
          [
            [
              "turn",
              "turn",
              { kind: "a copy of the first turn", compares: false },
              { kind: "a copy of the last turn", compares: false },
            ],
            { isArchived: false, isPurged: false, after: [] },
            0,
            false,
          ],
        ],
      },
    );
  });

  test("is what was stored by no comparing, and a turn's copy; the rest is named one by one", () => {
    const ahead = (compares: boolean): Write => ({ kind: "a turn far ahead", compares });
    const copy: Write = { kind: "a copy of the last turn", compares: true };
    const of = (all: Write[], ending: Partial<Ending> = {}) =>
      written(all, { isArchived: false, isPurged: false, after: [], ...ending }).stored;
    expect(keptOf(of(["turn", ahead(false), copy, ahead(true)]))).toEqual([false, false, true]);
    expect(keptOf(of(["turn", copy, "turn", ahead(true)]), new Set([4]))).toEqual([false, false]);
    expect(keptOf(of(["turn"], { isArchived: true, after: [ahead(true)] }))).toEqual([true]);
  });

  test("is nothing where a turn is gone", () => {
    const junk: Write = { kind: "nothing at all", compares: false };
    const { stored } = written(["turn", "turn", "turn", junk], {
      isArchived: false,
      isPurged: false,
      after: [],
    });
    expect(removableOf(saga, stored.toSpliced(1, 1)).gap).toMatchObject({ code: "LEDGER_BROKEN" });
    expect(keptOf(stored.toSpliced(1, 1))).toEqual([true, true]);
  });
});
