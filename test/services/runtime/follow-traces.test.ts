/**
 * Goal: an exporter that follows the ledgers tells what who reads them later does, whenever it dies and is started again.
 * Method: a real server with hosts and workers, trees of sagas that begin and end meanwhile; the exporter dies between any two of
 * what it sends and stores. What a receiver has in the end is held against the ledgers.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { SpanDocument } from "../../../protocol/documents/trace.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { subjects } from "../../../protocol/subjects.ts";
import type { Batches } from "../../../services/otlp/batches.ts";
import { followTraces, type PlaceStore } from "../../../services/runtime/follow-traces.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { placeInFile } from "../../../services/runtime/trace-place.ts";
import { createSpanReader } from "../../../services/traces/spans.ts";
import { readLedger } from "../../../services/views/view.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";
import { tracedApp } from "../../support/traced-app.ts";

let server: AccountServer;
let mesh: RealMesh;
let folder: string;
beforeAll(async () => {
  server = await startAccountServer(8);
});
afterAll(() => server.stop());
beforeEach(async () => {
  mesh = await openRealMesh(server.nextUrl());
  folder = await mkdtemp(join(tmpdir(), "sagamesh-traces-"));
});
afterEach(async () => {
  await mesh.close();
  await rm(folder, { recursive: true, force: true });
});

class Death extends Error {}

/** A receiver that has what was sent to it, and an exporter's life: after so many acts it is over. */
function exporter(had: SpanDocument[], store: PlaceStore, lives = Number.POSITIVE_INFINITY) {
  const stopping = new AbortController();
  const said: string[] = [];
  let acts = 0;
  const act = () => {
    if (++acts > lives) throw new Death("it is over");
  };
  let waiting: SpanDocument[] = [];
  const flush = () => {
    act();
    had.push(...waiting);
    waiting = [];
    return Promise.resolve();
  };
  const batches: Batches = {
    add: async (spans) => {
      waiting.push(...spans);
      if (waiting.length >= 3) await flush();
    },
    flush,
    taken: () => had.length,
  };
  const dying: PlaceStore = {
    read: () => store.read(),
    write: (places) => {
      act();
      return store.write(places);
    },
  };
  const { ports } = mesh;
  const running = followTraces(
    { ports, clock: systemClock, signal: stopping.signal, report: (line) => said.push(line) },
    { batches, store: dying, content: false },
  ).catch((error: unknown) => {
    if (!(error instanceof Death)) throw error;
  });
  return {
    running,
    said,
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}

/** The spans of every ledger but one, as who reads them now tells them. */
async function toldNow(without?: string): Promise<Map<string, SpanDocument>> {
  const spans = new Map<string, SpanDocument>();
  for (const { saga } of await mesh.ports.ledger.list()) {
    if (saga === without) continue;
    const reader = createSpanReader();
    for (const { turn } of await readLedger(mesh.ports, saga))
      for (const span of reader.take(turn)) spans.set(span.spanId, span);
  }
  return spans;
}

const byId = (spans: Iterable<SpanDocument>) => new Map([...spans].map((span) => [span.spanId, span]));

async function runLeads(ids: readonly string[]): Promise<void> {
  const { app, lead } = tracedApp();
  await mesh.host(app);
  await mesh.worker(app);
  const sagas = await Promise.all(ids.map((id) => mesh.client.start(lead, { of: id }, { id })));
  await Promise.all(sagas.map((saga) => saga.result()));
}

const ids = (many: number) => Array.from({ length: many }, (_, k) => `lead-${k + 1}`);

describe("an exporter that follows", () => {
  test("has every span once, as it is told later", async () => {
    const had: SpanDocument[] = [];
    const one = exporter(had, placeInFile(join(folder, "place.json")));
    await until("its place is kept", () => readFile(join(folder, "place.json")).then(Boolean, () => false));
    await runLeads(ids(6));
    const told = await toldNow();
    await until("all is exported", () => had.length >= told.size);
    await one.stop();
    expect(byId(had)).toEqual(told);
    expect(had).toHaveLength(told.size);
    expect(told.size).toBe(6 * 11);
    expect(one.said).toEqual([]);
  });

  test("loses none and makes none anew, wherever it dies", async () => {
    const store = placeInFile(join(folder, "place.json"));
    await store.write((await mesh.ports.ledger.end()).map(() => 0));
    await runLeads(ids(4));
    const told = await toldNow();
    const had: SpanDocument[] = [];
    let deaths = 0;
    // Each life is longer than the one before by one act, so it dies once between any two.
    for (let lives = 0; ; lives++) {
      const before = await readFile(join(folder, "place.json"), "utf8");
      const one = exporter(had, store, lives);
      const done = await Promise.race([
        one.running.then(() => false),
        until(
          "its place moves",
          async () => (await readFile(join(folder, "place.json"), "utf8")) !== before,
        ).then(
          () => true,
          () => true,
        ),
      ]);
      if (done) {
        await one.stop();
        break;
      }
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(10);
    expect(byId(had)).toEqual(told);
    // What was sent more than once was the same each time.
    for (const span of had) expect(span).toEqual(told.get(span.spanId));
  });

  test("begins with what ends from then on, where nothing keeps a place", async () => {
    await runLeads(ids(2));
    const before = await toldNow();
    const had: SpanDocument[] = [];
    const one = exporter(had, placeInFile(join(folder, "place.json")));
    await until("its place is kept", () => readFile(join(folder, "place.json")).then(Boolean, () => false));
    const { lead } = tracedApp();
    await (await mesh.client.start(lead, { of: "x" }, { id: "lead-9" })).result();
    const fresh = new Map([...(await toldNow())].filter(([id]) => !before.has(id)));
    await until("all is exported", () => had.length >= fresh.size);
    await one.stop();
    expect(byId(had)).toEqual(fresh);
  });

  test("tells of a ledger that it cannot read, once, and of all others what they say", async () => {
    const store = placeInFile(join(folder, "place.json"));
    await store.write((await mesh.ports.ledger.end()).map(() => 0));
    const junk = { v: 99, saga: "broken", turn: 1, at: 1, host: "h", prev: "", steps: [] };
    await mesh.nc.request(subjects.ledger("broken" as SagaId), JSON.stringify(junk));
    await runLeads(ids(2));
    const had: SpanDocument[] = [];
    const one = exporter(had, store);
    const told = await toldNow("broken");
    await until("all is exported", () => had.length >= told.size);
    await one.stop();
    expect(byId(had)).toEqual(told);
    expect(one.said).toMatchObject([expect.stringContaining("spans of broken are not exported")]);
  });

  test("refuses a file that keeps no place, and leaves it as it is", async () => {
    const path = join(folder, "place.json");
    for (const text of ["", "{}", '{"v":2,"places":[1]}', '{"v":1,"places":[-1]}']) {
      await writeFile(path, text);
      await expect(placeInFile(path).read()).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
      expect(await readFile(path, "utf8")).toBe(text);
    }
  });
});
