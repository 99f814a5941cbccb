/**
 * Goal: an id that was never started is told at once at every door, one whose start is stored is a saga at every door that
 * needs no ledger, and with `early` a later start is waited for.
 * Method: every method of a handle and every reading of a mesh on a memory mesh whose clock stands still meanwhile; then
 * with a start that no host takes, that a host refuses, and that comes later.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineSaga } from "../../../actors/saga/define.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { defineApp } from "../../../services/app/app.ts";
import { readLetters } from "../../../services/client/dead.ts";
import { createClient, type Mesh, type SagaHandle } from "../../../services/client/mesh.ts";
import { signalSaga } from "../../../services/client/signal.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { codeOf } from "../../contract/mesh-under-test.ts";
import { notingMachine } from "../../support/noting.ts";

const define = (input: z.ZodObject<{ n: z.ZodNumber }>) =>
  defineSaga({
    name: "noting",
    version: 1,
    input,
    output: z.object({ notes: z.int() }),
    signals: { note: z.object({}), end: z.object({}) },
    machine: notingMachine,
  });
const noting = define(z.object({ n: z.number() }));
const strict = define(z.object({ n: z.number().max(5) }));

function open() {
  const mesh = createMemoryMesh({ seed: 1 });
  const caller = { ...mesh.spawn("ana"), from: "ana" };
  const client = createClient(caller, async () => undefined);
  const host = (serves: typeof noting) =>
    mesh.clock.until(
      startHost(
        { ...mesh.spawn("host"), log: silentLog, callbackBase: "sagamesh:", incarnation: "h" },
        defineApp({ sagas: [serves] }),
      ),
    );
  return { clock: mesh.clock, client, caller, host };
}

const firstOf = (source: AsyncIterable<unknown>) => source[Symbol.asyncIterator]().next();

type Handle = SagaHandle<unknown, typeof noting.signals>;

/** What needs no turn of the saga. */
const speaking: Record<string, (handle: Handle) => Promise<unknown>> = {
  signal: (handle) => handle.signal("note", {}),
  "a signal that every saga takes": (handle) => handle.signal("pause", {}),
  cancel: (handle) => handle.cancel("no"),
  ledger: (handle) => handle.ledger(),
};
/** What waits for turns. */
const waiting: Record<string, (handle: Handle) => Promise<unknown>> = {
  result: (handle) => handle.result(),
  entries: (handle) => firstOf(handle.entries()),
  tokens: (handle) => firstOf(handle.tokens()),
};
/** What reads turns. */
const reading: Record<string, (mesh: Mesh, id: string) => Promise<unknown>> = {
  settle: (mesh, id) => mesh.settle(`${id}.2-0`, { failed: "no" }),
  describe: (mesh, id) => mesh.describe(id),
  task: (mesh, id) => mesh.task({ saga: id, intent: "2-0" }),
  fork: (mesh, id) => mesh.fork(noting, id, { from: 1 }),
};

describe("an id that was never started", () => {
  test.each(Object.keys({ ...speaking, ...waiting }))("is SAGA_UNKNOWN at once: %s", async (door) => {
    const { clock, client } = open();
    const handle = client.saga(noting, "nobody") as Handle;
    const before = clock.now();
    expect(await clock.until(codeOf({ ...speaking, ...waiting }[door]!(handle)))).toBe("SAGA_UNKNOWN");
    expect(clock.now() - before).toBeLessThan(100);
    expect(await clock.until(codeOf({ ...speaking, ...waiting }[door]!(client.anySaga("nobody"))))).toBe(
      "SAGA_UNKNOWN",
    );
  });

  test.each(Object.keys(reading))("is SAGA_UNKNOWN at once: %s", async (door) => {
    const { clock, client } = open();
    expect(await clock.until(codeOf(reading[door]!(client, "nobody")))).toBe("SAGA_UNKNOWN");
  });

  test("leaves nothing behind that a host would have to refuse", async () => {
    const { clock, client, caller, host } = open();
    await clock.until(codeOf(client.saga(noting, "nobody").signal("note", {})));
    await host(noting);
    await clock.advance(2 * limits.earlyInputMs);
    expect(await clock.until(readLetters(caller))).toEqual([]);
  });
});

