/**
 * Goal: what a model is told when an agent wakes is the same whether it came from segments or from a fold of the whole ledger,
 * and with segments the ledger is not read from its first turn. What a decision costs does not grow with what was said before.
 * Method: the rule of segments over random sequences; then an agent on the memory mesh that makes decisions, sleeps and is
 * woken, its entries damaged or not, with a shelf of snapshots of the test's own and a ledger that counts what is read; and
 * hashes that count what is hashed.
 */
import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type * as digests from "../../../protocol/digest.ts";
import type { ModelMessage } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import {
  conversationAfter,
  laidBy,
  nextSegment,
  wholeConversation,
} from "../../../services/host/conversation.ts";
import { type Host, startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Ports, SnapshotPort } from "../../../services/wire/ports.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";

const hashed = vi.hoisted(() => ({ characters: 0 }));
vi.mock("../../../protocol/digest.ts", async (importActual) => {
  const actual = await importActual<typeof digests>();
  const sha256: typeof actual.sha256 = (data) => {
    hashed.characters += data.length;
    return actual.sha256(data);
  };
  return { ...actual, sha256 };
});

const said = (n: number): ModelMessage => ({ role: "user", at: n, parts: [] });

/** Adds so many, stores a segment, or forgets what is in memory and goes on from what is stored. */
const deed = fc.oneof(
  fc.record({ does: fc.constant("say" as const), count: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ does: fc.constant("store" as const) }),
  fc.record({ does: fc.constant("store while it talks" as const) }),
  fc.record({ does: fc.constant("sleep" as const), reads: fc.boolean() }),
);

describe("the segments of a conversation", () => {
  test("hold all that was said, once and in order, whatever was stored and forgotten between", () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 60 }), (deeds) => {
        const shelf = new Map<number, readonly ModelMessage[]>();
        let conversation = wholeConversation([]);
        let stored = 0; // Of what was said.
        let [all, next] = [0, 0];
        const say = (count: number) => {
          for (let n = 0; n < count; n++) conversation.since.push(said(all++));
        };
        const store = (more: number) => {
          const segment = nextSegment(conversation);
          if (segment === undefined) return say(more);
          const through = all;
          say(more);
          shelf.set(segment.place, segment.messages);
          laidBy(conversation, segment, String(next++));
          stored = through;
        };
        const read = () =>
          (conversation.segments ?? []).flatMap(({ messages }, at) => {
            const held = shelf.get(at + 1)!;
            expect(held).toHaveLength(messages);
            return held;
          });
        for (const one of deeds) {
          if (one.does === "say") say(one.count);
          if (one.does === "store") store(0);
          if (one.does === "store while it talks") store(2);
          if (one.does !== "sleep") continue;
          // Folded onto the snapshot: what was said since it was stored.
          const since = Array.from({ length: all - stored }, (_, n) => said(stored + n));
          conversation = { ...conversationAfter(conversation.segments), since };
          if (one.reads) conversation.before = read();
        }
        const whole = [...(conversation.before ?? read()), ...conversation.since];
        expect(whole.map((one) => ("at" in one ? one.at : undefined))).toEqual(
          Array.from({ length: all }, (_, n) => n),
        );
        expect(read()).toEqual(whole.slice(0, stored));
      }),
      { numRuns: 300 },
    );
  });

  test("are few, and each message is written few times, however often a little is stored", () => {
    const conversation = wholeConversation([]);
    let written = 0;
    for (let n = 0; n < 4_000; n++) {
      conversation.since.push(said(n));
      const segment = nextSegment(conversation)!;
      written += segment.messages.length;
      laidBy(conversation, segment, "d");
    }
    expect(conversation.segments!.length).toBeLessThanOrEqual(13); // log2 of 4,000, and one.
    expect(written).toBeLessThan(4_000 * 13);
  });
});

const saga = sagaId("s1");

