/**
 * Goal: a saga that was broken by a host which bounded no value is read by every reader, is cancelled, and what it did is undone.
 * Method: turns as such a host wrote them, on the mesh in memory: values of 97 levels in a signal, in a tool's output and in
 * an agent's last word. Decoders of what comes from outside refuse their bytes, as they did then.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { OpenIntent } from "../../../actors/contract/state.ts";
import { contentTypes, decode } from "../../../protocol/codec.ts";
import type { Event } from "../../../protocol/event.ts";
import { exportSaga } from "../../../services/archive/export.ts";
import { readRegistry } from "../../../services/client/registry.ts";
import { appendOld, nested, oldSignal, oldSuccess } from "../../support/old-turns.ts";
import { readByAll } from "../../support/read-by-all.ts";
import { desk, giveAt, type ValueDoor } from "../../support/value-doors.ts";

const deep = nested(97);
const call = (tool: string, input: object) => ({ calls: [{ tool, input: input as never }] });
const waiting = call("wait", { signals: ["note"] });
/** Keeps something, asks the outside unless it is to end, and waits. */
const row = (name: string): ValueDoor => ({
  name,
  says: () => [
    call("keep", {}),
    ...(name === "a last word" ? [] : [call("ask_outside", {})]),
    waiting,
    waiting,
  ],
});

const kindIn = (open: readonly OpenIntent[], kind: OpenIntent["intent"]["kind"]): OpenIntent => {
  const found = open.find(({ intent }) => intent.kind === kind);
  if (found === undefined) throw new Error(`no ${kind} is open`);
  return found;
};

const ask = (_: readonly OpenIntent[]): Event[] => [oldSignal("note", "so?", 1)];

const broken: readonly (readonly [string, readonly ((open: readonly OpenIntent[]) => Event[])[]])[] = [
  ["a signal", [() => [oldSignal("note", deep, 2)]]],
  ["a tool's output", [(open) => [oldSuccess(kindIn(open, "tool"), { value: deep })]]],
  [
    "a last word",
    [
      ask,
      (open) => [
        oldSuccess(kindIn(open, "model"), {
          ...{ calls: [{ tool: "finish", input: { output: deep } }], model: "scripted" },
          usage: { inputTokens: 0, outputTokens: 0 },
        }),
      ],
    ],
  ],
];

test.each(broken)(
  "%s of 97 levels hides its saga from no reader, and it is cancelled and undone",
  async (name, turns) => {
    const at = await giveAt(row(name), undefined);
    const { t, mesh, outside, app } = at;
    const folder = await mkdtemp(join(tmpdir(), "sagamesh-old-"));
    try {
      expect(t.effects("keep")).toHaveLength(1);
      for (const eventsOf of turns)
        await mesh.clock.until(appendOld({ ports: outside.ports, clock: mesh.clock, app }, desk, eventsOf));
      const stored = mesh.server.ledger.after(desk, 0);
      expect(() => stored.forEach(({ data }) => decode(data, contentTypes.json))).toThrow("BAD_MESSAGE");
      await readByAll(at, desk);
      const registered = await mesh.clock.until(readRegistry(outside.ports.registry));
      // Its files are real, so what it reads of the mesh turns the clock itself.
      const { ledger, blobs } = outside.ports;
      const source = {
        ledger: {
          ...ledger,
          last: (saga: typeof desk) => mesh.clock.until(ledger.last(saga)),
          read: (...of: Parameters<typeof ledger.read>) => mesh.clock.until(ledger.read(...of)),
        },
        blobs,
      };
      const find = async () => ({ source, registered });
      const path = join(folder, "old.jsonl.gz");
      const deps = { chance: { nonce: () => "n" }, now: mesh.clock.now(), find };
      expect(await exportSaga(deps, desk, { path, withChildren: false })).toMatchObject({
        sagas: 1,
        missing: [],
      });

      // No host has it in memory any more, so each that takes it reads those turns.
      await t.crash();
      const hasEnded = (await t.describe(desk)).status !== "running";
      if (!hasEnded) await t.anySaga(desk).cancel("enough");
      await t.settled();
      const { status, effects } = await t.describe(desk);
      expect({ status, effects }).toMatchObject(
        hasEnded ? { status: "completed" } : { status: "cancelled", effects: [] },
      );
      expect(t.effects("undo_it").length > 0).toBe(!hasEnded);
      await readByAll(at, desk);
    } finally {
      await t[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
