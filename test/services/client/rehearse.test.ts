/**
 * Goal: a rehearsal says of each recorded saga what new code would make of it, by the proof that a move needs, and changes
 * nothing (RH1); what cannot be folded is never counted as well (RH2).
 *
 * Method: sagas of several definitions on a mesh in memory, rehearsed under applications that no host serves.
 */
import { setup } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, type SignalEvents, toActors } from "sagamesh";
import { createClient } from "../../../services/client/mesh.ts";
import { rehearse } from "../../../services/client/rehearse.ts";
import { describeRehearsal } from "../../../services/cli/telling/rehearsal-text.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";

const tool = (name: string, effect: "idempotent" | "read" = "idempotent") =>
  defineTool({
    ...{ name, description: `Does ${name}.`, effect, placement: "host", input: z.object({}) },
    ...{ output: z.object({}), perform: async () => ({}) },
  });
const [book, look] = [tool("book"), tool("look")];
const signals = { go: z.object({}) };
const saga = (name: string, rests: string, { opens = book, version = 1 } = {}) =>
  defineSaga({
    ...{ name, version, input: z.object({}), output: z.any(), signals },
    machine: setup({
      types: { events: {} as SignalEvents<typeof signals> },
      actors: toActors({ opens }),
    }).createMachine({
      id: name,
      initial: "opening",
      states: {
        opening: { invoke: { src: "opens", input: {}, onDone: rests } },
        [rests]: { on: { go: "done" } },
        done: { type: "final" },
      },
    }) as never,
  });

async function recorded() {
  const mesh = createMemoryMesh({ seed: 1 });
  const until = mesh.clock.until.bind(mesh.clock);
  const { gate, ...host } = mesh.spawn("host");
  const sagas = [saga("door", "resting"), saga("gate", "shut"), saga("lost", "away")] as const;
  await until(
    startHost(
      { ...host, log: silentLog, incarnation: gate.name, callbackBase: "sagamesh:" },
      defineApp({ sagas: [...sagas] }),
    ),
  );
  const spawned = { ...mesh.spawn("test"), from: "test" };
  const client = createClient(spawned, () => Promise.resolve());
  const ids: string[] = [];
  const start = async (of: (typeof sagas)[number], ...names: string[]) => {
    for (const id of names) await until(client.start(of, {}, { id }));
    ids.push(...names);
  };
  await start(sagas[0], "d1", "d2", "ended");
  await start(sagas[1], "g1", "g2");
  await start(sagas[2], "l1");
  await mesh.clock.run({ until: mesh.clock.now() + 10_000 });
  await until(client.saga(sagas[0], "ended").signal("go", {}));
  await mesh.clock.run({ until: mesh.clock.now() + 10_000 });
  return {
    mesh,
    rehearse: (app: ReturnType<typeof defineApp>) =>
      until(rehearse(spawned, app, ids.map(sagaId))).then((found) => ({
        ...found,
        by: Object.fromEntries(found.sagas.map((one) => [one.saga, one.verdict])),
      })),
  };
}

/** Another name for a state; a call where there was another; and one that is gone. */
const next = defineApp({
  sagas: [saga("door", "asleep", { version: 2 }), saga("gate", "shut", { opens: look, version: 2 })],
});

describe("a rehearsal", () => {
  test("tells which would move, which decide otherwise and where first, and which cannot be folded", async () => {
    const { rehearse, mesh } = await recorded();
    const stored = () => mesh.server.open().inbox;
    const before = stored();
    const { by, counts, kinds, definitions } = await rehearse(next);
    expect(by).toEqual({
      d1: "moves",
      d2: "moves",
      ended: "same",
      g1: "differs",
      g2: "differs",
      l1: "unfoldable",
    });
    expect(counts).toEqual({ moves: 2, same: 1, stays: 0, differs: 2, unfoldable: 1 });
    expect(kinds.map(({ verdict, sagas }) => [verdict, sagas])).toEqual([
      ["differs", 2],
      ["unfoldable", 1],
    ]);
    expect(kinds[0]?.first).toMatchObject({ turn: 1, expected: { name: "book" }, got: { name: "look" } });
    expect(kinds[1]?.why).toBe('the application defines no "lost"');
    expect(
      definitions.map(({ from, to, sagas, changed }) => [from.name, to.version, sagas, changed]),
    ).toEqual([
      ["door", 2, 3, "machine"],
      ["gate", 2, 2, "tool book is gone; tool look is new"],
    ]);
    expect(stored()).toBe(before);
  });

  test("of the application that they have finds nothing to change", async () => {
    const { rehearse } = await recorded();
    const same = defineApp({ sagas: [saga("door", "resting"), saga("gate", "shut"), saga("lost", "away")] });
    const { counts, definitions } = await rehearse(same);
    expect(counts).toEqual({ moves: 0, same: 6, stays: 0, differs: 0, unfoldable: 0 });
    expect(new Set(definitions.map(({ changed }) => changed))).toEqual(new Set(["nothing"]));
  });

  test("says once what many sagas have in common", async () => {
    const { rehearse } = await recorded();
    const found = await rehearse(next);
    const said = describeRehearsal({ ...found, query: "", seed: "1", meant: 9, sampled: 6 }).split("\n");
    expect(said[0]).toBe("6 of 9 sagas (seed 1) under the new application");
    expect(said.filter((line) => line.includes("would decide otherwise: "))).toHaveLength(1);
    expect(said.filter((line) => /^ {2}first (g1|l1)/.test(line))).toHaveLength(2);
  });
});
