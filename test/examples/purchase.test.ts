/**
 * Goal: a purchase that people must approve is paid at most once, with the arguments that enough of the right people
 * agreed to, however long they take and whatever dies meanwhile.
 * Method: test/examples/purchase.ts on the test mesh, whose clock is turned, with host and worker crashed while it
 * waits. The outside's account is the calls of the bank's body.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isMeshError, type OpenTask } from "sagamesh";
import { type TestMesh, testMesh } from "sagamesh/testing";
import app, { pay, purchase, tell } from "./purchase.ts";

const hour = 3_600_000;
const order = { item: "a press", supplier: "Ada & Sons", cents: 90_000 };
const asLead = (by: string) => ({ by, as: "team_lead" });
const ofFinance = (by: string) => ({ by, as: "finance" });

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function onlyTask(t: TestMesh): Promise<OpenTask> {
  const tasks = await t.tasks();
  expect(tasks).toHaveLength(1);
  const [task] = tasks;
  if (task === undefined) throw new Error("there is one");
  return task;
}
const paid = (t: TestMesh) => t.effects(pay).map(({ input }) => input);
const notices = (t: TestMesh) =>
  t.effects(tell).map(({ input }) => {
    const { channel, task } = input as { channel: string; task: { reminder: number; input: unknown } };
    return [channel, task.reminder, task.input];
  });

/** An order that the lead did not answer in time: finance is asked. */
async function escalated(t: TestMesh) {
  const saga = await t.start(purchase, order, { id: "p-1" });
  const first = await onlyTask(t);
  await t.advance("5h");
  return { saga, first, second: await onlyTask(t) };
}

test("a payment up to the limit asks nobody", async () => {
  await using t = testMesh(app);
  const saga = await t.start(purchase, { ...order, cents: 50_000 });
  expect(await saga.end()).toMatchObject({ output: { paidCents: 50_000, note: "paid as asked" } });
  expect(t.effects(tell)).toEqual([]);
});

test("a payment above it waits for the team lead, through a crash, and is made as asked once the lead agrees", async () => {
  await using t = testMesh(app);
  const saga = await t.start(purchase, order);
  const task = await onlyTask(t);
  expect(task).toMatchObject({
    ...{ about: "approval", tool: "pay", to: ["team_lead"], next: [["finance"]] },
    ...{ input: { supplier: order.supplier, cents: 90_000 } },
  });
  await t.crash();
  await t.advance("3h");
  await expect(t.vote(task, { vote: "approve", ...ofFinance("fay") })).rejects.toThrow("[VOTER_NOT_ASKED]");
  expect(paid(t)).toEqual([]);
  await t.vote(task, { vote: "approve", ...asLead("leo") });
  expect(await saga.end()).toMatchObject({ status: "completed", output: { paidCents: 90_000 } });
  expect(paid(t)).toEqual([{ supplier: order.supplier, cents: 90_000 }]);
});

