/**
 * Goal: each type of validation catches the case that must be caught and passes the one that must pass, and says that
 * it cannot tell where it cannot.
 * Method: the check of each built-in validator on recorded schedules, claims and traces (cases.json): facts of real
 * runs of models, and the travel planning example. A claim in words is read by hand, beside its words.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { PerformContext } from "../../../actors/contract/tool.ts";
import type { Validator } from "../../../actors/validators/validator.ts";
import type { ValidatorMaterial } from "../../../actors/validators/context.ts";
import {
  constraintAdherence,
  contextPreservation,
  factualAccuracy,
  soundReasoning,
  semanticValidity,
  syntacticValidity,
} from "../../../actors/validators/built-in.ts";
import {
  boundaryIntegrity,
  claimConsistency,
  contractConformance,
  type ExecutionRecord,
  dependencySatisfaction,
  mutualAgreement,
  type Occurrence,
  temporalOrder,
  transactionCoherence,
} from "../../../actors/validators/between.ts";
import { honestOutput } from "../../../actors/validators/honest.ts";
import type { Json } from "../../../protocol/json.ts";
import { type ValidatorAnswer, validationTypes } from "../../../protocol/verdict.ts";
import cases from "./cases.json" with { type: "json" };

const judge = async (
  validator: Validator,
  item: unknown,
  more: Omit<ValidatorMaterial, "item"> = {},
): Promise<ValidatorAnswer> => {
  const { seen } = validator.given({ item: item as Json, ...more });
  return (await validator.check?.body?.perform(seen, {} as PerformContext)) as ValidatorAnswer;
};
const rules = (answer: ValidatorAnswer) => (answer.findings ?? []).map(({ rule }) => rule);

/** The words of a recorded run that a case stands for, with what is known to be right. */
function claim(run: keyof typeof cases.runs, words: string) {
  const said = cases.runs[run].find((one) => one.claim.includes(words));
  if (said === undefined) throw new Error(`${run} claims nothing of "${words}"`);
  return said;
}

const Action = z.looseObject({
  type: z.string(),
  who: z.array(z.string()).optional(),
  place: z.string().optional(),
  from: z.string().optional(),
  to: z.string().optional(),
  task: z.string().optional(),
  what: z.string().optional(),
  start: z.number(),
  end: z.number().optional(),
});
const Schedule = z.array(Action);
type Schedule = z.infer<typeof Schedule>;
const schedule = (id: keyof typeof cases.schedules): Schedule => Schedule.parse(cases.schedules[id]);

const happening = (actions: Schedule): Occurrence[] =>
  actions
    .filter(({ type }) => type !== "state")
    .map(({ type, task, what, who, place, from, to, start, end }, k) => ({
      ...{ id: `${k}:${task ?? what ?? type}`, who: who ?? [], start },
      ...(end === undefined ? {} : { end }),
      ...(from === undefined && place === undefined ? {} : { from: from ?? place ?? "" }),
      ...(to === undefined ? {} : { to }),
    }));

describe("syntactic", () => {
  const document = syntacticValidity({ schema: z.object({ schedule: z.array(z.unknown()) }) });

  test("prose in the place of a document is rejected, a document as text passes", async () => {
    expect(claim("realm-notebook-p5", "prose into p5_output.json").verdict).toBe("violated");
    expect(await judge(document, "The schedule is as follows: Alex is fetched first.")).toMatchObject({
      ...{ verdict: "reject", findings: [{ rule: "json" }] },
    });
    expect(claim("realm-notebook-p6", "JSON object into p5_output.json").verdict).toBe("holds");
    expect((await judge(document, '{"schedule":[{"at":"13:00"}]}')).verdict).toBe("accept");
    expect((await judge(document, { schedule: [] })).verdict).toBe("accept");
    expect(rules(await judge(document, '{"plan":[]}'))).toEqual(["schema"]);
  });
});

