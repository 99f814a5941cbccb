/** LedgerPort: compare-and-set on one saga's subject, and every way to read it. */
import { describe, expect, test } from "vitest";
import type { SagaId } from "../../protocol/ids.ts";
import type { Ports, StoredMessage } from "../../services/wire/ports.ts";
import { bytes, codeOf, type MeshUnderTest, sagaId, text } from "./mesh-under-test.ts";

const saga = sagaId("hiring-1");
const other = sagaId("hiring-2");
/** In whichever shard. */
const ledgerSubject = /^saga\.hiring-1\.ledger(\.\d+)?$/;

/** Appends turns `from` to `to`, each at the sequence of the one before; returns their sequences. */
const appendTurns = async (ports: Ports, to: SagaId, turns: number, expectedSeq = 0): Promise<number[]> => {
  const seqs: number[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const message = {
      data: bytes(`${to} ${turn}`),
      headers: { "Saga-Turn": String(turn) },
    };
    seqs.push((await ports.ledger.append(to, { ...message, expectedSeq: seqs.at(-1) ?? expectedSeq })).seq);
  }
  return seqs;
};

const turnTexts = (messages: readonly StoredMessage[]) => messages.map((message) => text(message.data));

export const ledgerContract = (mesh: () => MeshUnderTest): void => {
  describe("ledger", () => {
    const message = { data: bytes('{"turn":1}'), headers: { "Saga-Turn": "1" } };

    test("an append at the right sequence is stored with its headers and the server's time", async () => {
      const { ports } = mesh();
      const before = await ports.claims.now();
      const ack = await ports.ledger.append(saga, { ...message, expectedSeq: 0 });
      const last = await ports.ledger.last(saga);
      expect(ack.duplicate).toBe(false);
      expect(last).toMatchObject({ subject: expect.stringMatching(ledgerSubject), seq: ack.seq });
      expect(last?.headers).toMatchObject({ "Saga-Turn": "1" });
      expect(text(last!.data)).toBe('{"turn":1}');
      expect(Math.abs(last!.storedAt - before)).toBeLessThan(2_000);
    });

    test("a saga without a ledger has no first turn and no last", async () => {
      expect(await mesh().ports.ledger.last(saga)).toBeUndefined();
      expect(await mesh().ports.ledger.first(saga)).toBeUndefined();
    });

    test("the first message is the oldest that is left", async () => {
      const { ports } = mesh();
      const seqs = await appendTurns(ports, saga, 3);
      expect(await ports.ledger.first(saga)).toMatchObject({ seq: seqs[0], headers: { "Saga-Turn": "1" } });
      await ports.ledger.purgeBefore(saga, seqs[2]!);
      expect(await ports.ledger.first(saga)).toMatchObject({ seq: seqs[2] });
    });

    test("an append at a stale sequence is refused and stores nothing", async () => {
      const { ports } = mesh();
      const [first] = await appendTurns(ports, saga, 1);
      expect(await codeOf(ports.ledger.append(saga, { ...message, expectedSeq: 0 }))).toBe("WRONG_SEQUENCE");
      expect(await codeOf(ports.ledger.append(saga, { ...message, expectedSeq: first! + 7 }))).toBe(
        "WRONG_SEQUENCE",
      );
      expect(await ports.ledger.list()).toEqual([{ saga, turns: 1 }]);
    });

    test("an append that is sent again is refused like a stale one, and the last turn shows that it is stored", async () => {
      const { ports } = mesh();
      const append = { ...message, expectedSeq: 0 };
      const { seq } = await ports.ledger.append(saga, append);
      expect(await codeOf(ports.ledger.append(saga, append))).toBe("WRONG_SEQUENCE");
      const last = await ports.ledger.last(saga);
      expect(last?.seq).toBe(seq);
      expect(text(last!.data)).toBe(text(message.data));
      expect(await ports.ledger.list()).toEqual([{ saga, turns: 1 }]);
    });

    test("of two appends at the same sequence one is stored", async () => {
      const { ports } = mesh();
      const rivals = ["a", "b"].map((who) =>
        codeOf(ports.ledger.append(saga, { ...message, data: bytes(who), expectedSeq: 0 })),
      );
      const codes = await Promise.all(rivals);
      expect(codes.filter((code) => code === "none")).toHaveLength(1);
      expect(["WRONG_SEQUENCE", "WRITE_IN_FLIGHT"]).toContain(codes.find((code) => code !== "none"));
    });

    test("another saga's turns do not move a saga's sequence", async () => {
      const { ports } = mesh();
      const [first] = await appendTurns(ports, saga, 1);
      await appendTurns(ports, other, 3);
      expect(await codeOf(ports.ledger.append(saga, { ...message, expectedSeq: first! }))).toBe("none");
    });

    test("a turn over the limit of a message is refused", async () => {
      const big = { ...message, data: new Uint8Array(2 * 1024 * 1024), expectedSeq: 0 };
      expect(await codeOf(mesh().ports.ledger.append(saga, big))).toBe("TOO_LARGE");
    });

    test("reading gives the saga's turns after a sequence and up to another, in order", async () => {
      const { ports } = mesh();
      const seqs: number[] = [];
      for (let turn = 1; turn <= 4; turn++) {
        seqs.push(
          (
            await ports.ledger.append(saga, {
              ...message,
              data: bytes(`turn ${turn}`),
              expectedSeq: seqs.at(-1) ?? 0,
            })
          ).seq,
        );
        await ports.ledger.append(other, {
          ...message,
          expectedSeq: (await ports.ledger.last(other))?.seq ?? 0,
        });
      }
      expect(turnTexts(await ports.ledger.read(saga, 0, seqs[3]!))).toEqual([
        "turn 1",
        "turn 2",
        "turn 3",
        "turn 4",
      ]);
      const middle = await ports.ledger.read(saga, seqs[0]!, seqs[2]!);
      expect(middle.map((turn) => turn.seq)).toEqual([seqs[1], seqs[2]]);
      expect(middle[0]).toMatchObject({
        subject: expect.stringMatching(ledgerSubject),
        headers: { "Saga-Turn": "1" },
      });
      const first = await ports.ledger.read(saga, 0, seqs[3]!, 2);
      expect(first.map(({ seq }) => seq)).toEqual(seqs.slice(0, 2));
      const next = await ports.ledger.read(saga, seqs[1]!, seqs[3]!, 1_000);
      expect(next.map(({ seq }) => seq)).toEqual(seqs.slice(2, 4));
      expect(await ports.ledger.read(saga, seqs[3]!, seqs[3]!)).toEqual([]);
      expect(await ports.ledger.read(sagaId("nobody"), 0, seqs[3]!)).toEqual([]);
    });

    test("reading up to a sequence that is not stored yet gives what there is", async () => {
      const { ports } = mesh();
      const seqs = await appendTurns(ports, saga, 2);
      expect(await ports.ledger.read(saga, 0, seqs[1]! + 1_000)).toHaveLength(2);
    });

    test("a long ledger is read whole", async () => {
      const { ports } = mesh();
      const seqs = await appendTurns(ports, saga, 2_500);
      const turns = await ports.ledger.read(saga, 0, seqs.at(-1)!);
      expect(turns.map((turn) => turn.seq)).toEqual(seqs);
    });

    test("the list names every saga with a ledger and its number of turns", async () => {
      const { ports } = mesh();
      expect(await ports.ledger.list()).toEqual([]);
      await appendTurns(ports, saga, 3);
      await appendTurns(ports, other, 1);
      const list = (await ports.ledger.list()).sort((a, b) => a.saga.localeCompare(b.saga));
      expect(list).toEqual([
        { saga, turns: 3 },
        { saga: other, turns: 1 },
      ]);
    });

    test("following one saga shows its history and then what is stored, in order, and nothing else", async () => {
      const { ports, until } = mesh();
      const seqs = await appendTurns(ports, saga, 2);
      await appendTurns(ports, other, 2);
      const { seen, end } = follow(ports, { saga });
      await until("the history is seen", () => seen.length === 2);
      const more = await appendTurns(ports, saga, 2, seqs[1]);
      await until("what was stored later is seen", () => seen.length === 4);
      expect(seen.map((turn) => turn.seq)).toEqual([...seqs, ...more]);
      await end();
    });

    test("following after a sequence leaves out what came before", async () => {
      const { ports, until } = mesh();
      const seqs = await appendTurns(ports, saga, 3);
      const { seen, end } = follow(ports, { saga, afterSeq: seqs[1]! });
      await until("the third turn is seen", () => seen.length === 1);
      expect(seen[0]!.seq).toBe(seqs[2]);
      await end();
    });

    test("following all sagas shows each one's turns in the order of storing", async () => {
      const { ports, until } = mesh();
      await appendTurns(ports, saga, 2);
      const { seen, end } = follow(ports, {});
      await appendTurns(ports, other, 2);
      await until("all four turns are seen", () => seen.length === 4);
      const of = (id: SagaId) => turnTexts(seen).filter((turn) => turn.startsWith(id));
      expect(of(saga)).toEqual(["hiring-1 1", "hiring-1 2"]);
      expect(of(other)).toEqual(["hiring-2 1", "hiring-2 2"]);
      await end();
    });

    test("purging before a turn removes what came before it, of that saga alone", async () => {
      const { ports } = mesh();
      const seqs = await appendTurns(ports, saga, 3);
      const others = await appendTurns(ports, other, 2);
      await ports.ledger.purgeBefore(saga, seqs[2]!);
      expect(turnTexts(await ports.ledger.read(saga, 0, seqs[2]!))).toEqual(["hiring-1 3"]);
      expect((await ports.ledger.last(saga))?.seq).toBe(seqs[2]);
      expect(await ports.ledger.read(other, 0, others[1]!)).toHaveLength(2);
      expect((await ports.ledger.list()).find((one) => one.saga === saga)).toEqual({ saga, turns: 1 });
    });

    test("after a purge the next append still needs the sequence of the last turn", async () => {
      const { ports } = mesh();
      const seqs = await appendTurns(ports, saga, 3);
      await ports.ledger.purgeBefore(saga, seqs[2]!);
      expect(await codeOf(ports.ledger.append(saga, { ...message, expectedSeq: 0 }))).toBe("WRONG_SEQUENCE");
      expect(await codeOf(ports.ledger.append(saga, { ...message, expectedSeq: seqs[2]! }))).toBe("none");
    });

    test("a purge leaves every turn from the one it names on, and again changes nothing", async () => {
      const { ports } = mesh();
      const seqs = await appendTurns(ports, saga, 4);
      await ports.ledger.purgeBefore(saga, seqs[2]!);
      await ports.ledger.purgeBefore(saga, seqs[2]!);
      expect(turnTexts(await ports.ledger.read(saga, 0, seqs[3]!))).toEqual(["hiring-1 3", "hiring-1 4"]);
    });

    test("a follower that comes after a purge begins with what is left", async () => {
      const { ports, until } = mesh();
      const seqs = await appendTurns(ports, saga, 3);
      await ports.ledger.purgeBefore(saga, seqs[2]!);
      const { seen, end } = follow(ports, { saga });
      await until("what is left is seen", () => seen.length > 0);
      expect(turnTexts(seen)).toEqual(["hiring-1 3"]);
      await end();
    });

    test("following with a signal that is aborted already ends at once", async () => {
      const seen: StoredMessage[] = [];
      for await (const turn of mesh().ports.ledger.follow({ signal: AbortSignal.abort() })) seen.push(turn);
      expect(seen).toEqual([]);
    });
  });
};

/** Follows in the background; `end` aborts and resolves when the follower has ended. */
function follow(ports: Ports, options: { saga?: SagaId; afterSeq?: number }) {
  const controller = new AbortController();
  const seen: StoredMessage[] = [];
  const ended = (async () => {
    for await (const turn of ports.ledger.follow({ ...options, signal: controller.signal })) seen.push(turn);
  })();
  return {
    seen,
    end: () => {
      controller.abort();
      return ended;
    },
  };
}
