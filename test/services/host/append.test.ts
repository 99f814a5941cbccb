/**
 * Appending a turn: every answer a server can give, and which of two it comes to.
 *
 * Method: on the memory mesh in both shapes, one server and three, with failures put in front of its ledger;
 * and on a real server, where two hosts race on one ledger. A scripted failure says when it strikes: before
 * the message is stored, or after, when only the answer is lost.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chainHash } from "../../../protocol/digest.ts";
import { type ErrorCode, MeshError } from "../../../protocol/errors.ts";
import { headers, subjects } from "../../../protocol/subjects.ts";
import { claimOf } from "../../../services/ledger/chain.ts";
import { appendTurn } from "../../../services/host/append.ts";
import type { Appended, TurnMessage } from "../../../services/host/refused.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import type { LedgerPort, Ports } from "../../../services/wire/ports.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { bytes, sagaId, text } from "../../contract/mesh-under-test.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

const saga = sagaId("s1");
const never = new AbortController().signal;

/** A turn's message as a host makes it: the hash says which bytes they are. */
function messageOf(
  turn: number,
  body: string,
  expectedSeq: number,
  { of = saga, prev = `the one before ${turn}` }: { of?: string; prev?: string } = {},
): TurnMessage {
  const data = bytes(JSON.stringify({ v: 3, saga: of, turn, prev: turn === 1 ? "" : prev, body }));
  return { data, hash: chainHash(data), headers: { [headers.turn]: String(turn) }, expectedSeq };
}

interface Strike {
  readonly code: ErrorCode;
  /** `lost`: never stored. `stored`: stored, and the answer is the failure. */
  readonly when: "lost" | "stored";
}

const lost = (code: ErrorCode): Strike => ({ code, when: "lost" });
const stored = (code: ErrorCode): Strike => ({ code, when: "stored" });

/** A ledger whose first appends fail as told; it keeps what it was given. */
function striking(ledger: LedgerPort, strikes: readonly (Strike | undefined)[]) {
  const given: string[] = [];
  const wrapped: LedgerPort = {
    ...ledger,
    append: async (of, message) => {
      const strike = strikes[given.length];
      given.push(JSON.stringify([of, message.expectedSeq, text(message.data)]));
      if (strike?.when === "lost") throw new MeshError(strike.code, "as told");
      const ack = await ledger.append(of, message);
      if (strike?.when === "stored") throw new MeshError(strike.code, "as told");
      return ack;
    },
  };
  return { ledger: wrapped, given };
}

function memory(replicas: 1 | 3, strikes: readonly (Strike | undefined)[] = []) {
  const mesh = createMemoryMesh({ seed: 1, replicas });
  const { ports, clock } = mesh.spawn("host");
  const { ledger, given } = striking(ports.ledger, strikes);
  const retries: string[] = [];
  const deps = { ledger, clock, onRetry: (reason: string) => retries.push(reason) };
  const append = (message: TurnMessage, signal = never) =>
    mesh.clock.until(appendTurn(deps, saga, message, signal));
  const turns = async () =>
    (await mesh.clock.until(ports.ledger.read(saga, 0, Number.MAX_SAFE_INTEGER))).map(({ data }) =>
      text(data),
    );
  return { mesh, ports, deps, append, turns, given, retries };
}

