/**
 * Goal: a definition that was changed without a new version is refused while sagas of the old one live, before anything is
 * taken or told to the mesh (XD1), with what changed and how many sagas it concerns; and what is no such change never is.
 *
 * Method: a mesh in memory whose host is replaced, as by a deployment; sagas rest until they are told to go.
 */
import { setup } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineApp, defineSaga, type SagaDefinition, type SignalEvents } from "sagamesh";
import type { MeshError } from "../../../protocol/errors.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { declare } from "../../../services/deployments/declared.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";

const signals = { go: z.object({}) };
const door = (rests: string, { name = "door", version = 1 } = {}) =>
  defineSaga({
    ...{ name, version, input: z.object({}), output: z.any(), signals },
    machine: setup({ types: { events: {} as SignalEvents<typeof signals> } }).createMachine({
      id: name,
      initial: rests,
      states: { [rests]: { on: { go: "done" } }, done: { type: "final" } },
    }) as never,
  });

const [old, changed] = [door("resting"), door("asleep")];
const [oldGate, changedGate] = [door("shut", { name: "gate" }), door("ajar", { name: "gate" })];

function mesh() {
  const memory = createMemoryMesh({ seed: 1 });
  const client = createClient({ ...memory.spawn("client"), from: "test" }, () => Promise.resolve());
  const said: string[] = [];
  let lives: MemoryProcess[] = [];
  const until = memory.clock.until.bind(memory.clock);
  return {
    said,
    /** What is asked of the ledgers by the host that starts next is counted. */
    listed: 0,
    /** Replaces the host. Resolves with the code and message it was refused with, or with nothing. */
    async deploy(sagas: readonly SagaDefinition[], beside = false, { keeping = false } = {}) {
      if (!keeping) this.crash();
      const life = memory.spawn("host");
      lives.push(life);
      const { ports, ...process } = life;
      const ledger = { ...ports.ledger, list: () => ((this.listed += 1), ports.ledger.list()) };
      const log = {
        ...silentLog,
        warn: (fields: object) => void said.push((fields as { detail?: string }).detail ?? ""),
      };
      const options = { ...process, ports: { ...ports, ledger }, log, callbackBase: "sagamesh:" };
      const starting = startHost(
        { ...options, incarnation: process.gate.name, beside },
        defineApp({ sagas }),
      );
      return until(
        starting.then(
          () => undefined,
          (error: unknown) => error as MeshError,
        ),
      );
    },
    crash() {
      for (const { gate } of lives) gate.crash();
      lives = [];
    },
    async start(of: SagaDefinition, id: string) {
      await until(client.start(of as typeof old, {}, { id }));
      await memory.clock.run({ until: memory.clock.now() + 6_000 });
    },
    async go(of: SagaDefinition, id: string) {
      await until(client.saga(of as typeof old, id).signal("go", {}));
      await memory.clock.run({ until: memory.clock.now() + 6_000 });
    },
    pass: (ms: number) => memory.clock.run({ until: memory.clock.now() + ms }),
    async promote({ definition: { name, version, hash } }: SagaDefinition) {
      const { ports, clock } = memory.spawn("operator");
      const current = { name, version, hash };
      await until(declare({ registry: ports.registry, clock }, name, () => ({ current, by: "test", at: 0 })));
    },
    registered: async () =>
      (await until(memory.spawn("reader").ports.registry.list()))
        .map(({ key }) => key)
        .filter((key) => key.startsWith("saga.")),
  };
}

const keyOf = ({ definition: { name, version, hash } }: SagaDefinition) => `saga.${name}.${version}.${hash}`;

describe("a definition that was changed under its version", () => {
  test("is refused while its sagas live, and nothing of the new one is told to the mesh", async () => {
    const m = mesh();
    await m.deploy([old]);
    await m.start(old, "d1");
    await m.start(old, "d2");
    const refused = await m.deploy([changed]);
    expect(refused).toMatchObject({ code: "DEFINITION_CHANGED" });
    expect(refused?.message).toBe(
      `[DEFINITION_CHANGED] door@1 (${changed.definition.hash}) is not the one that 2 sagas live under ` +
        `(${old.definition.hash}). Changed: machine`,
    );
    for (const way of ["Raise its `version`", "--beside", "sagamesh migrate"])
      expect(refused?.remedy).toContain(way);
    expect(await m.registered()).toEqual([keyOf(old)]);
  });

  test("is told together with the others that were changed, and those that have no saga are not told", async () => {
    const m = mesh();
    const other = door("resting", { name: "hatch" });
    await m.deploy([old, oldGate, other]);
    await m.start(old, "d1");
    await m.start(oldGate, "g1");
    const refused = await m.deploy([changed, changedGate, door("asleep", { name: "hatch" })]);
    const [title, ...lines] = refused?.message.split("\n") ?? [];
    expect(title).toBe("[DEFINITION_CHANGED] 2 definitions:");
    expect(lines.map((line) => /- (\w+@\d) .* that (\d+ sagas? lives?) /.exec(line)?.slice(1))).toEqual([
      ["door@1", "1 saga lives"],
      ["gate@1", "1 saga lives"],
    ]);
  });

  test("is served once its sagas have ended, and so is one with a higher version while they live", async () => {
    const m = mesh();
    await m.deploy([old]);
    await m.start(old, "d1");
    expect(await m.deploy([door("asleep", { version: 2 })])).toBeUndefined();
    expect(await m.deploy([changed])).toMatchObject({ code: "DEFINITION_CHANGED" });
    await m.deploy([old]);
    await m.go(old, "d1");
    expect(await m.deploy([changed])).toBeUndefined();
  });

  test("is served beside the old one where its author says so, which is said, and both come back without a word", async () => {
    const m = mesh();
    await m.deploy([old]);
    await m.start(old, "d1");
    expect(await m.deploy([changed], true)).toBeUndefined();
    expect(m.said).toEqual([expect.stringMatching(/^door@1 .* that 1 saga lives under .*Changed: machine$/)]);
    await m.start(changed, "d2");
    expect(await m.deploy([changed])).toBeUndefined();
    expect(await m.deploy([old])).toBeUndefined();
    expect(await m.deploy([door("drowsy")])).toMatchObject({
      code: "DEFINITION_CHANGED",
      message: expect.stringContaining("2 definitions:"),
    });
  });

  test("comes back without sagas of its own while hosts serve the old one, or once it is promoted", async () => {
    const m = mesh();
    await m.deploy([old]);
    await m.start(old, "d1");
    expect(await m.deploy([changed], true, { keeping: true })).toBeUndefined();
    expect(await m.deploy([changed], false, { keeping: true })).toBeUndefined();
    m.crash();
    await m.pass(10_000);
    expect(await m.deploy([changed])).toMatchObject({ code: "DEFINITION_CHANGED" });
    await m.promote(changed);
    expect(await m.deploy([changed])).toBeUndefined();
  });

  test("is looked for in ledgers only where a hash conflicts", async () => {
    const m = mesh();
    await m.deploy([old]);
    await m.start(old, "d1");
    m.listed = 0;
    await m.deploy([old, oldGate]);
    expect(m.listed).toBe(0);
    await m.deploy([changed]);
    expect(m.listed).toBe(1);
  });
});
