/**
 * Recorded runs: ledgers of every example saga, as many as one likes, each another: other inputs, people who say
 * otherwise, signals, an outside that fails, processes that die. One number makes one run, and the same again.
 */
import { defineApp, implement, NotPerformed, type SagaDefinition } from "sagamesh";
import { scriptedModel, type TestMesh, testMesh } from "sagamesh/testing";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { clerk } from "../examples/file-clerk.ts";
import fileClerk from "../examples/file-clerk.ts";
import { hireForRole, requestInterview } from "../examples/hiring.ts";
import blackBox from "../examples/patterns/black-box.ts";
import mix from "../examples/patterns/mix.ts";
import visible from "../examples/patterns/visible.ts";
import buying, { purchase } from "../examples/purchase.ts";
import research, { researchLead } from "../examples/research-team.ts";
import { createOffsite } from "../examples/three-bookings.ts";
import { bookTrip, createTripApp } from "../examples/trip-booking.ts";
import { placeOf } from "../examples/travel/agents.ts";
import { createOutside } from "../examples/travel/outside.ts";
import { createTravel } from "../examples/travel/travel.ts";
import { createRealm } from "../examples/realm/app.ts";
import weekends, { weekend } from "../examples/weekend.ts";

/** Chance of one run: whole numbers below `n`. */
type Pick = (n: number) => number;

/** An example: how one of its runs begins and what the outside does in it. */
export interface Example {
  readonly name: string;
  readonly app: (pick: Pick) => App;
  /** Lets a run happen, to its end if it has one. */
  readonly act: (t: TestMesh, pick: Pick) => Promise<void>;
}

export interface RecordedRun {
  readonly app: App;
  readonly saga: string;
  readonly turns: Turn[];
}

/** mulberry32: small, and good enough for choosing. */
export function chanceOf(seed: number): Pick {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (((t ^ (t >>> 14)) >>> 0) % 1e6) % n;
  };
}

/** Every ledger of one run, children's too. */
export async function record(example: Example, seed: number): Promise<RecordedRun[]> {
  const pick = chanceOf(seed);
  const app = example.app(pick);
  await using t = testMesh(app, { seed });
  await example.act(t, pick);
  return await Promise.all(
    (await t.list()).map(async ({ saga }) => ({ app, saga, turns: await t.anySaga(saga).ledger() })),
  );
}

const mayCrash = async (t: TestMesh, pick: Pick) => {
  if (pick(4) === 0) await t.crash();
};
const startable = (app: App): SagaDefinition => app.config.sagas?.[0] as SagaDefinition; // Proof: each pattern defines one.

const pattern = (name: string, app: App): Example => ({
  name,
  app: () => app,
  act: async (t, pick) => {
    const saga = await t.start(startable(app), { text: `it broke ${pick(9)} times` });
    await mayCrash(t, pick);
    if (name === "black-box") await t.advance("1h");
    for (const task of await t.tasks())
      await t.vote(task, { vote: "answer", answer: { outcome: "did_not_happen" }, by: "ann" });
    await saga.result();
  },
});

const people = ["leo", "lea", "fay", "fred"];

const buys: Example = {
  name: "purchase",
  app: () => buying,
  act: async (t, pick) => {
    const order = { item: "a press", supplier: `supplier ${pick(3)}`, cents: 30_000 + 20_000 * pick(3) };
    const saga = await t.start(purchase, order);
    for (let k = 0; k < 4 && (await saga.end()) === undefined; k++) {
      await mayCrash(t, pick);
      if (pick(2) === 0) await t.advance("5h");
      const [task] = await t.tasks();
      if (task === undefined) continue;
      const as = task.to[0] ?? "";
      const by = people[k] ?? "";
      const word = pick(4);
      const edit = { supplier: order.supplier, cents: 1_000 * (pick(40) + 1) };
      if (word === 0) await t.vote(task, { vote: "deny", by, as, reason: "too dear" });
      else if (word === 1) await t.vote(task, { vote: "edit", by, as, input: edit });
      else await t.vote(task, { vote: "approve", by, as });
    }
    if ((await saga.end()) === undefined && pick(3) === 0) await saga.cancel("not needed");
    await saga.result({ within: "30d" });
  },
};

