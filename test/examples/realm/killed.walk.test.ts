/**
 * Goal: a host that dies anywhere in a day changes nothing of how it ends, or of what was begun. Method: the day is run whole, and
 * then once for each write of its ledger, or for a share of them, with a death before or after that write.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import type { Turn } from "../../../protocol/turn.ts";
import { openTestMesh } from "../../../services/testing/test-mesh.ts";
import { share } from "../../support/share.ts";
import { createRealm } from "./app.ts";

const Ended = z.object({
  status: z.string(),
  code: z.string().optional(),
  reason: z.string().optional(),
  output: z.looseObject({ outcome: z.string() }),
});

/** How a day ended, as its ledger has it. */
function endOf(turns: readonly Turn[]) {
  const intents = turns.flatMap(({ steps }) => steps.flatMap((step) => step.intents));
  return Ended.parse(intents.find(({ kind }) => kind === "end"));
}

async function run(plan: string, crashAt: number) {
  const { app, realm, diary } = createRealm();
  let writes = 0;
  const t = openTestMesh(
    app,
    {},
    {
      crashesAt: (role, port, method, when) => {
        if (role !== "host" || `${port}.${method}` !== "ledger.append") return false;
        if (when === "before") writes += 1;
        // Before and after in turns: in half of them the turn was written and nobody had learnt of it.
        return writes === crashAt && when === (crashAt % 2 === 0 ? "before" : "after") && crashAt > 0;
      },
    },
  );
  const saga = await t.start(realm, { problem: "P8-traffic", plans: [[plan]] }, { id: "day-1" });
  await saga.result();
  const end = endOf(await saga.ledger());
  await t[Symbol.asyncDispose]();
  return { writes, end, diary: [...diary.values()] };
}

/** One write in `every`, which is odd: both kinds of death come in turns. */
async function expectSame(plan: string, outcome: string, every: number) {
  const { writes, ...whole } = await run(plan, 0);
  expect(whole.end.output.outcome).toBe(outcome);
  expect(writes).toBeGreaterThan(35);
  for (let crashAt = 1; crashAt <= writes; crashAt += every) {
    const { writes: _, ...again } = await run(plan, crashAt);
    expect({ crashAt, ...again }).toEqual({ crashAt, ...whole });
  }
}

test("killed at a write of a ledger, a day ends as infeasible as without, and every action is begun once", () =>
  expectSame("mended-table6", "infeasible", share(5, 1)));

test("killed at a write of a day that is rescued, it is rescued the same", () =>
  expectSame("witness-P5", "feasible", share(9, 3)));
