/**
 * Goal: a ledger that is verified as it is read, some messages at a time, is told exactly as one that is held whole.
 * Method: the ledgers of the examples as they are stored, and the same with something wrong: bits that were turned, messages that are
 * gone, doubled, changed about or a stranger's. The product reads them in pages of a few messages; the same rules over all of a
 * ledger at once (support/verify-whole.ts) stand beside it.
 */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { encodeJson } from "../../../protocol/codec.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { headers } from "../../../protocol/subjects.ts";
import { defineApp } from "../../../services/app/app.ts";
import type { LedgerSource } from "../../../services/ledger/reader.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import { type RecordedLedger, recordExamples, sourceOf } from "../../support/recorded.ts";
import { verifyLedgerWhole } from "../../support/verify-whole.ts";

let ledgers: RecordedLedger[];
beforeAll(async () => {
  ledgers = await recordExamples();
});

/** One thing that is done to a ledger's messages. */
type Harm = (messages: StoredMessage[], at: number) => StoredMessage[];

const placed = (messages: readonly StoredMessage[], at: number): number => at % messages.length;

const harms: Record<string, Harm> = {
  nothing: (messages) => messages,
  "a bit turned": (messages, at) => {
    const index = placed(messages, at);
    const data = Uint8Array.from(messages[index]!.data);
    const byte = Math.floor(at / 7) % data.length;
    data[byte] = data[byte]! ^ (1 << (at % 8));
    return messages.with(index, { ...messages[index]!, data });
  },
  "a header gone": (messages, at) => {
    const index = placed(messages, at);
    const names = Object.keys(messages[index]!.headers);
    const { [names[at % names.length]!]: _gone, ...rest } = messages[index]!.headers;
    return messages.with(index, { ...messages[index]!, headers: rest });
  },
  "a message gone": (messages, at) =>
    messages.length < 2 ? messages : messages.toSpliced(placed(messages, at), 1),
  "a message doubled": (messages, at) => {
    const last = messages.at(-1)!;
    return [...messages, { ...messages[placed(messages, at)]!, seq: last.seq + 1 }];
  },
  "two changed about": (messages, at) => {
    const index = placed(messages, at);
    const other = (index + 1) % messages.length;
    const [one, two] = [messages[index]!, messages[other]!];
    return messages.with(index, { ...two, seq: one.seq }).with(other, { ...one, seq: two.seq });
  },
  "a stranger's": (messages, at) => {
    const index = placed(messages, at);
    const { subject, seq, storedAt } = messages[index]!;
    const claims = { v: 3, saga: "stranger", turn: index + 2, prev: "x", at: 1, host: "nobody", steps: [] };
    const stranger = { subject, seq, storedAt, headers: {}, data: encodeJson(claims) };
    return [...messages.slice(0, index), stranger, ...messages.slice(index)].map((one, k) => ({
      ...one,
      seq: k + 1,
    }));
  },
  "a later one that does not chain": (messages) => {
    const last = messages.at(-1)!;
    const told = { [headers.saga]: last.headers[headers.saga]!, [headers.turn]: "900" };
    return [...messages, { ...last, seq: last.seq + 1, headers: { ...last.headers, ...told } }];
  },
};

/** Read so many messages at a time, whatever is asked for. */
function inPagesOf(size: number, messages: readonly StoredMessage[], from: LedgerSource): LedgerSource {
  const blobs = {
    get: (digest: string) =>
      from.blobs.get(digest).catch(() => {
        throw new MeshError("LEDGER_BROKEN", `there is no blob ${digest}`);
      }),
  };
  return {
    blobs,
    ledger: {
      last: async () => messages.at(-1),
      read: async (_saga, after, through, most = Number.POSITIVE_INFINITY) =>
        messages.filter(({ seq }) => seq > after && seq <= through).slice(0, Math.min(most, size)),
    },
  };
}

/** A document, or the code of what was thrown. */
const told = (verifying: Promise<unknown>) =>
  verifying.catch((error: unknown) => (error as { code?: string }).code ?? Promise.reject(error as Error));

test("a ledger is told by its pages as it is whole, whatever is wrong with it", async () => {
  const harm = fc.record({ what: fc.constantFrom(...Object.keys(harms)), at: fc.nat() });
  let wrong = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(harm, { maxLength: 3 }),
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      async (n, all, size, folds) => {
        const ledger = ledgers[n % ledgers.length]!;
        const messages = all.reduce<StoredMessage[]>(
          (so, { what, at }) => harms[what]!(so, at),
          [...ledger.messages],
        );
        const from = sourceOf(ledger);
        const app = folds ? ledger.app : undefined;
        const whole = inPagesOf(Number.POSITIVE_INFINITY, messages, from);
        const expected = await told(verifyLedgerWhole(whole, ledger.saga, app));
        expect(await told(verifyLedger(inPagesOf(size, messages, from), ledger.saga, app))).toEqual(expected);
        if (typeof expected === "object" && !(expected as { ok: boolean }).ok) wrong += 1;
      },
    ),
    { numRuns: 300 },
  );
  expect(wrong).toBeGreaterThan(50);
}, 120_000);

test("a saga that no application serves is told as it is whole", async () => {
  for (const ledger of ledgers) {
    const source = sourceOf(ledger);
    const [of, none] = [ledger.saga, defineApp({})];
    expect(await told(verifyLedger(source, of, none))).toEqual(
      await told(verifyLedgerWhole(source, of, none)),
    );
    const where = { foldsWhereServed: true };
    expect(await verifyLedger(source, of, none, where)).toEqual(
      await verifyLedgerWhole(source, of, none, where),
    );
  }
});