describe("a saga whose start is stored and which no host has taken", () => {
  const stored = async () => {
    const opened = open();
    await opened.clock.until(opened.client.start(noting, { n: 9 }, { id: "s1" }));
    return opened;
  };

  test.each(Object.keys(speaking))("is spoken to like any other: %s", async (door) => {
    const { clock, client } = await stored();
    expect(await clock.until(codeOf(speaking[door]!(client.saga(noting, "s1") as Handle)))).toBe("none");
  });

  test.each(Object.keys(reading))("is SAGA_NOT_BEGUN to those who read its turns: %s", async (door) => {
    const { clock, client } = await stored();
    expect(await clock.until(codeOf(reading[door]!(client, "s1")))).toBe("SAGA_NOT_BEGUN");
  });

  test("is signalled by name, and what it declares is checked where a host has registered it", async () => {
    const { clock, client, caller, host } = open();
    await host(strict);
    await clock.until(client.start(noting, { n: 3 }, { id: "served" }));
    await clock.advance(100);
    await clock.until(client.start({ ...noting, name: "unserved" }, { n: 3 }, { id: "s1" }));
    const send = (name: string) =>
      clock.until(codeOf(signalSaga(caller, parseSagaId("s1"), { name, data: {} })));
    expect(await send("note")).toBe("none");
    expect(await clock.until(codeOf(signalSaga(caller, parseSagaId("served"), { name: "x", data: 1 })))).toBe(
      "SIGNAL_UNKNOWN",
    );
  });

  test("is waited for, and hears what was said to it once it begins", async () => {
    const { clock, client, host } = await stored();
    const handle = client.saga(noting, "s1");
    await clock.until(handle.signal("note", {}));
    const result = handle.result();
    await clock.advance(60_000);
    await host(noting);
    await clock.advance(10_000);
    await clock.until(handle.signal("end", {}));
    expect(await clock.until(result)).toMatchObject({ output: { notes: 1 } });
  });

  test.each(Object.keys(waiting).filter((door) => door === "result"))(
    "and is refused by a host after all: %s says so, and does not wait for ever",
    async (door) => {
      const { clock, client, host } = await stored();
      const told = waiting[door]!(client.saga(noting, "s1") as Handle).catch((error: unknown) =>
        String(error),
      );
      await clock.advance(10_000);
      await host(strict);
      await clock.advance(10_000);
      expect(await clock.until(told)).toMatch(/SAGA_UNKNOWN.*the start of s1 was refused.*INPUT_INVALID/s);
      expect(await clock.until(codeOf(client.saga(noting, "s1").cancel("no")))).toBe("SAGA_UNKNOWN");
    },
  );
});

describe("with early", () => {
  test("what is sent before the start is taken after it, and what waits comes to its end", async () => {
    const { clock, client, host } = open();
    await host(noting);
    const early = client.saga(noting, "s1", { early: true });
    const result = early.result();
    await clock.until(early.signal("note", {}));
    expect(await clock.until(early.ledger())).toEqual([]);
    await clock.advance(limits.earlyInputMs / 2);
    await clock.until(client.start(noting, { n: 1 }, { id: "s1" }));
    await clock.advance(10_000);
    await clock.until(early.signal("end", {}));
    expect(await clock.until(result)).toMatchObject({ output: { notes: 1 } });
  });

  test("what is held for longer than an hour is a dead letter that says so", async () => {
    const { clock, client, caller, host } = open();
    await host(noting);
    await clock.until(client.anySaga("s1", { early: true }).signal("note", {}));
    await clock.advance(limits.earlyInputMs - 60_000);
    expect(await clock.until(readLetters(caller))).toEqual([]);
    await clock.advance(120_000);
    expect(await clock.until(readLetters(caller))).toMatchObject([{ code: "SAGA_UNKNOWN" }]);
  });
});