describe("semantic", () => {
  const Cooking = z.array(z.object({ what: z.string(), at: z.string().optional() }));
  const atHome = semanticValidity({
    item: Cooking,
    context: { pinned: ["goals"] },
    rules: [
      {
        id: "dinner place",
        text: "what is cooked is cooked where the dinner is",
        holds: ({ item, pinned }) => {
          const { dinnerAt } = (pinned?.goals ?? {}) as { dinnerAt?: string };
          const places = item.map(({ at }) => at);
          if (dinnerAt === undefined || places.includes(undefined)) return undefined;
          return places.every((place) => place === dinnerAt);
        },
      },
    ],
  });
  const pinned = { goals: { dinnerAt: "H" } };

  test("a dinner cooked elsewhere than where it is eaten is rejected; the same at home passes", async () => {
    expect(claim("sagallm-repo-p6", "stay to cook there").verdict).toBe("violated");
    expect((await judge(atHome, [{ what: "turkey", at: "GM" }], { pinned })).verdict).toBe("reject");
    // Of figure 4, whose cooks are at home while they cook: the last drive of each ends there.
    const cooks = schedule("figure4-claude37-P6").filter(({ type }) => type === "cook");
    expect(cooks).toHaveLength(2);
    const atH = cooks.map(({ what }) => ({ what, at: "H" }));
    expect((await judge(atHome, atH, { pinned })).verdict).toBe("accept");
  });

  test("without the goal nobody can tell", async () => {
    expect(await judge(atHome, [{ what: "turkey", at: "GM" }])).toMatchObject({ verdict: "undecided" });
    expect(await judge(atHome, [{ what: "turkey" }], { pinned })).toMatchObject({ verdict: "undecided" });
  });

  test("an output that says it failed is caught, however deep, though it was flagged a success", async () => {
    expect(cases.traces["rac-P9"].failuresFlaggedSuccess).toBe(2);
    const honest = honestOutput();
    for (const output of [
      "FAILED: no vehicle is free",
      { result: { steps: [{ note: "Error - resource oven is allocated" }] } },
      { status: "failed", task: "T7" },
      { success: false },
      { error: "the request timed out" },
      { status: 500 },
      { statusCode: "404", body: "" },
      { http_status: 503 },
      { success: "false" },
      { ok: 0, ref: "X1" },
      { isSuccess: "no" },
      { exitCode: 1, stdout: "" },
      { error: "Kein Fahrzeug ist frei" },
      { errors: [{ mensaje: "sin habitaciones" }] },
      { errorMessage: "部屋がありません" },
      { error: { code: "E17" } },
      { booking: { state: "fehlgeschlagen" } },
      { estado: { status: "エラー" } },
      { failures: 3 },
    ])
      expect(await judge(honest, output), JSON.stringify(output)).toMatchObject({ verdict: "reject" });
    for (const output of [
      { status: "confirmed", ref: "X1" },
      "3 legs booked, 0 failed, no errors",
      { success: true, errors: [] },
      { error: null },
      "Cannes is booked",
      { status: 200, ok: 1 },
      { status: "204" },
      { success: "true", error: "none", errors: {}, errorCode: 0, error_count: 0 },
      { exitCode: 0, stdout: "3 rooms" },
      { status: "queued" },
      { code: 17, price: 450 },
      { room: 404 },
      "Réservé à Cannes",
    ])
      expect(await judge(honest, output), JSON.stringify(output)).toMatchObject({ verdict: "accept" });
    for (const output of [
      "booked after the first card was declined",
      "gebucht, nachdem die erste Karte abgelehnt worden war",
      { status: "予約済み" },
      { error_count: 2 },
      { ok: null },
      { code: 503 },
    ])
      expect(await judge(honest, output), JSON.stringify(output)).toMatchObject({ verdict: "undecided" });
  });
});

