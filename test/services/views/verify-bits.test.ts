/**
 * Goal: one changed byte anywhere is named with its turn: in a stored message, in a header, in a blob, and in any line
 * of an archive's file.
 * Method: the ledgers of the examples, recorded on the test mesh, are whole; then one bit of what is stored is turned,
 * wherever fast-check says, and verified without any definition. Files are unpacked, changed and packed again, so
 * that the packing's own checksum tells nothing; and changed as they are, so that it does.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MeshError } from "../../../protocol/errors.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { writeArchive } from "../../../services/archive/file.ts";
import { manifestOf } from "../../../services/archive/manifest.ts";
import { verifyArchive } from "../../../services/archive/verify.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import { record, type RecordedLedger, recordExamples, sourceOf } from "../../support/recorded.ts";
import { defineApp } from "../../../services/app/app.ts";
import { calling, look } from "../../support/workbench.ts";

let ledgers: RecordedLedger[];
let folder: string;
beforeAll(async () => {
  ledgers = await recordExamples();
  folder = await mkdtemp(join(tmpdir(), "sagamesh-bits-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const turned = (bytes: Uint8Array, at: number): Uint8Array => {
  const changed = Uint8Array.from(bytes);
  const index = Math.floor(at / 8) % changed.length;
  changed[index] = changed[index]! ^ (1 << (at % 8));
  return changed;
};
/** A header's text, with one bit of one of its characters turned. */
const turnedText = (text: string, at: number): string => {
  const index = Math.floor(at / 7) % text.length;
  return (
    text.slice(0, index) +
    String.fromCharCode(text.charCodeAt(index) ^ (1 << (at % 7))) +
    text.slice(index + 1)
  );
};
const anyLedger = fc.nat().map((n) => ledgers[n % ledgers.length]!);
const anyBit = fc.nat();
const anyPlace = fc.nat();
const turnsOf = ({ findings }: { findings: readonly { turn: number }[] }) => findings.map(({ turn }) => turn);

/** A blob that is not there is told as the ports tell it. */
const sourceWith = (ledger: RecordedLedger, change: Partial<RecordedLedger>) => {
  const source = sourceOf({ ...ledger, ...change });
  return {
    ...source,
    blobs: {
      get: (digest: string) =>
        source.blobs.get(digest).catch(() => {
          throw new MeshError("LEDGER_BROKEN", `there is no blob ${digest}`);
        }),
    },
  };
};

test("the ledgers recorded of the examples are whole and fold; they hold children, votes, an undoing and large values", async () => {
  for (const ledger of ledgers)
    expect(await verifyLedger(sourceOf(ledger), ledger.saga, ledger.app)).toMatchObject({
      ok: true,
      folded: true,
    });
  expect(ledgers.length).toBeGreaterThanOrEqual(6);
  expect(ledgers.flatMap(({ blobs }) => [...blobs]).length).toBeGreaterThan(0);
  const said = ledgers
    .flatMap(({ messages }) => messages.map(({ data }) => Buffer.from(data).toString()))
    .join("");
  for (const word of ['"type":"task"', '"kind":"saga"', '"undoes"', '"name":"cancel"'])
    expect(said.includes(word), word).toBe(true);
});

