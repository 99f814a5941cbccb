/**
 * Goal: a lead and five researchers never use more of the outside than the pool they share, whoever fails or runs out
 * of it, and the lead still finishes with a report.
 * Method: test/examples/research-team.ts on the test mesh. The outside counts by itself: the bytes of every request it
 * was sent and of every reply it gave, whether or not anybody is told of them.
 */
import { describe, expect, test } from "vitest";
import type { ModelPort } from "sagamesh/models";
import { testMesh, type TestMesh } from "sagamesh/testing";
import app, { models, pool, read, researchLead } from "./research-team.ts";

interface Asked {
  readonly saga: string;
  readonly isLastStep: boolean;
  readonly tokens: number;
}
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The port, with every request to it on the outside's own account, from the moment it is asked. */
const counted = (port: ModelPort, account: Asked[]): ModelPort => ({
  name: port.name,
  decide: async (request, context) => {
    const { saga, instructions, tools, messages, outputTokensMax } = request;
    const place = account.length;
    const tokens = bytesOf([instructions, tools, messages]);
    const isLastStep = JSON.stringify(messages.slice(-2)).includes(
      "This is your last step: the budget of tokens is used up",
    );
    account.push({ saga, isLastStep, tokens });
    const answer = await port.decide(request, context).catch((error: unknown) => {
      context.spent({ inputTokens: tokens, outputTokens: 0 }); // A refusal is billed as well.
      throw error;
    });
    const written = bytesOf(answer.calls ?? []);
    expect(written, "the reply is within its bound").toBeLessThanOrEqual(outputTokensMax ?? 0);
    account[place] = { saga, isLastStep, tokens: tokens + written };
    return answer;
  },
});

async function researched(...topics: string[]) {
  const account: Asked[] = [];
  const ports = { lead: counted(models.lead, account), researcher: counted(models.researcher, account) };
  const t = testMesh(app, { models: ports });
  const saga = await t.start(researchLead, { question: "Which material?", topics }, { id: "team" });
  const end = await saga.result();
  const of = (id: string) => account.filter((one) => one.saga === id);
  const researchers = (await t.list()).map(({ saga }) => saga).filter((id) => id !== "team");
  return { t, saga, end, account, of, researchers };
}

const tokensOf = (account: readonly Asked[]) => account.reduce((sum, { tokens }) => sum + tokens, 0);
/** When each of them was started, by the turn of the lead's ledger. */
const startedIn = async (t: TestMesh) =>
  (await t.anySaga("team").ledger()).flatMap((turn, at) =>
    turn.steps.flatMap(({ intents }) => intents.flatMap(({ kind }) => (kind === "saga" ? [at] : []))),
  );

describe("a lead with five researchers", () => {
  test("starts them in one reply and finishes with a report of all they found", async () => {
    const { t, end, researchers } = await researched("tin", "zinc", "lead", "iron", "oak");
    await using _ = t;
    expect(end).toMatchObject({
      status: "completed",
      output: {
        report: ["tin: 2 pages", "zinc: 2 pages", "lead: 2 pages", "iron: 2 pages", "oak: 2 pages"],
      },
    });
    expect(researchers).toHaveLength(5);
    const turns = await startedIn(t);
    expect(turns).toHaveLength(5);
    expect(new Set(turns).size).toBe(1);
  });

  test("works around one that fails: it reads that topic itself", async () => {
    const { t, end } = await researched("tin", "zinc", "poison", "iron", "oak");
    await using _ = t;
    expect(end.status).toBe("completed");
    const { report } = end.status === "completed" ? end.output : { report: [] };
    expect(report).toHaveLength(6);
    expect(report[2]).toMatch(/^poison: its researcher failed \(.*the provider refuses this topic/);
    expect(report[5]).toBe("poison: 1 page, read by the lead");
    const own = t.effects(read).filter(({ saga }) => saga === "team");
    expect(own.map(({ input }) => input)).toEqual([{ topic: "poison", page: 1 }]);
  });

  test("tells one that has used up its slice that this is its last step, and it ends well in it", async () => {
    const { t, end, of, researchers } = await researched("tin", "zinc", "broad metals", "iron", "oak");
    await using _ = t;
    const warned = researchers.filter((id) => of(id).some(({ isLastStep }) => isLastStep));
    expect(warned).toHaveLength(1);
    for (const id of warned) {
      expect(of(id).map(({ isLastStep }) => isLastStep)).toEqual([
        ...of(id)
          .slice(1)
          .map(() => false),
        true,
      ]);
      expect(await t.anySaga(id).result()).toMatchObject({
        status: "completed",
        output: { complete: false },
      });
    }
    const { report } = end.status === "completed" ? end.output : { report: [] };
    expect(report[2]).toMatch(/^broad metals: \d+ pages, as far as the budget went$/);
    expect(Number(report[2]?.match(/\d+/)?.[0])).toBeGreaterThan(2);
  });
});

describe("the pool, by the outside's own count,", () => {
  test.each([
    ["five that have little to read", ["tin", "zinc", "lead", "iron", "oak"], 0],
    ["five of which one fails", ["tin", "zinc", "poison", "iron", "oak"], 0],
    [
      "five that read on for as long as they may",
      ["broad a", "broad b", "broad c", "broad d", "broad e"],
      0.5,
    ],
  ])("is never exceeded by the lead and %s", async (_, topics, atLeast) => {
    const { t, end, account, of, researchers } = await researched(...topics);
    await using __ = t;
    expect(tokensOf(account)).toBeLessThanOrEqual(pool.tokens);
    expect(tokensOf(account)).toBeGreaterThanOrEqual(atLeast * pool.tokens);
    expect(account.length).toBeLessThanOrEqual(pool.steps);
    expect(end).toMatchObject({ status: "completed", output: { report: expect.any(Array) } });
    expect(researchers).toHaveLength(5);
    for (const id of ["team", ...researchers]) expect(of(id).length).toBeGreaterThan(0);
  });
});
