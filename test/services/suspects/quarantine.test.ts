/**
 * The quarantine: what becomes of deliveries that came before, and whose deaths prove what.
 *
 * Method: memory ports in virtual time, and children that are scripted, because which of them dies when must be exact.
 * Real ones are in test/end-to-end/poison.test.ts.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../../protocol/limits.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import type { Delivery, Ports } from "../../../services/wire/ports.ts";
import type { FromChild, ToChild } from "../../../services/suspects/child.ts";
import { type Mark, readMark, writeMark } from "../../../services/suspects/mark.ts";
import { createQuarantine, type Quarantine } from "../../../services/suspects/quarantine.ts";
import { createReturns, type Returns } from "../../../services/suspects/returns.ts";

interface ScriptedChild {
  readonly told: ToChild[];
  say(message: FromChild): void;
  die(how: string): void;
  /** Its parent ended it. */
  isEnded: boolean;
}

let mesh: ReturnType<typeof createMemoryMesh>;
let ports: Ports;
let children: ScriptedChild[];
let onChild: (child: ScriptedChild, message: ToChild) => void;
let given: string[];
let calls: string[];
let returns: Returns;
let living: Set<string>;

beforeEach(() => {
  mesh = createMemoryMesh({ seed: 1, replicas: 1 });
  ports = mesh.spawn("host").ports;
  children = [];
  onChild = () => undefined;
  given = [];
  calls = [];
  returns = createReturns();
  living = new Set();
});

const pass = (ms = 100) => mesh.clock.advance(ms);

function openQuarantine(isOurs?: (key: string) => Promise<boolean>): Quarantine {
  return createQuarantine({
    ...(isOurs === undefined ? {} : { isOurs }),
    ports,
    clock: mesh.clock,
    log: silentLog,
    incarnation: "me",
    returns,
    isAlive: (incarnation) => living.has(incarnation),
    evict: async (key) => void calls.push(`evict ${key}`),
    settlesInChild: false,
    giveUp: async (key, deliveries) =>
      void calls.push(`give up ${key} ${deliveries.map(({ seq }) => seq).join()}`),
    isolate: async (hear) => {
      const ended = Promise.withResolvers<string>();
      const child: ScriptedChild = {
        told: [],
        say: hear,
        die: ended.resolve,
        isEnded: false,
      };
      children.push(child);
      return {
        pid: children.length,
        send: (message) => {
          child.told.push(message);
          onChild(child, message);
        },
        end: () => {
          child.isEnded = true;
          ended.resolve("SIGKILL");
        },
        ended: ended.promise,
      };
    },
  });
}

const delivered = (seq: number, deliveries: number): Delivery => ({
  subject: `inbox.0.a.signal.${seq}`,
  seq,
  headers: {},
  data: new Uint8Array(),
  storedAt: 0,
  deliveries,
  ack: async () => void given.push(`ack ${seq}`),
  nak: async (delayMs) => void given.push(delayMs === undefined ? `nak ${seq}` : `nak ${seq} ${delayMs}`),
  working: () => undefined,
});

const of = (key: string, by: string, more: Partial<Mark> = {}) =>
  writeMark(ports.suspects, key, { by, at: 0, isSuspect: false, isAlone: false, victims: 0, ...more });

const put = async (key: string, by: string, more: Partial<Mark> = {}) => {
  const written = of(key, by, more);
  await pass();
  await written;
};

const markOn = async (key: string): Promise<Mark | undefined> => {
  const found = readMark(ports.suspects, key);
  await pass();
  return (await found)?.mark;
};

/** Dies of these inputs as soon as it has one of them; takes all others without harm. */
const diesOf =
  (...seqs: number[]) =>
  (child: ScriptedChild, message: ToChild) => {
    if (message.type !== "offer" || child.isEnded) return;
    if (seqs.includes(message.handed.seq)) return child.die("SIGABRT");
    child.say({ type: "ack", key: message.key, seq: message.handed.seq });
    child.say({ type: "quiet", key: message.key });
  };