describe("one bit that was turned", () => {
  test("in a turn's bytes is named with that turn", async () => {
    await fc.assert(
      fc.asyncProperty(anyLedger, anyPlace, anyBit, async (ledger, place, bit) => {
        const at = place % ledger.messages.length;
        const message = ledger.messages[at]!;
        const messages = ledger.messages.with(at, { ...message, data: turned(message.data, bit) });
        const checked = await verifyLedger(sourceWith(ledger, { messages }), ledger.saga);
        expect(turnsOf(checked)).toContain(at + 1);
      }),
      { numRuns: 400 },
    );
  });

  test("in a header beside a turn is named with that turn", async () => {
    await fc.assert(
      fc.asyncProperty(anyLedger, anyPlace, anyPlace, anyBit, async (ledger, place, which, bit) => {
        const at = place % ledger.messages.length;
        const message = ledger.messages[at]!;
        // What the server wrote names a place between two turns; what else stands there is another saga's.
        const names = Object.keys(message.headers).filter((name) => !name.startsWith("Nats-"));
        const name = names[which % names.length]!;
        const headers = { ...message.headers, [name]: turnedText(message.headers[name]!, bit) };
        const messages = ledger.messages.with(at, { ...message, headers });
        const checked = await verifyLedger(sourceWith(ledger, { messages }), ledger.saga);
        expect(turnsOf(checked)).toContain(at + 1);
      }),
      { numRuns: 300 },
    );
  });

  test("in a blob is named with a turn that holds it", async () => {
    const large = ledgers.filter(({ blobs }) => blobs.size > 0);
    await fc.assert(
      fc.asyncProperty(anyPlace, anyPlace, anyBit, async (n, which, bit) => {
        const ledger = large[n % large.length]!;
        const [digest, bytes] = [...ledger.blobs][which % ledger.blobs.size]!;
        const blobs = new Map(ledger.blobs).set(digest, turned(bytes, bit));
        const { findings } = await verifyLedger(sourceWith(ledger, { blobs }), ledger.saga);
        const [found] = findings;
        expect(found?.what).toContain(digest);
        const named = ledger.messages.findIndex(({ data }) => Buffer.from(data).includes(digest));
        if (named >= 0) expect(turnsOf({ findings })).toContain(named + 1);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the order of the stream", () => {
  const firstOf = () => ledgers[0]!;
  test("is that of the turns: two that were changed about are both named", async () => {
    const ledger = firstOf();
    const [one, two] = [ledger.messages[1]!, ledger.messages[2]!];
    const messages = ledger.messages.with(1, { ...one, seq: two.seq }).with(2, { ...two, seq: one.seq });
    const source = {
      ...sourceWith(ledger, {}),
      ledger: { last: async () => messages.at(-1), read: async () => messages },
    };
    const { findings } = await verifyLedger(source, ledger.saga);
    expect(findings).toContainEqual(
      expect.objectContaining({ turn: 3, what: expect.stringContaining("is stored at") }),
    );
  });

  test("a turn that was appended after another one than the one before it is named", async () => {
    const ledger = firstOf();
    const message = ledger.messages[2]!;
    const headers = { ...message.headers, "Nats-Expected-Last-Subject-Sequence": "999" };
    const messages = ledger.messages.with(2, { ...message, headers });
    const { findings } = await verifyLedger(sourceWith(ledger, { messages }), ledger.saga);
    expect(findings).toEqual([
      expect.objectContaining({ turn: 3, what: expect.stringContaining("after 999") }),
    ]);
  });

  test("a turn that stands there twice is no second turn, and is told", async () => {
    const ledger = firstOf();
    const again: StoredMessage = { ...ledger.messages[2]!, seq: ledger.messages[2]!.seq + 0.5 };
    const checked = await verifyLedger(
      sourceWith(ledger, { messages: ledger.messages.toSpliced(3, 0, again) }),
      ledger.saga,
    );
    expect(checked).toMatchObject({ ok: true, turns: ledger.messages.length });
    expect(checked.foreign).toMatchObject({ count: 1, first: [{ seq: again.seq }] });
  });
});

describe("an archive's file", () => {
  let path: string;
  let whole: Buffer;
  let ledger: RecordedLedger;
  beforeAll(async () => {
    ledger = ledgers.find(({ blobs }) => blobs.size > 0)!;
    path = join(folder, "whole.jsonl.gz");
    const manifest = await manifestOf(sourceOf(ledger), ledger.saga, ledger.messages, {
      at: 1,
      registered: { definitions: [], tools: [] },
    });
    await writeArchive(path, [{ manifest, messages: ledger.messages, blobs: sourceOf(ledger).blobs }]);
    whole = await readFile(path);
  });
  const verifyBytes = async (bytes: Uint8Array) => {
    const file = join(folder, "changed.jsonl.gz");
    await writeFile(file, bytes);
    return verifyArchive(file, {});
  };

  test("is whole as it was written", async () => {
    expect(await verifyBytes(whole)).toMatchObject([{ saga: ledger.saga, ok: true, findings: [] }]);
  });

  test("names one bit that was turned in any of its lines, by the line's turn, however it was packed again", async () => {
    const lines = gunzipSync(whole).toString("latin1").trimEnd().split("\n");
    await fc.assert(
      fc.asyncProperty(anyPlace, anyBit, async (which, bit) => {
        const at = which % lines.length;
        const line = Buffer.from(turned(Buffer.from(lines[at]!, "latin1"), bit)).toString("latin1");
        const text = Buffer.from(`${lines.with(at, line).join("\n")}\n`, "latin1");
        const [checked] = await verifyBytes(gzipSync(text, { level: 1 }));
        expect(checked?.ok).toBe(false);
        if (at > 0 && at <= ledger.messages.length) expect(turnsOf(checked!)).toContain(at);
        else expect(turnsOf(checked!).length).toBeGreaterThan(0);
      }),
      { numRuns: 150 },
    );
  });

  test("that was changed as it is packed is found broken, with what could be read of it", async () => {
    const unpacked = gunzipSync(whole);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: (whole.length - 20) * 8 }), async (bit) => {
        const changed = turned(whole, bit);
        const [checked] = await verifyBytes(changed);
        // Some bits say nothing: a time or who packed it in the head, or which of two like places is copied from.
        if (saysTheSame(changed, unpacked)) return;
        expect(checked).toMatchObject({ ok: false });
        expect(checked!.findings[0]).toMatchObject({ turn: 0, code: "ARCHIVE_BROKEN" });
      }),
      { numRuns: 60 },
    );
    const [cut] = await verifyBytes(whole.subarray(0, whole.length - 9));
    expect(cut!.findings[0]?.what).toMatch(new RegExp(`of it ${ledger.messages.length} turns could be read`));
  });

  test("names the turn whose line was taken out, and reads what follows", async () => {
    const lines = gunzipSync(whole).toString().split("\n");
    const [checked] = await verifyBytes(gzipSync(lines.toSpliced(2, 1).join("\n")));
    expect(turnsOf(checked!)).toContain(2);
    const [holed] = await verifyBytes(gzipSync(lines.with(2, "{}").join("\n")));
    expect(turnsOf(holed!)).toEqual([2]);
  });
});

/** Whether a packed file that was changed still unpacks to the same bytes. */
function saysTheSame(changed: Uint8Array, unpacked: Uint8Array): boolean {
  try {
    return gunzipSync(changed).equals(unpacked);
  } catch {
    return false;
  }
}

test("a ledger whose definition nobody has is checked and not folded, where that is asked for", async () => {
  const [ledger] = await record(defineApp({ sagas: [calling(look)] }), async (t) => {
    await t.start(calling(look), { of: "x" }, { id: "s" });
  });
  const other = defineApp({});
  const code = await verifyLedger(sourceOf(ledger!), ledger!.saga, other).catch(
    (error: unknown) => (error as MeshError).code,
  );
  expect(code).toBe("VERSION_UNSERVED");
  const checked = await verifyLedger(sourceOf(ledger!), ledger!.saga, other, { foldsWhereServed: true });
  expect(checked).toMatchObject({
    ok: true,
    folded: false,
    unfolded: expect.stringContaining("does not define"),
  });
});