/** A workflow, whose hall may be too small and whose flight may be cancelled by the airline. */
const offsites: Example = {
  name: "three-bookings",
  app: (pick) => offsiteOf(pick).app,
  act: async (t, pick) => {
    const saga = await t.start(anyOffsite, { people: 6 + 3 * pick(3), city: "BER" });
    await mayCrash(t, pick);
    if (pick(2) === 0 && (await saga.end()) === undefined)
      await saga.signal("invalidate", { node: "flight", reason: "the airline cancelled it" });
    await mayCrash(t, pick);
    await saga.result();
  },
};
const offsiteOf = (pick: Pick) =>
  createOffsite({ held: new Map(), known: new Map() }, 10, {
    onFailure: pick(2) === 0 ? "end" : "replan",
    openForMs: 3_600_000,
  });

/** Starts are by name: which of them the host serves, its application says. */
const anyOffsite = offsiteOf(() => 0).offsite;

const trips: Example = {
  name: "trip-booking",
  app: (pick) => {
    const made = new Map<string, { bookingId: string }>();
    return createTripApp({
      reserve: async (what, { key }) => {
        const luck = pick(10);
        if (luck === 0) throw new NotPerformed(`${what} is full`, { retry: false });
        if (luck === 1) throw new Error("the line is dead");
        const booking = { bookingId: `${what}-${made.size}` };
        made.set(key, booking);
        return booking;
      },
      find: async (key) => made.get(key),
      cancel: async () => {
        if (pick(4) === 0) throw new Error("the line is dead");
      },
    });
  },
  act: async (t, pick) => {
    const saga = await t.start(bookTrip, { traveller: "ada", to: `city ${pick(5)}`, deadlineMs: 600_000 });
    await mayCrash(t, pick);
    if (pick(4) === 0 && (await saga.end()) === undefined)
      await saga.signal("change_plan", { reason: "rain" });
    for (const task of await t.tasks())
      await t.vote(task, { vote: pick(2) === 0 ? "approve" : "deny", by: "desk" });
    await saga.result();
  },
};

/** Where the candidates of the run at hand answer. */
const invitations: string[] = [];

const hires: Example = {
  name: "hiring",
  app: () =>
    defineApp({
      sagas: [hireForRole],
      models: { recruiting_model: scriptedModel("recruiting_model", recruit) },
      implementations: [
        implement(requestInterview, {
          perform: (_, { callbackUrl, defer }) => {
            invitations.push(callbackUrl);
            return defer({ withinMs: 5 * 86_400_000 });
          },
        }),
      ],
    }),
  act: async (t, pick) => {
    invitations.length = 0;
    const saga = await t.start(hireForRole, { role: `role ${pick(6)}` });
    for (let k = 0; k < 3; k++) {
      await t.advance("20h");
      await mayCrash(t, pick);
      const asked = invitations[k];
      if (asked === undefined || pick(4) === 0) continue;
      await t
        .settle(
          asked,
          pick(5) === 0 ? { failed: "no time" } : { succeeded: { slot: "2026-02-01T10:00:00Z" } },
        )
        .catch(() => undefined);
    }
    if (pick(3) === 0 && (await saga.end()) === undefined) await saga.cancel("no budget");
    await saga.result({ within: "30d" });
  },
};

/** Searches, asks everybody at once, and is content with whoever answers; called off, it declines. */
const recruit: Parameters<typeof scriptedModel>[1] = ({ messages }) => {
  const told = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  const results = told.filter((part) => part.type === "result");
  const found = results.find(({ tool }) => tool === "search_candidates");
  const [first] = told;
  const { role } = JSON.parse(first?.type === "text" ? first.text : "{}") as { role: string };
  if (JSON.stringify(messages.at(-1)).includes("called off"))
    return {
      calls: [{ tool: "send_decline", input: { candidateId: "ana", text: "The position is closed." } }],
    };
  if (found === undefined)
    return { text: `For ${role}.`, calls: [{ tool: "search_candidates", input: { role } }] };
  const answers = results.filter(
    ({ tool, outcome }) => tool === "request_interview" && outcome !== "pending",
  );
  const { candidates = [] } = (found.output ?? {}) as { candidates?: { candidateId: string }[] };
  if (answers.length === 0 && !results.some(({ tool }) => tool === "request_interview"))
    return {
      calls: candidates.map(({ candidateId }) => ({ tool: "request_interview", input: { candidateId } })),
    };
  const slots = answers.flatMap(
    ({ output }) => ((output as { slot?: string } | undefined)?.slot ?? []) as string[],
  );
  return { calls: [{ tool: "finish", input: { output: { slots } } }] };
};