describe("factual", () => {
  const Claims = z.array(z.object({ about: z.string(), value: z.json() }));
  const known = { "James lands": 780, "Emily lands": 870, "B-T": cases.travel.P5["B-T"] };
  const facts = factualAccuracy({ item: Claims, claims: ({ item }) => item, known });

  test("a landing at another time is rejected with how far off it is, a right distance passes", async () => {
    expect(claim("sagallm-repo-p6", "James lands 10:00").verdict).toBe("violated");
    expect(await judge(facts, [{ about: "James lands", value: 600 }])).toMatchObject({
      ...{ verdict: "reject", findings: [{ rule: "James lands", by: 180 }] },
    });
    expect(claim("realm-notebook-p5", "B 12:35 - T 13:05").verdict).toBe("holds");
    expect((await judge(facts, [{ about: "B-T", value: 785 - 755 }])).verdict).toBe("accept");
  });

  test("what nothing is known of is undecided, and made up where the known is all there is", async () => {
    expect(claim("sagallm-repo-p6", "Chef John").why).toBe("no such person");
    const cook = [{ about: "Chef John", value: "supervises" }];
    expect((await judge(facts, cook)).verdict).toBe("undecided");
    const people = factualAccuracy({ item: Claims, claims: ({ item }) => item, known, closed: true });
    expect(await judge(people, cook)).toMatchObject({ verdict: "reject", findings: [{ rule: "Chef John" }] });
  });
});

describe("constraint adherence", () => {
  const end = (task: string) => (item: Schedule) => item.find((one) => one.task === task)?.end;
  const wedding = constraintAdherence({
    name: "wedding",
    item: Schedule,
    missing: ({ item }) => ["gift", "clothes"].filter((task) => end(task)(item) === undefined),
    rules: [
      {
        id: "WED-TAILOR-CLOSE",
        text: "clothes are picked up by 14:00",
        holds: ({ item }) => {
          const late = (end("clothes")(item) ?? 0) - 840;
          return late <= 0 || { what: "done after closing", by: late, unit: "min" };
        },
      },
      {
        id: "WED-PHOTO",
        text: "photos at 15:00",
        holds: ({ item }) => item.some(({ type, start }) => type === "photo" && start === 900),
      },
    ],
  });
  const dinner = constraintAdherence({
    name: "dinner",
    item: Schedule,
    rules: [
      {
        id: "TKS-SIDES",
        text: "side dishes take 120 minutes",
        holds: ({ item }) =>
          item.filter(({ what }) => what === "sides").every((one) => (one.end ?? 0) - one.start >= 120),
      },
      {
        id: "TKS-DINNER",
        text: "dinner not after 18:00",
        holds: ({ item }) => item.filter(({ type }) => type === "dinner").every(({ start }) => start <= 1080),
      },
    ],
  });

  test("the tailor at 14:10 is rejected by 25 minutes, the schedule that is in time passes", async () => {
    expect(await judge(wedding, schedule("table6-claude37-P5"))).toMatchObject({
      ...{ verdict: "reject", findings: [{ rule: "WED-TAILOR-CLOSE", by: 25, unit: "min" }] },
    });
    expect((await judge(wedding, schedule("table9-gpt-o1-P8"))).verdict).toBe("accept");
  });

  test("too short a cooking and too late a dinner are both told, and the dinner in time passes", async () => {
    expect(rules(await judge(dinner, schedule("figure5-claude37-P9")))).toEqual(["TKS-SIDES", "TKS-DINNER"]);
    expect((await judge(dinner, schedule("figure4-claude37-P6"))).verdict).toBe("accept");
  });

  test("a schedule that is incomplete is rejected before a rule is asked, though it breaks none", async () => {
    const cut = schedule("table9-gpt-o1-P8").filter(({ task }) => task !== "gift");
    expect(await judge(wedding, cut)).toMatchObject({ verdict: "reject", findings: [{ rule: "complete" }] });
  });

  test("a schedule that is none is rejected for its form", async () => {
    expect(await judge(wedding, [{ type: "drive" }])).toMatchObject({ verdict: "reject" });
  });
});

describe("reasoning", () => {
  const Cook = z.object({ start: z.number(), minutes: z.number(), ready: z.number() });
  const sums = soundReasoning({
    item: z.union([Cook, z.string()]),
    steps: ({ item }) =>
      typeof item === "string"
        ? undefined
        : [{ rule: "TKS-TURKEY", from: item.start, plus: [item.minutes], to: item.ready, unit: "min" }],
  });

  test("14:00 and four hours are not 17:30, 11:00 and four hours are 15:00, and words are undecided", async () => {
    expect(claim("realm-notebook-p9", "turkey ready 17:30").verdict).toBe("violated");
    expect(await judge(sums, { start: 840, minutes: 240, ready: 1050 })).toMatchObject({
      ...{ verdict: "reject", findings: [{ rule: "TKS-TURKEY", by: 30, unit: "min" }] },
    });
    expect(claim("realm-notebook-p6", "turkey 11:00-15:00").verdict).toBe("holds");
    expect((await judge(sums, { start: 660, minutes: 240, ready: 900 })).verdict).toBe("accept");
    expect((await judge(sums, "Michael comes at 15:00, just in time for dinner")).verdict).toBe("undecided");
  });
});