describe("quarantine", () => {
  test("a first delivery passes at once, and nothing is written", async () => {
    let passed = false;
    openQuarantine().take("saga.a", 0, delivered(1, 1), () => (passed = true));
    expect(passed).toBe(true);
    expect(await markOn("saga.a")).toBeUndefined();
  });

  test("what was delivered before is taken here once its mark is put, in the order in which it came", async () => {
    const quarantine = openQuarantine();
    const passed: number[] = [];
    quarantine.take("saga.a", 0, delivered(1, 2), () => passed.push(1));
    quarantine.take("saga.a", 0, delivered(2, 1), () => passed.push(2));
    expect(passed).toEqual([]);
    await pass();
    expect(passed).toEqual([1, 2]);
    expect(await markOn("saga.a")).toMatchObject({ by: "me", isSuspect: false });
    quarantine.tidy(() => true);
    expect(await markOn("saga.a")).toBeDefined();
    quarantine.tidy(() => false);
    expect(await markOn("saga.a")).toBeUndefined();
    expect(children).toEqual([]);
  });

  test("what comes back to the process that had it passes at once, and nothing is written, whatever its incarnation (QA2)", async () => {
    const passed: string[] = [];
    for (const incarnation of [1, 2, 3]) {
      const quarantine = openQuarantine();
      quarantine.take("saga.a", 0, delivered(1, incarnation), () => passed.push(`a ${incarnation}`));
      quarantine.take("saga.b", 0, delivered(2, 7 + incarnation), () => passed.push(`b ${incarnation}`));
      await pass();
      void quarantine.forget(); // As its host does when it lapses.
      void quarantine.end();
      await pass();
    }
    expect(passed).toEqual(["a 1", "b 1", "a 2", "b 2", "a 3", "b 3"]);
    expect(await markOn("saga.a")).toBeUndefined();
    expect(children).toEqual([]);
  });

  test("what another process had in between is no return: it bears a mark (JE1)", async () => {
    const quarantine = openQuarantine();
    quarantine.take("saga.a", 0, delivered(1, 1), () => undefined);
    quarantine.take("saga.a", 0, delivered(1, 3), () => undefined);
    await pass();
    expect(await markOn("saga.a")).toMatchObject({ by: "me", isSuspect: false });
  });

  test("the mark of a process that lives is no suspicion, and that of one that is gone a moment later is (QA3)", async () => {
    const passed: string[] = [];
    onChild = diesOf();
    for (const key of ["saga.a", "saga.b"]) await put(key, `owner of ${key}`);
    living = new Set(["owner of saga.a", "owner of saga.b"]);
    const quarantine = openQuarantine();
    for (const [at, key] of ["saga.a", "saga.b"].entries())
      quarantine.take(key, 0, delivered(at, 2), () => passed.push(key));
    await pass();
    expect(passed).toEqual([]);
    living.delete("owner of saga.b");
    await pass(limits.hostTtlMs + limits.hostBeatMs);
    expect(passed).toEqual(["saga.a"]);
    expect(calls).toEqual(["evict saga.b"]);
  });

  test("however many suspects come at once, only some are in children, and all are cleared (QA4)", async () => {
    const count = 3 * limits.suspectsAtOnceMax;
    for (let k = 0; k < count; k++) await put(`saga.s${k}`, "dead host");
    let most = 0;
    const inside = new Set<string>();
    onChild = (child, message) => {
      if (message.type !== "offer") return;
      inside.add(message.key);
      most = Math.max(most, inside.size);
      mesh.clock.after(50, () => {
        inside.delete(message.key);
        child.say({ type: "ack", key: message.key, seq: message.handed.seq });
        child.say({ type: "quiet", key: message.key });
      });
    };
    const quarantine = openQuarantine();
    for (let k = 0; k < count; k++) quarantine.take(`saga.s${k}`, 0, delivered(k, 2), () => undefined);
    await pass(10_000);
    expect(most).toBe(limits.suspectsAtOnceMax);
    expect(given.filter((one) => one.startsWith("ack"))).toHaveLength(count);
    expect(children).toHaveLength(1);
  });

  test("what bears another's mark is taken in a child, and is cleared once that has done with it", async () => {
    await put("saga.a", "dead host");
    onChild = diesOf();
    openQuarantine().take("saga.a", 0, delivered(1, 2), () => calls.push("taken here"));
    await pass();
    expect(calls).toEqual(["evict saga.a"]);
    expect(given).toEqual(["ack 1"]);
    expect(await markOn("saga.a")).toBeUndefined();
    await pass(limits.lingerMs);
    expect(children.map(({ isEnded }) => isEnded)).toEqual([true]);
  });

  test("what this process lacks the code for passes without a mark, and what bears one stays a suspect", async () => {
    const own = { by: "dead host", isSuspect: false };
    await put("saga.a", "dead host");
    const quarantine = openQuarantine((key) => Promise.resolve(key === "saga.c"));
    for (const key of ["saga.a", "saga.b", "saga.c"])
      quarantine.take(key, 0, delivered(1, 2), () => calls.push(`passed ${key}`));
    await pass();
    expect(calls.sort()).toEqual(["passed saga.a", "passed saga.b", "passed saga.c"]);
    expect(children).toEqual([]);
    expect(await markOn("saga.a")).toMatchObject(own);
    expect(await markOn("saga.b")).toBeUndefined();
    expect(await markOn("saga.c")).toMatchObject({ by: "me" });
  });

  test("what goes to another process bears no mark of this one", async () => {
    const quarantine = openQuarantine();
    quarantine.take("saga.a", 0, delivered(1, 2), () => undefined);
    await pass();
    expect(await markOn("saga.a")).toMatchObject({ by: "me" });
    const unmarked = quarantine.unmark("saga.a");
    await pass();
    await unmarked;
    expect(await markOn("saga.a")).toBeUndefined();
  });

  test("a child that had two suspects is no victim of either; alone, one is cleared and one set aside after three", async () => {
    await put("saga.a", "dead host");
    await put("saga.b", "dead host");
    // Both are in the first child when it dies.
    onChild = (child, message) => {
      if (child !== children[0]) return diesOf(2)(child, message);
      if (child.told.filter(({ type }) => type === "offer").length === 2) child.die("SIGABRT");
    };
    const quarantine = openQuarantine();
    quarantine.take("saga.a", 0, delivered(1, 3), () => calls.push("taken here"));
    quarantine.take("saga.b", 0, delivered(2, 3), () => calls.push("taken here"));
    await pass(5_000);
    expect(calls.sort()).toEqual(["evict saga.a", "evict saga.b", "give up saga.b 2"]);
    expect(given).toEqual(["ack 1"]);
    expect(children.length).toBe(1 + 1 + limits.victimsMax);
    expect([await markOn("saga.a"), await markOn("saga.b")]).toEqual([undefined, undefined]);
  });

  test("of several inputs only the one that each child died with is set aside", async () => {
    await put("saga.a", "dead host");
    // What comes first stays un-acked, as where something runs for it.
    onChild = (child, message) => {
      if (message.type === "offer" && message.handed.seq === 2) child.die("SIGSEGV");
      else if (message.type === "offer" && message.handed.seq === 1)
        child.say({ type: "ack", key: message.key, seq: 1 });
    };
    const quarantine = openQuarantine();
    for (const seq of [1, 2, 3]) quarantine.take("saga.a", 0, delivered(seq, 3), () => undefined);
    await pass(10_000);
    expect(calls.at(-1)).toBe("give up saga.a 2");
    expect(given).toEqual(["ack 1", "nak 3"]);
    expect(await markOn("saga.a")).toMatchObject({ isSuspect: true, isAlone: true, victims: 0 });
  });

  test("a child that says why it ends, or that its parent ends, proves nothing, and all is given back", async () => {
    await put("saga.a", "dead host");
    onChild = (child) => {
      child.say({ type: "excused", reason: "no server" });
      child.die("0");
    };
    openQuarantine().take("saga.a", 0, delivered(1, 2), () => undefined);
    await pass();
    expect(given).toEqual([`nak 1 ${limits.earlyInputDelayMs}`]);
    onChild = () => undefined;
    const quarantine = openQuarantine();
    quarantine.take("saga.a", 0, delivered(1, 3), () => undefined);
    await pass();
    void quarantine.end();
    await pass();
    expect(given.slice(1)).toEqual(["nak 1"]);
    expect(await markOn("saga.a")).toMatchObject({ victims: 0, isSuspect: true });
  });

  test("a child that says nothing for too long hangs, and is ended as a victim", async () => {
    await put("saga.a", "dead host");
    const quarantine = openQuarantine();
    quarantine.take("saga.a", 0, delivered(1, 2), () => undefined);
    await pass();
    for (let beat = 0; beat <= limits.childSilentBeatsMax; beat += 1) quarantine.beat();
    await pass();
    expect(children[0]?.isEnded).toBe(true);
    expect(await markOn("saga.a")).toMatchObject({ victims: 1 });
  });

  test("a host that died after three victims has the next one try once more before it sets anything aside", async () => {
    await put("saga.a", "dead host", { isSuspect: true, victims: limits.victimsMax });
    onChild = diesOf(1);
    openQuarantine().take("saga.a", 0, delivered(1, 2), () => undefined);
    await pass();
    expect(children.length).toBe(1);
    expect(calls).toEqual(["evict saga.a", "give up saga.a 1"]);
  });
});
