/**
 * Told ledgers: what the examples leave behind on the mesh in memory, for tests of what is read from a ledger. Each was
 * written by real hosts and workers, which die where its name says so.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { NotPerformed } from "sagamesh";
import type { Turn } from "../../protocol/turn.ts";
import { type App, defineApp } from "../../services/app/app.ts";
import {
  given,
  inDoubt,
  replied,
  scriptedModel,
  signalled,
  started,
  succeeded,
  testMesh,
  type TestMesh,
  voted,
} from "../../services/testing/index.ts";
import { openTestMesh } from "../../services/testing/test-mesh.ts";
import { hireForRole } from "../examples/hiring.ts";
import purchaseApp, { purchase } from "../examples/purchase.ts";
import researchApp, { researchLead } from "../examples/research-team.ts";
import { createOffsite } from "../examples/three-bookings.ts";
import { bookTrip, createTripApp } from "../examples/trip-booking.ts";
import weekendApp, { weekend } from "../examples/weekend.ts";
import { agentOf, call, finish } from "./workbench.ts";

export interface ToldLedger {
  readonly app: App;
  readonly turns: readonly Turn[];
}

const order = { item: "a press", supplier: "Ada & Sons", cents: 90_000 };

async function onlyTask(t: TestMesh) {
  const [task] = await t.tasks();
  if (task === undefined) throw new Error("somebody is asked");
  return task;
}

/** The lead does not answer; finance changes the amount and agrees to it, with a crash between the two. */
export async function editedPurchase(): Promise<ToldLedger> {
  await using t = testMesh(purchaseApp);
  const saga = await t.start(purchase, order, { id: "p-1" });
  await t.advance("5h");
  const input = { supplier: order.supplier, cents: 48_000 };
  await t.vote(await onlyTask(t), { vote: "edit", input, by: "fay", as: "finance", reason: "too dear" });
  const changed = await onlyTask(t);
  await t.vote(changed, { vote: "approve", by: "fay", as: "finance" });
  await t.crash();
  await t.advance("2h");
  await t.vote(changed, { vote: "approve", by: "finn", as: "finance" });
  await saga.result();
  return { app: purchaseApp, turns: await saga.ledger() };
}

/** The hall is too small: what was booked before it is released. */
export async function failedOffsite(): Promise<ToldLedger> {
  const { offsite, app } = createOffsite({ held: new Map(), known: new Map() }, 10);
  await using t = testMesh(app);
  const saga = await t.start(offsite, { people: 12, city: "BER" }, { id: "o-1" });
  await saga.result();
  return { app, turns: await saga.ledger() };
}

export async function deniedPurchase(): Promise<ToldLedger> {
  await using t = testMesh(purchaseApp);
  const saga = await t.start(purchase, order, { id: "p-2" });
  await t.advance("1h");
  await t.vote(await onlyTask(t), { vote: "deny", by: "leo", as: "team_lead", reason: "no money" });
  await saga.result();
  return { app: purchaseApp, turns: await saga.ledger() };
}

/** Called off on its second day, after a crash: declines, and withdraws what it had asked for. */
export async function calledOffHiring(): Promise<ToldLedger> {
  const people = ["ana", "bo"];
  const app = defineApp({
    sagas: [hireForRole],
    models: {
      recruiting_model: scriptedModel("recruiting_model", ({ messages, step }) => {
        if (JSON.stringify(messages.at(-1)).includes("called off"))
          return { calls: people.map((who) => call("send_decline", { candidateId: who, text: "Sorry." })) };
        if (step === 1) return { calls: [call("search_candidates", { role: "dev" })] };
        return { calls: people.map((who) => call("request_interview", { candidateId: who })) };
      }),
    },
  });
  await using t = testMesh(app);
  const saga = await t.start(hireForRole, { role: "dev" }, { id: "hire-1" });
  await t.advance("1d");
  await t.crash();
  await t.advance("1d");
  await saga.cancel("the budget was cut");
  await saga.result();
  return { app, turns: await saga.ledger() };
}

/** The flight and the room are booked, there is no car: both are cancelled, the room first. */
export async function undoneTrip(): Promise<ToldLedger> {
  const app = createTripApp({
    reserve: (what) =>
      what === "book_car"
        ? Promise.reject(new NotPerformed("no car is left", { retry: false }))
        : Promise.resolve({ bookingId: `${what}-7` }),
    find: () => Promise.resolve(undefined),
    cancel: () => Promise.resolve(),
  });
  await using t = testMesh(app);
  const saga = await t.start(
    bookTrip,
    { traveller: "Ada", to: "Turin", deadlineMs: 60_000 },
    { id: "trip-1" },
  );
  await saga.result();
  return { app, turns: await saga.ledger() };
}

/** The card is refused. */
export async function refusedWeekend(): Promise<ToldLedger> {
  await using t = testMesh(weekendApp);
  const saga = await t.start(weekend, { guest: "Ada", cents: 60_000 }, { id: "stay-1" });
  await saga.result();
  return { app: weekendApp, turns: await saga.ledger() };
}

/** Of the lead, and of the researcher who had used up its slice. */
export async function spentResearch(): Promise<{ lead: ToldLedger; researcher: ToldLedger }> {
  await using t = testMesh(researchApp);
  const topics = ["tin", "poison", "broad metals"];
  const lead = await t.start(researchLead, { question: "Which material?", topics }, { id: "team" });
  await lead.result();
  const ledgers = await Promise.all((await t.list()).map(({ saga }) => t.anySaga(saga).ledger()));
  const researchers = ledgers.filter(([first]) => first?.saga !== "team");
  const spent = researchers.reduce((longest, one) => (one.length > longest.length ? one : longest));
  return {
    lead: { app: researchApp, turns: await lead.ledger() },
    researcher: { app: researchApp, turns: spent },
  };
}