const trace = cases.traces["rac-P9"];
const [planned = [], replanned = []] = trace.plans as [string, string][][];

describe("dependency satisfaction", () => {
  const Run = z.custom<ExecutionRecord>();
  const met = dependencySatisfaction({ item: Run, record: ({ item }) => item });
  const ran = (nodes: readonly string[], failed: readonly string[]): ExecutionRecord["ran"] =>
    nodes.map((node) => ({ node, outcome: failed.includes(node) ? "failed" : "succeeded" }));

  test("tasks that ran after what they need had failed are rejected", async () => {
    const order = ["T1", "T6", "T7", "T8", "T2", "T3", "T4", "T5"];
    const answer = await judge(met, { edges: planned, ran: ran(order, trace.failed) });
    expect(rules(answer).sort()).toEqual(["T7-T4", "T7-T5", "T8-T4", "T8-T5"]);
    expect(answer.verdict).toBe("reject");
  });

  test("the journey in its order passes, and one whose hotel was booked before its flight does not", async () => {
    const edges = cases.journey.dependencies;
    const legs = ["T1", "T2", "T3", "T4", "T5"];
    expect((await judge(met, { edges, ran: ran(legs, []) })).verdict).toBe("accept");
    expect((await judge(met, { edges, ran: ran(["T1", "T2", "T3"], ["T3"]) })).verdict).toBe("accept");
    expect(rules(await judge(met, { edges, ran: ran(["T2", "T1"], []) }))).toEqual(["T1-T2"]);
  });
});

describe("consistency", () => {
  const same = claimConsistency({
    item: Schedule,
    // Where somebody is at the end of one row and at the beginning of the next that falls in the same minute.
    claims: ({ item }) =>
      item.flatMap(({ who = [], place, from, to, start, end }) =>
        who.flatMap((one) => [
          ...(from === undefined && place === undefined
            ? []
            : [{ about: `${one}@${start}`, value: from ?? place ?? "" }]),
          ...(end === undefined || (to ?? place) === undefined
            ? []
            : [{ about: `${one}@${end}`, value: to ?? place ?? "" }]),
        ]),
      ),
  });

  test("three times of one landing in one run are rejected; a schedule against its own rows passes", async () => {
    expect(claim("sagallm-repo-p9", "14:00 / 13:00 / 10:00").verdict).toBe("violated");
    const said = claimConsistency({
      item: z.array(z.number()),
      claims: ({ item }) => item.map((value) => ({ about: "James lands", value })),
    });
    expect(await judge(said, [840, 780, 600])).toMatchObject({ verdict: "reject", findings: [{ by: 60 }] });
    expect((await judge(said, [780, 780])).verdict).toBe("accept");
    expect((await judge(same, schedule("table9-gpt-o1-P8"))).verdict).toBe("accept");
  });
});