describe.each([1, 3] as const)("appendTurn, %i server(s) in memory", (replicas) => {
  test("an acked append is appended, at the sequence of the ack", async () => {
    const { append, turns, given } = memory(replicas);
    const first = messageOf(1, "a", 0);
    expect(await append(first)).toEqual({ type: "appended", seq: 1 });
    expect(await append(messageOf(2, "b", 1))).toEqual({ type: "appended", seq: 2 });
    expect(given).toHaveLength(2);
    expect(await turns()).toHaveLength(2);
  });

  test.each(["UNAVAILABLE", "WRITE_IN_FLIGHT", "DUPLICATE_IN_FLIGHT", "STORAGE_FULL"] as const)(
    "after %s the identical message is sent again, and stored once",
    async (code) => {
      const { append, turns, given, retries } = memory(replicas, [lost(code), lost(code), lost(code)]);
      expect(await append(messageOf(1, "a", 0))).toEqual({ type: "appended", seq: 1 });
      expect(given).toHaveLength(4);
      expect(new Set(given).size).toBe(1);
      expect(retries).toHaveLength(3);
      expect(await turns()).toHaveLength(1);
    },
  );

  test("an append whose answer was lost had been stored, and is appended once", async () => {
    const { append, turns, given } = memory(replicas, [stored("UNAVAILABLE"), stored("UNAVAILABLE")]);
    expect(await append(messageOf(1, "a", 0))).toEqual({ type: "appended", seq: 1 });
    expect(given.length).toBeGreaterThan(1);
    expect(new Set(given).size).toBe(1);
    expect(await turns()).toHaveLength(1);
  });

  test("a refusal that the ledger does not bear out is a deposed leader's: the message is sent again", async () => {
    const refused = lost("WRONG_SEQUENCE");
    const { append, turns, given } = memory(replicas, [undefined, refused, refused]);
    expect(await append(messageOf(1, "a", 0))).toEqual({ type: "appended", seq: 1 });
    expect(await append(messageOf(2, "b", 1))).toEqual({ type: "appended", seq: 2 });
    expect(given).toHaveLength(4);
    expect(await turns()).toHaveLength(2);
  });

  test("a refusal where there is nothing yet is a fence", async () => {
    const { append, given } = memory(replicas, [lost("WRONG_SEQUENCE")]);
    expect(await append(messageOf(1, "a", 0))).toEqual({ type: "fenced" });
    expect(given).toHaveLength(1);
  });

  test("another's turn of the same number is a fence, and stays the only one", async () => {
    const { append, turns } = memory(replicas);
    const [mine, theirs] = [messageOf(1, "mine", 0), messageOf(1, "theirs", 0)];
    expect(await append(theirs)).toEqual({ type: "appended", seq: 1 });
    expect(await append(mine)).toEqual({ type: "fenced" });
    expect(await turns()).toEqual([text(theirs.data)]);
  });

  test("another's turn that came while the answer was lost is a fence", async () => {
    const { append, ports, mesh, deps, turns } = memory(replicas, [lost("UNAVAILABLE")]);
    const theirs = messageOf(1, "theirs", 0);
    const mine = append(messageOf(1, "mine", 0));
    await mesh.clock.until(appendTurn({ ...deps, ledger: ports.ledger }, saga, theirs, never));
    expect(await mine).toEqual({ type: "fenced" });
    expect(await turns()).toEqual([text(theirs.data)]);
  });

  test("an append that was stored, and then followed by another's, is a fence: the saga is theirs", async () => {
    const { ports, mesh, deps } = memory(replicas);
    const mine = messageOf(1, "mine", 0);
    let given = 0;
    const ledger: LedgerPort = {
      ...ports.ledger,
      append: async (of, message) => {
        given += 1;
        if (given > 1) throw new MeshError("WRONG_SEQUENCE", "as one server says of a stored message");
        const { seq } = await ports.ledger.append(of, message);
        await ports.ledger.append(of, messageOf(2, "theirs", seq, { prev: mine.hash }));
        throw new MeshError("UNAVAILABLE", "as told");
      },
    };
    const outcome = await mesh.clock.until(appendTurn({ ...deps, ledger }, saga, mine, never));
    expect(outcome).toEqual({ type: "fenced" });
  });

  test.each([
    ["that is gone", []],
    ["that lost its last turns", [messageOf(1, "a", 0), messageOf(2, "b", 1)]],
    ["of which another host has gone on since", [1, 2, 3, 4].map((n) => messageOf(n, "theirs", n - 1))],
    ["that was set back, and is as long again", [1, 2, 3].map((n) => messageOf(n, "again", n - 1))],
  ])(
    "on a ledger %s nothing is appended, and that is believed as soon as no deposed leader answers (JR2)",
    async (_, there) => {
      const { append, turns, mesh, given, deps } = memory(replicas);
      for (const one of there) await append(one);
      const sent = given.length;
      const began = mesh.clock.now();
      // As the server says it whose last message of the subject is another than is expected.
      const ledger: LedgerPort = {
        ...deps.ledger,
        append: (of, message) =>
          message.expectedSeq === 3
            ? Promise.reject(new MeshError("WRONG_SEQUENCE", "3"))
            : deps.ledger.append(of, message),
      };
      const late = messageOf(4, "late", 3, { prev: "of a turn that is lost" });
      expect(await mesh.clock.until(appendTurn({ ...deps, ledger }, saga, late, never))).toEqual({
        type: "behind",
      });
      expect(mesh.clock.now() - began).toBeGreaterThanOrEqual(20_000);
      expect(mesh.clock.now() - began).toBeLessThan(25_000);
      expect(given).toHaveLength(sent);
      expect(await turns()).toHaveLength(there.length);
    },
  );

  test("an abort while it waits ends it with the reason, and sends nothing more", async () => {
    const strikes = Array.from({ length: 100 }, () => lost("UNAVAILABLE"));
    const { append, mesh, given } = memory(replicas, strikes);
    const controller = new AbortController();
    const reason = new Error("the host stops");
    mesh.clock.at(mesh.clock.now() + 60, () => controller.abort(reason));
    await expect(append(messageOf(1, "a", 0), controller.signal)).rejects.toBe(reason);
    const sent = given.length;
    await mesh.clock.advance(10_000);
    expect(given).toHaveLength(sent);
  });

  test("what no repetition can help is thrown, not taken for an answer", async () => {
    const { append } = memory(replicas, [lost("TOO_LARGE")]);
    await expect(append(messageOf(1, "a", 0))).rejects.toMatchObject({ code: "TOO_LARGE" });
  });

  test("a server that does not answer the read back is asked again", async () => {
    const { ports, mesh, deps, append } = memory(replicas);
    await append(messageOf(1, "theirs", 0));
    let asked = 0;
    const ledger: LedgerPort = {
      ...ports.ledger,
      last: async (of) => {
        asked += 1;
        if (asked < 3) throw new MeshError("UNAVAILABLE", "as told");
        return ports.ledger.last(of);
      },
    };
    const mine = messageOf(1, "mine", 0);
    expect(await mesh.clock.until(appendTurn({ ...deps, ledger }, saga, mine, never))).toEqual({
      type: "fenced",
    });
    expect(asked).toBe(3);
  });
});

