/**
 * Goal: no row hides a broken rule behind another row, a name or an end that lies. Method: each schedule here was made to
 * pass a validator that looks at the first row of a kind, at known names, or at ends alone; each is refused by the name of
 * the rule that it breaks, and the honest schedule beside it is not.
 */
import { describe, expect, test } from "vitest";
import { judgeClaim, type Claim } from "./claims.ts";
import { violatedIn } from "./predicate.ts";
import { disrupted, type Disruption, problemOf, thanksgivingOf, weddingOf, type Problem } from "./problem.ts";
import { type Action, type Schedule, storedSchedule } from "./schedule.ts";
import { boundaryFaults, type Trace } from "./transactions.ts";
import { validationType } from "./validation-types.ts";
import { rulesOf, validate } from "./validator.ts";

const of = (id: string): Schedule => storedSchedule(id).actions;
const rules = (problem: Problem, schedule: Schedule) =>
  violatedIn(validate({ problem, schedule, history: [] }));
const changed = (schedule: Schedule, which: (action: Action) => boolean, into: object): Schedule => {
  expect(schedule.some(which)).toBe(true);
  return schedule.map((action) => (which(action) ? { ...action, ...into } : action));
};
const isTask = (task: string) => (action: Action) => action.type === "task" && action.task === task;
const isDish = (what: string) => (action: Action) => action.type === "cook" && action.what === what;
const is = (type: Action["type"]) => (action: Action) => action.type === type;

const wedding = weddingOf("P5");
const dinner = thanksgivingOf("P6");
const late = thanksgivingOf("P9-paper");
const everybody: [string, ...string[]] = ["all"];
const dinnerAt = (start: number): Action => ({ type: "dinner", who: everybody, start });

describe("rows", () => {
  test("table 6 with an end before its start is refused for that row, and not accepted for its early end", () => {
    const table6 = of("table6-claude37-P5");
    expect(rules(wedding, table6)).toEqual(["WED-TAILOR-CLOSE"]);
    expect(rules(wedding, changed(table6, isTask("clothes"), { end: 830 }))).toEqual(["WED-SPAN"]);
  });

  test("an early extra dinner, turkey, side dish or photo hides no late one", () => {
    const figure5 = of("figure5-claude37-P9");
    const honest = rules(late, figure5);
    const hidden = rules(late, [dinnerAt(1_080), ...figure5]);
    expect(honest).toEqual(expect.arrayContaining(["TKS-DINNER", "TKS-SIDES"]));
    expect(hidden).toEqual([...honest, "TKS-ONCE"].toSorted());
    const short = (what: "turkey" | "sides", minutes: number): Schedule => [
      { type: "cook", what, who: ["Sarah"], start: 840, end: 840 + minutes },
      ...changed(of("figure4-claude37-P6"), isDish(what), { start: 1_020, end: 1_080 }),
    ];
    expect(rules(dinner, short("turkey", 240))).toEqual(["TKS-ONCE", "TKS-TURKEY"]);
    expect(rules(dinner, short("sides", 120))).toEqual(["TKS-ONCE", "TKS-SIDES"]);
    const second: Action = { type: "photo", place: "W", who: everybody, start: 960 };
    const twice: Schedule = [...of("witness-P5"), second];
    expect(rules(wedding, twice)).toEqual(["WED-ONCE", "WED-PHOTO"]);
  });

  test("a second dinner that is late and a second photo elsewhere are refused behind right ones", () => {
    expect(rules(dinner, [...of("figure4-claude37-P6"), dinnerAt(1_200)])).toEqual([
      "TKS-DINNER",
      "TKS-ONCE",
    ]);
    const elsewhere: Action = { type: "photo", place: "G", who: everybody, start: 900 };
    expect(rules(wedding, [...of("witness-P5"), elsewhere])).toEqual(["WED-ONCE", "WED-PHOTO"]);
    const same = of("witness-P5").filter(is("photo"));
    expect(rules(wedding, [...of("witness-P5"), ...same])).toEqual(["WED-ONCE"]);
  });

  test("dinner at 17:00 is refused where the turkey is ready at 18:00, and where somebody comes at 17:45", () => {
    const early = changed(of("figure4-claude37-P6"), is("dinner"), { start: 1_020 });
    expect(rules(dinner, early)).toEqual(["TKS-SIDES", "TKS-TURKEY"]);
    const without = changed(of("witness-P9"), is("dinner"), { start: 1_050 });
    expect(rules(late, without)).toEqual(["TKS-HOME", "TKS-SIDES", "TKS-TURKEY"]);
    expect(rules(dinner, changed(of("figure4-claude37-P6"), is("dinner"), { who: ["Sarah"] }))).toEqual([
      "TKS-DINNER",
    ]);
  });

  test("who comes by plane or by himself comes when the problem says, whatever the row says", () => {
    const tardy = changed(of("figure4-claude37-P6"), is("arrive"), { start: 1_020 });
    expect(rules(dinner, tardy)).toEqual(["TKS-AVAIL"]);
  });
});