describe("temporal", () => {
  const inTime = temporalOrder({
    item: Schedule,
    context: { log: {} },
    unit: "min",
    occurrences: ({ item, log = [] }) => [
      ...happening(log.map((entry) => Action.parse(entry))),
      ...happening(item),
    ],
  });

  test("who is on the road already cannot leave from elsewhere; the schedule that began so passes", async () => {
    // Table 6 is what was driven by 13:00: Pat is on his way from B to G since 12:50.
    const log = schedule("table6-claude37-P5")
      .filter(({ start }) => start < 780)
      .map((action) => ({ ...action, node: "driven" })) as never;
    const answer = await judge(inTime, schedule("table8-deepseek-r1-P8"), { log });
    expect(answer.verdict).toBe("reject");
    expect(answer.findings).toContainEqual(
      expect.objectContaining({
        rule: "overlap",
        by: 30,
        what: expect.stringContaining("Pat is in") as unknown,
      }),
    );
    expect((await judge(inTime, schedule("table9-gpt-o1-P8"), { log: [] })).verdict).toBe("accept");
  });

  test("a pick-up before the driver has come, and one before what it comes after, are rejected", async () => {
    expect(claim("realm-notebook-p9", "Michael arrives at 15:00").verdict).toBe("violated");
    const Events = z.custom<Occurrence[]>();
    const order = temporalOrder({ item: Events, occurrences: ({ item }) => item });
    const pickup = { id: "pickup Emily", who: ["Michael"], start: 870 };
    expect(rules(await judge(order, [{ ...pickup, notBefore: 900 }]))).toEqual(["not_before"]);
    const arrival = { id: "arrival", start: 900 };
    expect(rules(await judge(order, [arrival, { ...pickup, after: ["arrival"] }]))).toEqual(["after"]);
    expect((await judge(order, [{ ...pickup, after: ["arrival"] }])).verdict).toBe("undecided");
    expect((await judge(order, [arrival, { ...pickup, start: 900, after: ["arrival"] }])).verdict).toBe(
      "accept",
    );
  });
});

describe("mutual agreement", () => {
  const Claims = z.array(z.object({ by: z.string(), about: z.string(), value: z.json() }));
  const agree = mutualAgreement({ item: Claims, claims: ({ item }) => item, needs: ["dinner"], within: 5 });

  test("two agents with two dinners are rejected; with one dinner they pass; one alone is undecided", async () => {
    expect(claim("realm-notebook-p9", "dinner 17:30 vs 18:00").verdict).toBe("violated");
    const setup = { by: "Requirement Setup", about: "dinner", value: 1050 };
    const supervisor = { by: "Supervisor", about: "dinner", value: 1080 };
    expect(await judge(agree, [setup, supervisor])).toMatchObject({
      verdict: "reject",
      findings: [{ by: 30 }],
    });
    expect((await judge(agree, [setup])).verdict).toBe("undecided");
    // Figure 4: the cooks' food is ready when the host's dinner is.
    const rows = schedule("figure4-claude37-P6");
    const said = rows.flatMap(({ type, what = "", start, end }) =>
      type === "cook"
        ? [{ by: what, about: "dinner", value: end ?? 0 }]
        : type === "dinner"
          ? [{ by: "host", about: "dinner", value: start }]
          : [],
    );
    expect(said).toHaveLength(3);
    expect((await judge(agree, said)).verdict).toBe("accept");
  });
});

describe("boundary integrity", () => {
  const whole = boundaryIntegrity({ item: z.custom<ExecutionRecord>(), record: ({ item }) => item });
  const succeeded = (nodes: readonly string[]) =>
    nodes.map((node) => ({ node, outcome: "succeeded" as const }));

  test("65 compensations of five transactions are rejected, each with how often too many", async () => {
    const undone = Object.entries(trace.undone).flatMap(([task, times]) =>
      Array.from({ length: times }, () => task),
    );
    expect(undone).toHaveLength(65);
    const ran = trace.tasks.map((node) => ({
      node,
      outcome: trace.failed.includes(node) ? ("failed" as const) : ("succeeded" as const),
    }));
    const { findings = [] } = await judge(whole, { edges: planned, ran, undone, ended: "failed" });
    const extra = findings.filter(({ rule }) => rule === "once").map(({ by }) => by);
    expect(extra.reduce<number>((sum, by = 0) => sum + by, 0)).toBe(60);
  });

  test("every expected undoing of the journey passes, and none with one left out, doubled or out of order", async () => {
    const edges = cases.journey.dependencies;
    const undoings = cases.journey.expected.flatMap(({ compensate, keep }) =>
      compensate === undefined || compensate.length === 0
        ? []
        : [{ undone: compensate.map((name) => name.replace("C", "T")), keep: keep ?? [] }],
    );
    expect(undoings).toHaveLength(4);
    for (const { undone, keep } of undoings) {
      const course = { edges, ran: succeeded([...undone, ...keep]), undone, ended: "failed", keep };
      expect(await judge(whole, course), JSON.stringify(course)).toEqual({ verdict: "accept" });
      expect(rules(await judge(whole, { ...course, undone: undone.slice(0, -1) }))).toContain("standing");
      expect(rules(await judge(whole, { ...course, undone: [...undone, undone[0]] }))).toContain("once");
      expect(rules(await judge(whole, { ...course, undone: [...undone].reverse() }))).toContain("order");
    }
  });
});