describe.each([1, 3] as const)("what is foreign on the subject, %i server(s) in memory", (replicas) => {
  const disturbed = (strikes: readonly (Strike | undefined)[] = []) => {
    const { mesh, ports, deps, given, ...rest } = memory(replicas, strikes);
    const read: [number, number][] = [];
    const publish = (...bodies: string[]) => {
      for (const body of bodies)
        mesh.server.ledger.append(
          { subject: subjects.ledger(saga), data: bytes(body), headers: {} },
          () => {},
        );
    };
    const ledger: LedgerPort = {
      ...deps.ledger,
      read: (of, afterSeq, throughSeq) => {
        read.push([afterSeq, throughSeq]);
        return deps.ledger.read(of, afterSeq, throughSeq);
      },
    };
    const append = (message: TurnMessage) =>
      mesh.clock.until(appendTurn({ ...deps, ledger }, saga, message, never));
    const sent = () => given.map((one) => (JSON.parse(one) as [string, number, string])[2]);
    return { ...rest, mesh, ports, deps, given, ledger, append, publish, read, sent };
  };

  test("is no fence: the same bytes are sent again, after it", async () => {
    const { append, publish, mesh, sent } = disturbed();
    publish("on an id not yet started", "");
    await mesh.clock.advance(20);
    const first = messageOf(1, "a", 0);
    expect(await append(first)).toEqual({ type: "appended", seq: 3 });
    publish("{");
    await mesh.clock.advance(20);
    expect(await append(messageOf(2, "b", 3, { prev: first.hash }))).toEqual({ type: "appended", seq: 5 });
    expect(await append(messageOf(3, "c", 5))).toEqual({ type: "appended", seq: 6 });
    expect(new Set(sent()).size).toBe(3);
    expect(sent()).toHaveLength(5);
  });

  test("and follows our turn whose answer was lost does not hide it", async () => {
    const { append, publish, turns } = disturbed([stored("UNAVAILABLE")]);
    const mine = append(messageOf(1, "a", 0));
    publish("after it", "and again");
    expect(await mine).toMatchObject({ type: "appended" });
    expect((await turns()).filter((one) => one.includes('"body"'))).toHaveLength(1);
  });

  test("is told of, and a host that stood still meanwhile sends nothing after it", async () => {
    const { deps, ledger, publish, mesh, given } = disturbed();
    publish("junk", "{");
    await mesh.clock.advance(20);
    const met: number[] = [];
    const lapsed = { ...deps, ledger, hasLapsed: () => true, met: (_: unknown, n: number) => met.push(n) };
    const mine = appendTurn(lapsed, saga, messageOf(1, "a", 0), never);
    expect(await mesh.clock.until(mine)).toEqual({ type: "fenced" });
    expect(met).toEqual([2]);
    expect(given).toHaveLength(1);
  });

  test("does not hide another's turn before it or after it", async () => {
    const { append, publish, mesh, turns } = disturbed();
    publish("before");
    await mesh.clock.advance(20);
    await append(messageOf(1, "theirs", 0));
    publish("after");
    await mesh.clock.advance(20);
    expect(await append(messageOf(1, "mine", 0))).toEqual({ type: "fenced" });
    expect(await turns()).toHaveLength(3);
  });

  test("does not hide the tombstone of turns that are gone", async () => {
    const { append, publish, mesh, ports } = disturbed();
    await append(messageOf(1, "a", 0));
    await append(messageOf(2, "theirs", 1));
    const tombstone = JSON.stringify({ v: 1, type: "tombstone", saga, turns: 2, prev: "theirs" });
    await mesh.clock.until(
      ports.ledger.append(saga, {
        data: bytes(tombstone),
        headers: { [headers.event]: "archived" },
        expectedSeq: 2,
      }),
    );
    await mesh.clock.until(ports.ledger.purgeBefore(saga, 3));
    publish("after all");
    await mesh.clock.advance(20);
    expect(await append(messageOf(2, "mine", 1))).toEqual({ type: "fenced" });
  });

  test("of a thousand messages each is read once", async () => {
    const { append, publish, mesh, read } = disturbed();
    publish(...Array.from({ length: 1_000 }, (_, n) => `flood ${n}`));
    await mesh.clock.advance(20);
    const first = messageOf(1, "a", 0);
    expect(await append(first)).toEqual({ type: "appended", seq: 1_001 });
    publish("more");
    await mesh.clock.advance(20);
    expect(await append(messageOf(2, "b", 1_001, { prev: first.hash }))).toEqual({
      type: "appended",
      seq: 1_003,
    });
    const last = read.filter(([after]) => after > 0);
    expect(read.length - last.length).toBeLessThanOrEqual(3); // A replica that lags is asked again.
    expect(last.every(([after]) => after >= 1_000)).toBe(true); // The turn before, and what follows it.
  });

  test("and is removed while it is compared with stops nothing", async () => {
    const { publish, mesh, deps, ledger } = disturbed();
    publish("soon gone");
    await mesh.clock.advance(20);
    let given = 0;
    const removing: LedgerPort = {
      ...ledger,
      append: async (of, message) => {
        if (++given === 2) mesh.server.ledger.remove(of, 1);
        return ledger.append(of, message);
      },
    };
    const mine = messageOf(1, "a", 0);
    expect(await mesh.clock.until(appendTurn({ ...deps, ledger: removing }, saga, mine, never))).toEqual({
      type: "appended",
      seq: 2,
    });
  });
});