/** Searches so many times, then waits for `go`; after each it is asked again. */
function open(decisions: number) {
  const search = defineTool({
    name: "search",
    description: "finds a text",
    effect: "read",
    placement: "host",
    input: z.object({ query: z.string() }),
    output: z.object({ text: z.string() }),
    perform: async ({ query }) => Promise.resolve({ text: `found ${query}` }),
  });
  const waiter = defineAgent({
    name: "waiter",
    version: 1,
    description: "searches, then waits",
    model: "script",
    instructions: "Search, then wait.",
    input: z.object({}),
    output: z.object({}),
    signals: { go: z.object({}) },
    tools: [search],
  });
  const asked: string[] = [];
  const hashedBefore: number[] = [];
  const script = scriptedModel("script", ({ step, messages }) => {
    hashedBefore.push(hashed.characters);
    // Times are the run's own.
    asked.push(JSON.stringify(messages, (key, value: unknown) => (key === "at" ? 0 : value)));
    return step < decisions
      ? { calls: [{ tool: "search", input: { query: `number ${step}` } }] }
      : { calls: [{ tool: "wait", input: { signals: ["go"] } }] };
  });
  const app = defineApp({ sagas: [waiter], models: { script } });
  const mesh = createMemoryMesh({ seed: 1 });
  const client = mesh.spawn("client");
  const shelf = new Map<string, Uint8Array>();
  const snapshots: SnapshotPort = {
    get: async (_, name = "") => Promise.resolve(shelf.get(name)),
    put: async (_, data, name = "") => Promise.resolve(void shelf.set(name, data)),
    sagas: async () => Promise.resolve(new Set()),
    drop: async () => Promise.resolve(shelf.clear()),
  };
  const read = { turns: 0 };
  let host: Host | undefined;
  const publish = (subject: string, body: unknown) =>
    mesh.clock.until(
      client.ports.inbox.publish({ subject, data: Buffer.from(JSON.stringify(body)), headers: {} }),
    );
  const sleep = async () => {
    const isAsleep = () => mesh.server.open().inbox === 0 && host?.resident() === 0;
    for (let quiet = 0; quiet < 3; quiet = isAsleep() ? quiet + 1 : 0) await mesh.clock.advance(500);
  };
  return {
    shelf,
    read,
    /** How many characters were hashed between the n-th decision and the one after it. */
    hashedFor: (n: number) => hashedBefore[n]! - hashedBefore[n - 1]!,
    begin: async () => {
      const { ports, clock, chance, gate } = mesh.spawn("host");
      const ledger: Ports["ledger"] = {
        ...ports.ledger,
        read: async (...range) => {
          const messages = await ports.ledger.read(...range);
          read.turns += messages.length;
          return messages;
        },
      };
      const options = { clock, chance, log: silentLog, incarnation: gate.name, callbackBase: "sagamesh:" };
      host = await mesh.clock.until(startHost({ ...options, ports: { ...ports, ledger, snapshots } }, app));
      await publish(`saga.${saga}.start`, { name: "waiter", input: {} });
      await sleep();
    },
    /** What the model is told then. */
    wake: async () => {
      read.turns = 0;
      const before = asked.length;
      await publish(`saga.${saga}.signal.go`, {});
      await sleep();
      const [told = "nothing", ...others] = asked.slice(before);
      return others.length === 0 ? told : "more than once";
    },
  };
}

describe("an agent that wakes", () => {
  test("tells its model all of a long conversation, and reads the ledger only from its snapshot on", async () => {
    for (const decisions of [30, 150]) {
      const mesh = open(decisions);
      await mesh.begin();
      const heard = await mesh.wake();
      for (let n = 1; n < decisions; n++) expect(heard).toContain(`found number ${n}"`);
      expect(mesh.read.turns).toBeLessThan(25);
      expect([...mesh.shelf.keys()].filter((name) => name.startsWith("said-")).length).toBeGreaterThan(0);
    }
  });

  const damages: Record<string, (shelf: Map<string, Uint8Array>) => void> = {
    "are gone": (shelf) =>
      [...shelf.keys()].forEach((name) => name.startsWith("said-") && shelf.delete(name)),
    "are another's": (shelf) =>
      shelf.forEach((entry, name) => {
        const other = Uint8Array.from(entry);
        other[other.length - 2]! ^= 1;
        if (name.startsWith("said-")) shelf.set(name, other);
      }),
    "are gone with its snapshot": (shelf) => shelf.clear(),
  };
  test.each(Object.keys(damages))("whose segments %s tells its model the same", async (what) => {
    const [sound, damaged] = [open(40), open(40)];
    await sound.begin();
    await damaged.begin();
    damages[what]!(damaged.shelf);
    expect(await damaged.wake()).toBe(await sound.wake());
    expect(damaged.read.turns).toBeGreaterThanOrEqual(80);
    for (let woken = 0; woken < 25; woken++) expect(await damaged.wake()).toBe(await sound.wake());
    expect(damaged.read.turns).toBeLessThan(40); // They were made again.
  });
});

describe("an agent that goes on", () => {
  test("hashes for its 290th decision what it hashes for its 20th", async () => {
    const mesh = open(300);
    await mesh.begin();
    const least = (from: number) =>
      Math.min(...Array.from({ length: 8 }, (_, n) => mesh.hashedFor(from + n)));
    expect(least(20)).toBeGreaterThan(0);
    expect(least(290)).toBeLessThan(1.2 * least(20));
  });
});