describe("context preservation", () => {
  const kept = contextPreservation({
    item: z.object({ edges: z.array(z.json()), dropped: z.array(z.json()).default([]) }),
    context: { pinned: ["dependencies"] },
    pinned: ({ pinned }) => (pinned?.dependencies ?? []) as Json[],
    kept: ({ item }) => item.edges,
    dropped: ({ item }) => item.dropped,
  });

  test("a replan that lost every edge is rejected; one that keeps them, or says what it gave up, passes", async () => {
    const pinned = { dependencies: planned as Json };
    expect((await judge(kept, { edges: replanned }, { pinned })).findings).toHaveLength(8);
    expect((await judge(kept, { edges: planned }, { pinned })).verdict).toBe("accept");
    const [first, ...rest] = planned;
    expect((await judge(kept, { edges: rest, dropped: [first] }, { pinned })).verdict).toBe("accept");
  });
});

describe("contract conformance", () => {
  const Booked = z.object({ confirmation_number: z.string().min(1), total_cost: z.number() });
  const conforms = contractConformance({
    item: z.array(z.object({ node: z.string(), output: z.json() })),
    contracts: { flight: { output: Booked } },
    records: ({ item }) => item,
  });

  test("a booking without its number is rejected, one with it passes, one without a contract is undecided", async () => {
    expect(rules(await judge(conforms, [{ node: "flight", output: { total_cost: 900 } }]))).toEqual([
      "flight output",
    ]);
    const output = { confirmation_number: "F1", total_cost: 900 };
    expect((await judge(conforms, [{ node: "flight", output }])).verdict).toBe("accept");
    expect((await judge(conforms, [{ node: "train", output }])).verdict).toBe("undecided");
  });
});

describe("transaction coherence", () => {
  const State = z.object({
    transactions: z.array(z.string()),
    listed: z.array(z.string()),
    totals: z.array(z.object({ name: z.string(), total: z.number(), of: z.array(z.number()) })).default([]),
  });
  const coherent = transactionCoherence({ item: State, state: ({ item }) => item });

  test("72 entries for eight tasks are rejected, eight for eight pass, and a total must be its sum", async () => {
    const { tasks: transactions, completedEntries } = trace;
    const listed = Array.from({ length: completedEntries }, (_, k) => transactions[k % 8] ?? "");
    const { findings = [] } = await judge(coherent, { transactions, listed });
    expect(findings.reduce((sum, { by = 0 }) => sum + by, 0)).toBe(64);
    expect((await judge(coherent, { transactions, listed: transactions })).verdict).toBe("accept");
    const totals = [{ name: "total_cost", total: 5000, of: [3000, 1900] }];
    expect(rules(await judge(coherent, { transactions, listed: transactions, totals }))).toEqual([
      "total_cost",
    ]);
  });
});

test("every type has a validator of its name, and none has a fault", () => {
  const none = () => [];
  const all = [
    syntacticValidity({ schema: z.json() }),
    semanticValidity({ rules: [] }),
    factualAccuracy({ claims: none, known: {} }),
    constraintAdherence({ rules: [] }),
    soundReasoning({ steps: none }),
    contextPreservation({ pinned: none, kept: none }),
    dependencySatisfaction({ record: () => ({ edges: [], ran: [] }) }),
    claimConsistency({ claims: none }),
    temporalOrder({ occurrences: none }),
    mutualAgreement({ claims: none }),
    boundaryIntegrity({ record: () => ({ edges: [], ran: [] }) }),
    contractConformance({ contracts: {}, records: none }),
    transactionCoherence({ state: () => ({ transactions: [], listed: [] }) }),
  ];
  expect(all.map(({ name }) => name)).toEqual([...validationTypes]);
  expect(all.flatMap(({ definition }) => definition.faults)).toEqual([]);
});