const Table = z.object({ guests: z.int() });
const freeTable = defineTool({
  name: "free_table",
  description: "Gives a table back.",
  effect: "idempotent",
  input: z.object({ heldWithKey: z.string() }),
  output: z.object({}),
  perform: () => Promise.resolve({}),
});
const holdTable = defineTool({
  name: "hold_table",
  description: "Holds a table.",
  effect: "idempotent",
  input: Table,
  output: z.object({ table: z.int() }),
  compensation: { tool: freeTable, input: ({ key }) => ({ heldWithKey: key }) },
  perform: () => Promise.resolve({ table: 7 }),
});
const payDeposit = defineTool({
  name: "pay_deposit",
  description: "Pays a deposit.",
  effect: "once",
  input: Table,
  output: z.object({}),
  perform: () => Promise.resolve({}),
});
const usage = { inputTokens: 100, outputTokens: 20, usd: 0.01 };
const dinner = defineAgent({
  name: "dinner",
  version: 1,
  description: "Holds a table until the guests have said whether they come.",
  model: "host",
  instructions: "Hold a table and wait for the guests.",
  input: Table,
  output: z.object({ table: z.int().nullable() }),
  signals: { coming: z.object({ guests: z.int() }) },
  tools: [holdTable, payDeposit],
  budget: { steps: 10, tokens: 1_000_000 },
  policies: [
    {
      name: "no deposits",
      judge: ({ tool }) => (tool === "pay_deposit" ? { deny: "nobody pays in advance" } : undefined),
    },
  ],
});

const dinnerApp = () =>
  defineApp({
    sagas: [dinner],
    models: {
      host: scriptedModel("host", ({ step }) => {
        const base = { text: `step ${step}`, usage };
        if (step === 1)
          return { ...base, calls: [call("hold_table", { guests: 4 }), call("pay_deposit", { guests: 4 })] };
        if (step === 2) return { ...base, calls: [call("wait", { signals: ["coming"], forMs: 7_200_000 })] };
        if (step === 3)
          return { ...base, calls: [call("undo", { calls: ["1.0"], because: "nobody comes" })] };
        return { ...base, calls: [call("finish", { output: { table: null } })] };
      }),
    },
  });

/** It leaves its origin where that was asking its model the second time; nobody outside is told. */
export async function forkedDinner(): Promise<ToldLedger> {
  const app = dinnerApp();
  await using t = testMesh(app);
  const origin = await t.start(dinner, { guests: 4 }, { id: "dinner-1" });
  await origin.result();
  const fork = await t.fork(dinner, "dinner-1", { from: 3, id: "dinner-3" });
  await fork.result();
  return { app, turns: await fork.ledger() };
}

/** The host dies once it has recorded that the model is to be asked a second time. */
export async function killedDinner(): Promise<ToldLedger> {
  const app = dinnerApp();
  let appended = 0;
  await using t = openTestMesh(
    app,
    {},
    {
      crashesAt: (role, port, method, when) =>
        role === "host" && port === "ledger" && method === "append" && when === "after" && ++appended === 3,
    },
  );
  const saga = await t.start(dinner, { guests: 4 }, { id: "dinner-2" });
  await saga.signal("coming", { guests: 4 });
  await saga.end();
  return { app, turns: await saga.ledger() };
}

/** A policy refuses one of two calls, the host dies while the agent waits, nobody comes, and the table is given back. */
export async function waitedDinner(): Promise<ToldLedger> {
  const app = dinnerApp();
  await using t = testMesh(app);
  const saga = await t.start(dinner, { guests: 4 }, { id: "dinner-1" });
  await t.advance("1h");
  await t.crash();
  await saga.result();
  return { app, turns: await saga.ledger() };
}

/** The kernel's own: a signal supersedes a decision, an effect is in doubt and a human finds that it happened. */
export const doubtfulHelper = (): ToldLedger => {
  const helper = agentOf();
  const { turns } = given(
    helper,
    started({ of: "x" }),
    signalled("note", { text: "hurry" }, { from: "ana" }),
    replied({ calls: [call("charge_ask"), call("look")], usage }),
    succeeded("look", { seen: 1 }),
    inDoubt("charge_ask"),
    voted("doubt", "answer", { by: "bea", answer: { outcome: "happened", output: { id: "9" } } }),
    replied({ ...finish, usage }),
  );
  return { app: defineApp({ sagas: [helper] }), turns };
};

/** An agent that calls the same tool round after round. */
export const longHelper = (rounds: number): ToldLedger => {
  const helper = agentOf();
  const past = Array.from({ length: rounds }, (_, k) => [
    replied({ calls: [call("look", { of: `${k}` })], usage }),
    succeeded("look", { seen: k }),
  ]).flat();
  const { turns } = given(helper, started({ of: "x" }), ...past, replied({ ...finish, usage }));
  return { app: defineApp({ sagas: [helper] }), turns };
};

let all: Promise<Readonly<Record<string, ToldLedger>>> | undefined;

/** Every one of them, made once for a whole file. */
export const toldLedgers = (): Promise<Readonly<Record<string, ToldLedger>>> =>
  (all ??= spentResearch().then(async ({ lead, researcher }) => ({
    "edited purchase": await editedPurchase(),
    "failed offsite": await failedOffsite(),
    "denied purchase": await deniedPurchase(),
    "called off hiring": await calledOffHiring(),
    "undone trip": await undoneTrip(),
    "refused weekend": await refusedWeekend(),
    "research lead": lead,
    "research that ran out": researcher,
    "waited dinner": await waitedDinner(),
    "forked dinner": await forkedDinner(),
    "doubtful helper": doubtfulHelper(),
    "long helper": longHelper(70),
  })));
