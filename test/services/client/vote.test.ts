/**
 * Goal: a vote whose sending was acked stands on its saga's ledger or in the dead letters, whenever it comes and whatever dies;
 * and what can be known of a task is said before anything is stored.
 * Method: the purchase of test/examples on the test mesh, with host and worker crashed in between. Votes past the door, as
 * a program without a client would publish them, carry a reason of their own, by which each is looked for in both places.
 */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EventOf } from "../../../protocol/event.ts";
import { parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import type { OpenTask } from "../../../services/client/tasks.ts";
import { sendVote, type VoteInput } from "../../../services/client/send.ts";
import type { MemoryMesh } from "../../../services/memory/mesh.ts";
import { openTestMesh, type TestMesh } from "../../../services/testing/test-mesh.ts";
import { readLetterHeaders } from "../../../services/wire/dead-letter.ts";
import app, { pay, purchase } from "../../examples/purchase.ts";

const saga = parseSagaId("p-1");
const order = { item: "a press", supplier: "Ada & Sons", cents: 90_000 };
const lead = { by: "leo", as: "team_lead" };
const finance = (by: string) => ({ by, as: "finance" });

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The mesh, and a way past the client's door. */
function opened(seed = 1) {
  let memory: MemoryMesh | undefined;
  const t = openTestMesh(app, { seed }, { opened: (mesh) => (memory = mesh) });
  const { ports, clock, chance } = (memory as MemoryMesh).spawn("outside"); // Proof: the hook is called at once.
  const raw = (intent: string, vote: VoteInput) =>
    (memory as MemoryMesh).clock.until(
      sendVote({ ports, clock, chance, from: "outside" }, { saga, intent: parseIntentId(intent) }, vote),
    );
  const letters = async () =>
    (await (memory as MemoryMesh).clock.until(ports.dead.list())).map(({ headers, data }) => ({
      ...readLetterHeaders(headers),
      vote: JSON.parse(Buffer.from(data).toString()) as VoteInput,
    }));
  const votes = async () =>
    (await t.anySaga(saga).ledger()).flatMap(({ steps }) =>
      steps.flatMap(({ event }): EventOf<"task">[] => (event.type === "task" ? [event] : [])),
    );
  return { t, raw, letters, votes };
}

async function onlyTask(t: TestMesh): Promise<OpenTask> {
  const [task, ...more] = await t.tasks();
  if (task === undefined || more.length > 0) throw new Error("there is one");
  return task;
}

describe("a vote on a task that is over", () => {
  test("is a dead letter that says who decided what and when, unless it is the vote that decided", async () => {
    const { t, raw, letters, votes } = opened();
    await t.start(purchase, order, { id: saga });
    const task = await onlyTask(t);
    await t.vote(task, { vote: "approve", ...lead });
    await raw(task.intent, { vote: "approve", ...lead });
    await raw(task.intent, { vote: "deny", ...lead, reason: "on second thoughts" });
    await t.settled();
    expect(await letters()).toMatchObject([
      {
        code: "TASK_OVER",
        reason: expect.stringMatching(
          /p-1\/\S+ is over: it was approved by leo as team_lead at 2026-\S+Z/,
        ) as string,
        vote: { vote: "deny", reason: "on second thoughts" },
      },
    ]);
    expect(await votes()).toHaveLength(1);
    expect(t.effects(pay)).toHaveLength(1);
  });

  test("past its deadline says so, and names who is asked now", async () => {
    const { t, raw, letters } = opened();
    await t.start(purchase, order, { id: saga });
    const task = await onlyTask(t);
    await t.advance("5h");
    const next = await onlyTask(t);
    await raw(task.intent, { vote: "approve", ...lead });
    await t.settled();
    expect(await letters()).toMatchObject([{ code: "TASK_OVER" }]);
    const [{ reason } = { reason: "" }] = await letters();
    expect(reason).toContain(`nobody spoke in time; ${next.intent} asks finance`);
  });

  test("is refused by the client at once, and its repeat is not", async () => {
    const { t, letters, votes } = opened();
    await t.start(purchase, order, { id: saga });
    const task = await onlyTask(t);
    await t.vote(task, { vote: "approve", ...lead });
    await t.vote(task, { vote: "approve", ...lead });
    await expect(t.vote(task, { vote: "deny", ...lead })).rejects.toThrow(/TASK_OVER.*approved by leo/);
    expect(await votes()).toHaveLength(1);
    expect(await letters()).toEqual([]);
  });
});

test("what the client can know of a vote it says before anything is stored", async () => {
  const { t, letters, votes } = opened();
  await t.start(purchase, order, { id: saga });
  const { intent, ...task } = await onlyTask(t);
  const named = { saga, intent }; // Without what was shown of it.
  for (const [vote, code] of [
    [{ vote: "approve", by: "mallory" }, "VOTER_NOT_ASKED"],
    [{ vote: "approve", ...lead, digest: "0".repeat(64) }, "ARGUMENTS_CHANGED"],
    [{ vote: "answer", answer: 1, ...lead }, "INPUT_INVALID"],
    [{ vote: "edit", ...lead }, "INPUT_INVALID"],
    [{ vote: "edit", input: { cents: "7" }, ...lead }, "INPUT_INVALID"],
  ] as const)
    await expect(t.vote(named, vote)).rejects.toThrow(`[${code}]`);
  await expect(t.vote({ saga, intent: "1-0" }, { vote: "approve", ...lead })).rejects.toThrow(
    "[TASK_UNKNOWN]",
  );
  await expect(t.vote({ saga, intent: "99-0" }, { vote: "approve", ...lead })).rejects.toThrow(
    "[TASK_UNKNOWN]",
  );
  await expect(t.vote({ saga: "nobody", intent }, { vote: "approve", ...lead })).rejects.toThrow(
    "[SAGA_UNKNOWN]",
  );
  expect(await votes()).toEqual([]);
  expect(await letters()).toEqual([]);
  expect((await onlyTask(t)).digest).toBe(task.digest);
});

const vote = fc.constantFrom("approve", "deny", "edit").chain((word) =>
  fc.record({
    vote: fc.constant(word),
    who: fc.constantFrom(lead, finance("fay"), finance("fred"), { by: "mallory" }),
    cents: fc.constantFrom(48_000, 70_000, "7"),
    on: fc.nat(3),
    crash: fc.boolean(),
    hours: fc.constantFrom(0, 0, 0, 1, 5, 49),
  }),
);

test("every acked vote, at whatever time, is on the ledger or in the dead letters, once", async () => {
  const codes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(vote, { minLength: 4, maxLength: 12 }), async (said) => {
      const { t, raw, letters, votes } = opened();
      await t.start(purchase, order, { id: saga });
      const tasks: string[] = [];
      for (const [k, { who, on, crash, hours, cents, ...one }] of said.entries()) {
        for (const { intent } of await t.tasks()) if (!tasks.includes(intent)) tasks.push(intent);
        const input = one.vote === "edit" ? { input: { supplier: order.supplier, cents } } : {};
        const word = { ...one, ...input, ...who, reason: `word ${k}` } as VoteInput;
        await raw(tasks[on % tasks.length] ?? "1-0", word);
        if (crash) await t.crash();
        await t.advance(hours * 3_600_000);
      }
      await t.advance("4d");
      const counted = (await votes()).map(({ vote: { reason } }) => reason);
      const dead = await letters();
      for (const { code } of dead) codes.add(code);
      const stands = [...counted, ...dead.map(({ vote: { reason } }) => reason)].sort();
      expect(stands).toEqual(said.map((_, k) => `word ${k}`).sort());
      await t.close();
    }),
    { numRuns: 12, seed: 14 },
  );
  expect([...codes].sort()).toEqual(
    expect.arrayContaining(["INPUT_INVALID", "TASK_OVER", "VOTER_NOT_ASKED"]) as string[],
  );
});