test.each([1, 3] as const)(
  "on %i a repeated append is refused, read back and found to be ours",
  async (replicas) => {
    const { append, ports, mesh } = memory(replicas);
    const message = messageOf(1, "a", 0);
    await append(message);
    await expect(mesh.clock.until(ports.ledger.append(saga, message))).rejects.toMatchObject({
      code: "WRONG_SEQUENCE",
    });
    expect(await append(message)).toEqual({ type: "appended", seq: 1 });
  },
);

describe("appendTurn on a real server", () => {
  let server: TestServer;
  let nc: NatsConnection;
  let other: NatsConnection;
  let ports: Ports & { close(): Promise<void> };
  let others: Ports & { close(): Promise<void> };
  beforeAll(async () => {
    server = await startTestServer();
    [nc, other] = [
      await connectNats({ servers: server.url, name: "test a" }),
      await connectNats({ servers: server.url, name: "test b" }),
    ];
    [ports, others] = [await openNatsPorts(nc), await openNatsPorts(other)];
  });
  afterAll(async () => {
    await ports.close();
    await others.close();
    await nc.close();
    await other.close();
    await server.stop();
  });
  const append = (through: Ports, of: string, message: TurnMessage, strikes: readonly Strike[] = []) =>
    appendTurn(
      { ledger: striking(through.ledger, strikes).ledger, clock: systemClock },
      sagaId(of),
      message,
      never,
    );

  test("a repeated append is refused with 10071, read back and found to be ours", async () => {
    const message = messageOf(1, "a", 0, { of: "again" });
    const first = await append(ports, "again", message);
    await expect(ports.ledger.append(sagaId("again"), message)).rejects.toMatchObject({
      code: "WRONG_SEQUENCE",
    });
    expect(await append(ports, "again", message)).toEqual(first);
  });

  test("an append whose answer was lost had been stored, and is appended once", async () => {
    const of = sagaId("lost");
    const message = messageOf(1, "a", 0, { of });
    const outcome = await append(ports, "lost", message, [stored("UNAVAILABLE"), lost("UNAVAILABLE")]);
    const last = await ports.ledger.last(of);
    expect(outcome).toEqual({ type: "appended", seq: last?.seq });
    expect(await ports.ledger.read(of, 0, last?.seq ?? 0)).toHaveLength(1);
  });

  test("of two hosts that race on one ledger one appends each turn, and the other is fenced", async () => {
    const of = sagaId("race");
    const wins = { a: 0, b: 0 };
    let [head, prev] = [0, ""];
    for (let turn = 1; turn <= 100; turn++) {
      // Now and then an answer is lost on the way: the race is then decided by the read back.
      const unlucky = turn % 7 === 0 ? [stored("UNAVAILABLE")] : turn % 5 === 0 ? [lost("UNAVAILABLE")] : [];
      // Somebody else publishes there too: before the two, or between them, so that one has not seen it.
      if (turn % 4 === 0) nc.publish(subjects.ledger(of), bytes("from elsewhere"));
      const a = append(ports, "race", messageOf(turn, "a", head, { of, prev }), unlucky);
      if (turn % 3 === 0) nc.publish(subjects.ledger(of), bytes(""));
      const b = append(others, "race", messageOf(turn, "b", head, { of, prev }));
      const outcomes: Appended[] = await Promise.all([a, b]);
      const appended = outcomes.filter((outcome) => outcome.type === "appended");
      expect(appended).toHaveLength(1);
      const [winner] = appended;
      if (winner?.type !== "appended") throw new Error("one of them appended");
      wins[outcomes[0] === winner ? "a" : "b"] += 1;
      const [own] = await ports.ledger.read(of, winner.seq - 1, winner.seq);
      expect(text(own?.data ?? bytes(""))).toContain(outcomes[0] === winner ? '"a"' : '"b"');
      [head, prev] = [winner.seq, chainHash(own?.data ?? bytes(""))];
    }
    const all = await ports.ledger.read(of, 0, head);
    expect(all.filter((message) => claimOf(message) !== undefined)).toHaveLength(100);
    expect(all.length).toBeGreaterThan(140);
    expect(wins.a + wins.b).toBe(100);
  });
});
