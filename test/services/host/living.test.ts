/**
 * Goal: what is told of sagas that live under a definition is exact while it is found quickly, a lower bound once that
 * takes long, and never a nothing that was not looked for (XL2).
 *
 * Method: many sagas on a memory mesh in virtual time, whose ledgers are answered a second late each.
 */
import { setup } from "xstate";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineApp, defineSaga } from "sagamesh";
import { createClient } from "../../../services/client/mesh.ts";
import { assertUnchanged } from "../../../services/host/changed.ts";
import { startHost } from "../../../services/host/host.ts";
import { countLiving } from "../../../services/host/living.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";

const door = (version: number, end = "done") =>
  defineSaga({
    ...{ name: "door", version, input: z.object({}), output: z.any(), signals: { go: z.object({}) } },
    machine: setup({}).createMachine({
      initial: "resting",
      states: { resting: { on: { go: end } }, [end]: { type: "final" } },
    } as never) as never,
  });
const [one, two] = [door(1), door(2)];
const sagas = 200;

/** Sagas of the first definition; each look at a ledger takes so long. */
async function mesh(lookMs: number) {
  const { spawn, clock } = createMemoryMesh({ seed: 1 });
  const { gate, ...host } = spawn("host");
  const options = { ...host, log: silentLog, callbackBase: "sagamesh:", incarnation: gate.name };
  await clock.until(startHost(options, defineApp({ sagas: [one, two] })));
  const client = createClient({ ...spawn("client"), from: "test" }, async () => undefined);
  for (let n = 0; n < sagas; n++)
    await clock.until(client.start(one as never, {}, { id: `d${n}`, version: 1 }));
  await clock.run({ until: clock.now() + 5_000 });
  const { ports } = spawn("next");
  let looks = 0;
  const last: typeof ports.ledger.last = async (saga) => {
    looks += 1;
    await clock.sleep(lookMs);
    return ports.ledger.last(saga);
  };
  const counting = { ports: { ...ports, ledger: { ...ports.ledger, last } }, clock, log: silentLog };
  return {
    refusal: (changed: typeof one) =>
      clock.until(
        assertUnchanged(counting, defineApp({ sagas: [changed] })).then(
          () => "none",
          (error: unknown) => String(error),
        ),
      ),
    async count({ definition: { hash } }: typeof one) {
      const begunAt = clock.now();
      const { byHash, isAll } = await clock.until(countLiving(counting, new Set([hash])));
      return { found: byHash.get(hash) ?? 0, isAll, looks, tookMs: clock.now() - begunAt };
    },
  };
}

test("all are counted while that takes less than ten seconds", async () => {
  const { count } = await mesh(100);
  expect(await count(one)).toMatchObject({ found: sagas, isAll: true, looks: sagas });
});

test("after ten seconds what was found is told as a lower bound, and no further ledger is looked at", async () => {
  const { count } = await mesh(1_000);
  const { found, isAll, looks, tookMs } = await count(one);
  expect(isAll).toBe(false);
  expect(tookMs).toBeGreaterThanOrEqual(10_000);
  expect(tookMs).toBeLessThan(12_000);
  expect(found).toBeGreaterThan(0);
  expect(found).toBeLessThan(sagas);
  expect(found).toBe(looks);
});

test("a changed definition is refused with that lower bound, called one", async () => {
  const changed = door(1, "gone");
  expect(await (await mesh(100)).refusal(changed)).toContain(`that ${sagas} sagas live under`);
  const late = await (await mesh(1_000)).refusal(changed);
  expect(late).toMatch(/DEFINITION_CHANGED.* that at least \d+ sagas live under/);
  expect(late).not.toContain(String(sagas));
});

test("where none was found all are looked at, however long that takes", async () => {
  const { count } = await mesh(1_000);
  const { found, isAll, looks, tookMs } = await count(two);
  expect({ found, isAll, looks }).toEqual({ found: 0, isAll: true, looks: sagas });
  expect(tookMs).toBeGreaterThan(12_000);
});
