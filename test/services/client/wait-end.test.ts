/**
 * Goal: waiting for an end costs the same however many turns come before it, and ends whatever becomes of the host's notice.
 * Method: ledgers of the noting machine written turn by turn while a client waits on a memory mesh whose ledger counts what is
 * read of it. Then notices that are lost, an end that is followed by a correction, and messages that are no turns.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineSaga } from "../../../actors/saga/define.ts";
import { encodeJson } from "../../../protocol/codec.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { lanes } from "../../../protocol/live.ts";
import { toStored, type Turn } from "../../../protocol/turn.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { given, signalled, started } from "../../../services/testing/given.ts";
import { bytes } from "../../contract/mesh-under-test.ts";
import { notingMachine } from "../../support/noting.ts";

const noting = defineSaga({
  name: "noting",
  version: 1,
  input: z.object({}),
  output: z.object({ notes: z.int() }),
  signals: { note: z.object({}), end: z.object({}) },
  machine: notingMachine,
});
const saga = parseSagaId("s1");

/** A client that waits, and a ledger that grows beside it as a host would write it. */
function open({ notes, isTold = true }: { notes: number; isTold?: boolean }) {
  const mesh = createMemoryMesh({ seed: 1 });
  const host = mesh.spawn("host");
  const caller = mesh.spawn("ana");
  const read = { messages: 0, follows: 0 };
  const { ledger } = caller.ports;
  const counted: typeof ledger = {
    ...ledger,
    last: async (of) => ((read.messages += 1), ledger.last(of)),
    first: async (of) => ((read.messages += 1), ledger.first(of)),
    read: async (...range) => {
      const all = await ledger.read(...range);
      read.messages += all.length;
      return all;
    },
    follow: (options) => ((read.follows += 1), ledger.follow(options)),
  };
  const client = createClient(
    { ...caller, ports: { ...caller.ports, ledger: counted }, from: "ana" },
    async () => undefined,
  );
  const { turns } = given(
    noting,
    started({}),
    ...Array.from({ length: notes }, () => signalled("note", {})),
    signalled("end", {}),
  );
  let [prev, expectedSeq] = ["", 0];
  const heads: { readonly prev: string; readonly expectedSeq: number }[] = [];
  const append = async (turn: Turn) => {
    const data = encodeJson(toStored({ ...turn, saga, prev }));
    prev = chainHash(data);
    ({ seq: expectedSeq } = await mesh.clock.until(
      host.ports.ledger.append(saga, { data, headers: { "Saga-Turn": String(turn.turn) }, expectedSeq }),
    ));
    heads.push({ prev, expectedSeq });
  };
  const write = async (all: readonly Turn[]) => {
    for (const turn of all) await append(turn);
  };
  const tell = () => {
    if (isTold) host.ports.live.publish(saga, lanes.end, bytes("{}"));
  };
  const foreign = async (text: string) => {
    ({ seq: expectedSeq } = await mesh.clock.until(
      host.ports.ledger.append(saga, { data: bytes(text), headers: {}, expectedSeq }),
    ));
  };
  /** To the turn of this number: what comes next follows it. */
  const setBack = (turn: number) => {
    ({ prev, expectedSeq } = heads[turn - 1]!);
    mesh.server.ledger.setBack(expectedSeq);
  };
  return { clock: mesh.clock, client, read, turns, write, tell, foreign, setBack };
}

describe("waiting for an end", () => {
  test("reads some messages of a saga of 20 turns and some of one of 500, as often as it looks, and follows neither", async () => {
    const cost = async (notes: number) => {
      const { clock, client, read, turns, write, tell } = open({ notes });
      await write(turns.slice(0, 1));
      const result = client.saga(noting, "s1").result();
      await clock.advance(10);
      await write(turns.slice(1));
      tell();
      expect(await clock.until(result)).toMatchObject({ status: "completed", output: { notes } });
      return read;
    };
    for (const notes of [18, 498]) {
      const { messages, follows } = await cost(notes);
      expect(follows).toBe(0);
      expect(messages).toBeLessThan(18);
    }
  });

  test("a saga that sleeps is looked at once in five seconds, and its turns are read once", async () => {
    const { clock, client, read, turns, write } = open({ notes: 100 });
    await write(turns.slice(0, -1));
    const over = new AbortController();
    const result = client.saga(noting, "s1").result({ signal: over.signal });
    result.catch(() => undefined);
    await clock.advance(60_000);
    const { messages } = read;
    expect(messages).toBeGreaterThan(100);
    await clock.advance(100_000);
    expect(read.messages - messages).toBeLessThanOrEqual(2 * 21); // The last turn, and the one that it stands on.
    over.abort();
    await expect(clock.until(result)).rejects.toThrow(/abort/i);
  });

  test("an end whose notice was lost is found within five seconds", async () => {
    const { clock, client, turns, write } = open({ notes: 3, isTold: false });
    await write(turns.slice(0, -1));
    const result = client.saga(noting, "s1").result();
    await clock.advance(60_000);
    await write(turns.slice(-1));
    const from = clock.now();
    expect(await clock.until(result)).toMatchObject({ output: { notes: 3 } });
    expect(clock.now() - from).toBeLessThanOrEqual(5_100);
  });

  test("a ledger that is put back under one who had seen more is told as LEDGER_BEHIND, once no leader can be the cause", async () => {
    const { clock, client, turns, write, setBack } = open({ notes: 30 });
    await write(turns.slice(0, -1));
    const result = client.saga(noting, "s1").result();
    const told = result.catch((error: unknown) => (error as { code?: string }).code);
    let hasTold = false;
    void told.then(() => (hasTold = true));
    await clock.advance(10_000);
    setBack(10);
    await clock.advance(15_000);
    expect(hasTold).toBe(false);
    await clock.advance(20_000);
    expect(hasTold).toBe(true);
    expect(await told).toBe("LEDGER_BEHIND");
  });

  test("and one that grew on from there, other turns in the place of those, as well", async () => {
    const { clock, client, turns, write, setBack } = open({ notes: 30 });
    await write(turns.slice(0, -1));
    const told = client
      .saga(noting, "s1")
      .result()
      .catch((error: unknown) => (error as { code?: string }).code);
    await clock.advance(10_000);
    setBack(10);
    await write(turns.slice(10).map((turn) => ({ ...turn, host: "another" })));
    expect(await clock.until(told)).toBe("LEDGER_BEHIND");
  });

  test.each(["told of", "not told of"])(
    "an end that is %s and followed by what is no end is found, also beside messages that are no turns",
    async (how) => {
      const { clock, client, turns, write, tell, foreign } = open({ notes: 3, isTold: how === "told of" });
      await write(turns.slice(0, 2));
      await foreign("junk");
      await write(turns.slice(2));
      const late: Turn = {
        ...turns.at(-1)!,
        turn: turns.length + 1,
        steps: [{ event: { type: "adopted" }, intents: [], closed: [] }],
      };
      await write([late]);
      await foreign("more junk");
      const result = client.saga(noting, "s1").result();
      tell();
      expect(await clock.until(result)).toMatchObject({ output: { notes: 3 } });
    },
  );
});