describe("a payment that the lead does not answer in four hours", () => {
  test("goes to finance, on terms of their own, and both are told by the notify tool", async () => {
    await using t = testMesh(app);
    const { first, second } = await escalated(t);
    expect(second).toMatchObject({ to: ["finance"], quorum: 2, digest: first.digest });
    expect(second.dueAt - first.dueAt).toBeGreaterThanOrEqual(48 * hour);
    expect(await t.task(first)).toMatchObject({ state: "superseded" });
    expect(await t.task(second)).toMatchObject({ after: { because: "deadline" } });
    await expect(t.vote(second, { vote: "approve", ...asLead("leo") })).rejects.toThrow("[VOTER_NOT_ASKED]");
    const asked = { supplier: order.supplier, cents: 90_000 };
    expect(notices(t)).toEqual([
      ["#team-leads", 0, asked],
      ["#team-leads", 1, asked],
      ["#finance", 0, asked],
    ]);
  });

  test("and that finance changes is paid once, as changed, after approvals of its own; the model hears of it", async () => {
    await using t = testMesh(app);
    const { saga, second } = await escalated(t);
    await t.crash();
    await t.vote(second, { vote: "approve", ...ofFinance("fred") });

    const misfit = { vote: "edit", input: { supplier: order.supplier, cents: "48000" } } as const;
    await expect(t.vote(second, { ...misfit, ...ofFinance("fay") })).rejects.toThrow("[INPUT_INVALID]");
    expect(await onlyTask(t), "arguments that do not fit the schema change nothing").toEqual(second);

    const changed = { supplier: order.supplier, cents: 48_000 };
    await t.vote(second, { vote: "edit", input: changed, ...ofFinance("fay") });
    const third = await onlyTask(t);
    expect(third).toMatchObject({ to: ["finance"], quorum: 2, input: changed });
    expect(third.digest).not.toBe(second.digest);
    expect(await t.task(third)).toMatchObject({
      after: { task: second.intent, because: "edit", by: "fay" },
      votes: [],
    });
    await t.crash();

    // Fred agreed to 900, not to 480; a vote for the old amount reaches neither the old task nor the new one.
    const stale = { vote: "approve", digest: second.digest } as const;
    for (const by of ["fred", "fiona"])
      await expect(t.vote(third, { ...stale, ...ofFinance(by) })).rejects.toThrow("[ARGUMENTS_CHANGED]");
    await expect(t.vote(second, { vote: "approve", ...ofFinance("fiona") })).rejects.toThrow(
      /^\[TASK_OVER\] p-1\/\S+ is over: it was edited by fay as finance at 2026-\S+: fay changed the arguments; \S+ asks about those$/,
    );
    expect((await t.task(third)).votes).toEqual([]);

    await t.vote(third, { vote: "approve", ...ofFinance("fay") });
    await t.vote(third, { vote: "approve", ...ofFinance("fay") });
    expect(paid(t), "nobody is two people").toEqual([]);
    await t.crash();
    await t.vote(third, { vote: "approve", ...ofFinance("finn") });

    expect(await saga.end()).toMatchObject({
      status: "completed",
      output: { paidCents: 48_000, note: "fay made 48000 of 90000" },
    });
    expect(paid(t)).toEqual([changed]);
    const { state, votes } = await t.task(third);
    expect(state).toBe("succeeded");
    expect(new Set(votes.map(({ by, digest }) => `${by} ${digest}`))).toEqual(
      new Set([`fay ${third.digest}`, `finn ${third.digest}`]),
    );
    expect(await t.tasks()).toEqual([]);
  });

  test("and that a hundred of finance approve at once is one payment", async () => {
    await using t = testMesh(app);
    const { saga, second } = await escalated(t);
    await t.crash();
    await Promise.all(
      Array.from({ length: 100 }, (_, k) =>
        t.vote(second, { vote: "approve", ...ofFinance(`f${k}`) }).catch((error: unknown) => {
          if (!isMeshError(error, "TASK_OVER")) throw error;
        }),
      ),
    );
    expect(await saga.result()).toMatchObject({ status: "completed", output: { paidCents: 90_000 } });
    await t.advance("3d");
    expect(paid(t)).toHaveLength(1);
  });

  test.each([
    [
      "one of finance denies",
      (t: TestMesh, task: OpenTask) =>
        t.vote(task, { vote: "deny", reason: "too dear", ...ofFinance("fay") }),
      "not bought: too dear",
    ],
    [
      "finance does not answer either",
      (t: TestMesh) => t.advance("49h"),
      "not bought: nobody approved in time",
    ],
  ])("is not made when %s, and the model hears why", async (_, happens, note) => {
    await using t = testMesh(app);
    const { saga, second } = await escalated(t);
    await happens(t, second);
    expect(await saga.end()).toMatchObject({ status: "completed", output: { paidCents: 0, note } });
    expect(paid(t)).toEqual([]);
  });
});