describe("people", () => {
  test("a cook nobody knows, and one who is elsewhere, put no turkey in", () => {
    const by = (who: string) => changed(of("figure4-claude37-P6"), isDish("turkey"), { who: [who] });
    expect(rules(dinner, by("Chef John"))).toEqual(["TKS-KNOWN", "TKS-TURKEY"]);
    expect(rules(dinner, by("Grandma"))).toEqual(["TKS-TURKEY"]);
    expect(rules(dinner, by("Sarah"))).toEqual([]);
  });

  test("a person who was added has to be fetched by a rule of her own, and does not drive without a licence", () => {
    const nora = { name: "Nora", at: "GM", from: 0, comes: "lives", drives: false, rents: false } as const;
    const added = { ...dinner, people: [...dinner.people, nora] };
    const drive = { type: "drive", driver: "Nora", who: ["Nora"], from: "GM", to: "H", start: 900, end: 930 };
    expect(rules(added, of("figure4-claude37-P6"))).toEqual(["TKS-HOME"]);
    expect(rules(added, [...of("figure4-claude37-P6"), drive as Action])).toEqual([
      "TKS-LICENCE",
      "TKS-PICKUP-NORA",
    ]);
    const fetched = changed(of("figure4-claude37-P6"), ({ start }) => start === 945, {
      who: ["Michael", "Grandma", "Nora"],
    });
    expect(rules(added, fetched)).toEqual([]);
    expect(rulesOf(added).find(({ id }) => id === "TKS-PICKUP-NORA")?.says).toContain("GM");
  });

  test("an action of another day and a place that is none are named", () => {
    const photo: Action = { type: "photo", place: "B", who: everybody, start: 900 };
    expect(rules(dinner, [...of("figure4-claude37-P6"), photo])).toEqual(["TKS-KNOWN"]);
    const nowhere = changed(of("witness-P5"), isTask("gift"), { place: "Z" });
    expect(rules(wedding, nowhere)).toEqual(["WED-GIFT-OPEN", "WED-KNOWN", "WED-PLACE"]);
    const { findings } = validate({ problem: wedding, schedule: nowhere }, ["WED-KNOWN"]);
    expect(findings).toMatchObject([{ required: "a place of the problem: B, G, T, W", found: "Z", at: 825 }]);
  });
});

describe("claims", () => {
  const judged = (problem: Problem, claim: Claim) => judgeClaim(problem, claim);
  const leg = (from: string, to: string, start: number, end: number): Claim => ({
    kind: "legs",
    legs: [[from, to, start, end]],
  });

  test("a leg that is closed or slowed does not hold as usual", () => {
    const usual = leg("B", "G", 770, 815);
    expect(judged(wedding, usual).verdict).toBe("holds");
    expect(judged(problemOf("P8-closure"), usual)).toMatchObject({
      verdict: "violated",
      constraint: "WED-TRAVEL",
      why: expect.stringContaining("closed"),
    });
    expect(judged(problemOf("P8-traffic"), usual)).toMatchObject({
      verdict: "violated",
      constraint: "WED-ALERT",
      why: "B-G 115, given 45",
    });
    expect(judged(problemOf("P8-traffic"), leg("B", "G", 770, 885)).verdict).toBe("holds");
    expect(judged(problemOf("P8-traffic"), leg("T", "W", 800, 815)).verdict).toBe("holds");
  });

  test("a driver comes by the roads that are open, as slow as they are", () => {
    const fetched: Claim = { kind: "fetched", who: ["Alex"], by: "Pat", place: "B", at: 760 };
    expect(judged(wedding, fetched).verdict).toBe("holds");
    const closed: Disruption = { type: "closure", noticeAt: null, legs: ["B-W"] };
    expect(judged(disrupted(wedding, closed), fetched)).toMatchObject({ verdict: "violated" });
    expect(judged(disrupted(wedding, closed), { ...fetched, at: 765 }).verdict).toBe("holds");
    const early = { type: "traffic", noticeAt: 720, factor: 2, touching: "B" } as const;
    expect(judged(disrupted(wedding, early), { ...fetched, at: 794 }).verdict).toBe("violated");
    expect(judged(disrupted(wedding, early), { ...fetched, at: 795 }).verdict).toBe("holds");
  });

  test("a plan without edges, and one without actors, is undecided and says why", () => {
    const graph = (nodes: string[]): Claim => ({ kind: "graph", nodes, edges: [] });
    expect(judged(wedding, graph(["T1", "T2"]))).toMatchObject({
      verdict: "undecided",
      why: expect.stringContaining("2 nodes and no edge"),
    });
    expect(judged(wedding, graph([])).verdict).toBe("undecided");
    expect(judged(wedding, { kind: "things", things: [] }).verdict).toBe("undecided");
    expect(judged(dinner, { kind: "cooksAt", who: [], place: "H" }).verdict).toBe("undecided");
    expect(judged(dinner, { kind: "cooksAt", who: ["Chef John"], place: "H" }).verdict).toBe("violated");
    const trace: Trace = {
      nodes: ["T1", "T2"],
      edges: [],
      ran: { succeeded: ["T1"], failed: ["T2"] },
      end: "abort",
      compensated: ["T1"],
    };
    expect(validationType("Dependency Satisfaction").judge({ trace }).verdict).toBe("undecided");
  });

  test("an effect that happened twice is no whole transaction, however often it was compensated", () => {
    const trace = (succeeded: string[], compensated: string[]): Trace => ({
      nodes: ["T1"],
      edges: [],
      ran: { succeeded, failed: [] },
      end: compensated.length > 0 ? "abort" : "open",
      compensated,
    });
    expect(boundaryFaults(trace(["T1"], ["T1"]))).toEqual([]);
    for (const [effects, undone] of [
      [["T1", "T1"], []],
      [["T1", "T1"], ["T1"]],
    ] as const)
      expect(boundaryFaults(trace([...effects], [...undone]))).toMatchObject([
        { subject: "T1", required: "once", found: "happened 2 times" },
      ]);
  });
});