const researches: Example = {
  name: "research-team",
  app: () => research,
  act: async (t, pick) => {
    const topics = Array.from(
      { length: 1 + pick(3) },
      (_, k) => `${["tea", "poison", "ink", "salt"][pick(4)] ?? ""} ${k}`,
    );
    const saga = await t.start(researchLead, { question: "what of it?", topics });
    await mayCrash(t, pick);
    if (pick(6) === 0 && (await saga.end()) === undefined) await saga.cancel("enough");
    await saga.result({ within: "30d" });
  },
};

const weekendsAway: Example = {
  name: "weekend",
  app: () => weekends,
  act: async (t, pick) => {
    const saga = await t.start(weekend, { guest: `guest ${pick(9)}`, cents: 30_000 + 30_000 * pick(2) });
    await mayCrash(t, pick);
    await saga.result();
  },
};

/** The reference server's answers, from a shelf in memory: its process is another test's. */
const clerks: Example = {
  name: "file-clerk",
  app: (pick) => {
    const tools = [...clerk.definition.tools.values()];
    const shelf = new Map([
      ["in/letter-1.txt", "the tea"],
      ["in/letter-2.txt", `biscuits ${pick(7)}`],
    ]);
    const said = (content: string) => ({ content });
    const bodies: Record<string, (input: never) => Promise<unknown>> = {
      files_list_directory: async () =>
        said([...shelf.keys()].map((path) => `[FILE] ${path.slice(3)}`).join("\n")),
      files_read_text_file: async ({ path }: { path: string }) => said(shelf.get(path) ?? ""),
      files_write_file: async ({ path, content }: { path: string; content: string }) => {
        if (pick(3) !== 0) shelf.set(path, content);
        if (pick(2) === 0) throw new Error("the disk hums");
        return said("written");
      },
    };
    const implementations = tools.flatMap((tool) => {
      const perform = bodies[tool.name];
      return perform === undefined ? [] : [implement(tool, { perform: perform })];
    });
    return defineApp({ ...fileClerk.config, implementations });
  },
  act: async (t, pick) => {
    const saga = await t.start(clerk, { folder: "in" });
    await mayCrash(t, pick);
    await saga.result();
  },
};

/** Five bookings with their agents and judges; a provider may take one back, the traveller may call it off. */
const travels: Example = {
  name: "travel",
  app: () => createTravel(createOutside()).app,
  act: async (t, pick) => {
    const saga = await t.start(anyTravel, { open_for_days: 30 });
    await mayCrash(t, pick);
    const node = ["T1", "T2", "T3", "T4", "T5"][pick(5)] ?? "T1";
    const booked = t.effects().filter(({ tool, ended }) => tool.startsWith("book_") && ended === "returned");
    const { reference = "" } = (booked[pick(5)]?.value ?? {}) as { reference?: string };
    if (pick(2) === 0)
      await saga.signal("cancelled", {
        ...{ booking: reference, place: placeOf[node]?.place ?? "", by: "its provider" },
        ...{ reason: "a strike", on: "2025-05-20" },
      });
    await mayCrash(t, pick);
    if (pick(3) === 0) await saga.cancel("not this year");
    await saga.result({ within: "60d" });
  },
};
const anyTravel = createTravel(createOutside()).travel;

/** A day of the wedding that is planned, disrupted or not, and lived. */
const days: Example = {
  name: "realm",
  app: () => createRealm().app,
  act: async (t, pick) => {
    const problem = ["P5", "P8-traffic", "P6", "P9-paper"][pick(4)] ?? "P5";
    const saga = await t.start(anyDay, { problem, minuteMs: 1_000 });
    await mayCrash(t, pick);
    await saga.result({ within: "2d" });
  },
};
const anyDay = createRealm().realm;

/** Every example saga there is (test/examples). */
export const examples: readonly Example[] = [
  buys,
  offsites,
  trips,
  hires,
  researches,
  weekendsAway,
  clerks,
  pattern("black-box", blackBox),
  pattern("visible", visible),
  pattern("mix", mix),
  travels,
  days,
];
