/**
 * Goal: the validator's verdicts on the printed schedules are the stored ones, what it finds beyond them is right, and
 * each of the 25 predicates catches what it names. Method: the stored schedules, each after the history it belongs to;
 * for every predicate a right schedule with one fault put in.
 */
import { describe, expect, test } from "vitest";
import { judge, violatedIn, type Judged } from "./predicate.ts";
import { problemOf } from "./problem.ts";
import { storedSchedule, storedSchedules, type Action, type Drive, type Schedule } from "./schedule.ts";
import { readSchedule, rulesOf, validate } from "./validator.ts";

const actionsOf = (id: string) => storedSchedule(id).actions;
const table6 = actionsOf("table6-claude37-P5");
const accepted = { exitMin: 30 };

/** The history a printed schedule answers to: the same model's plan, or what it says itself where none is printed. */
const historyOf = (id: string): Schedule | undefined =>
  id.startsWith("table9")
    ? actionsOf(id)
    : id.endsWith("-P8")
      ? table6
      : id.endsWith("P9")
        ? actionsOf("figure4-claude37-P6")
        : undefined;

const judgedOf = (id: string): Judged => {
  const { problem, actions } = storedSchedule(id);
  return { problem: problemOf(problem), schedule: actions, history: historyOf(id), accepted };
};

describe("the printed schedules", () => {
  test.each(storedSchedules.filter(({ computed }) => computed).map(({ id }) => id))(
    "%s has the stored verdict",
    (id) => {
      const { computed, paper } = storedSchedule(id);
      const verdict = validate(judgedOf(id));
      expect(verdict.verdict).toBe(computed?.feasible ? "accept" : "reject");
      expect(violatedIn(verdict)).toEqual(computed?.violated.toSorted());
      expect(verdict.findings.length).toBe(computed?.findings.length);
      for (const { constraint, subject, required, found } of computed?.findings ?? []) {
        if (typeof required !== "number") continue;
        expect(verdict.findings).toContainEqual(
          expect.objectContaining({ constraint, subject, required, found }),
        );
      }
      // What the paper states is among it.
      for (const constraint of paper?.violated ?? []) expect(violatedIn(verdict)).toContain(constraint);
    },
  );

  test("table 8: four drives too short, two of them for the alert, a past that was not, and guests late by 55 min", () => {
    const verdict = validate(judgedOf("table8-deepseek-r1-P8"));
    expect(violatedIn(verdict)).toEqual([
      "WED-ALERT",
      "WED-COMPLETE",
      "WED-HISTORY",
      "WED-PHOTO",
      "WED-TRAVEL",
    ]);
    const brief = verdict.findings.map(({ constraint, subject, required, found }) =>
      [constraint, subject, required, found].join(" | "),
    );
    for (const expected of [
      "WED-ALERT | Pat W-B 13:05-14:25 | 120 | 80",
      "WED-ALERT | Pat B-W 14:35-15:55 | 120 | 80",
      "WED-TRAVEL | Chris T-G 14:00-14:15 | 20 | 15",
      "WED-TRAVEL | Chris G-W 14:40-14:55 | 25 | 15",
      "WED-COMPLETE | Alex | at the venue by 15:00 | 15:55",
      "WED-PHOTO | Pat | at W at 15:00 | on leg B-W",
    ])
      expect(brief).toContain(expected);
    expect(brief.find((line) => line.startsWith("WED-HISTORY"))).toMatch(/on leg B-G.*Pat at W/);
  });

  test("figure 5: two drives too short, an oven alone twice, side dishes too short, dinner too late", () => {
    const { findings } = validate(judgedOf("figure5-claude37-P9"));
    expect(findings.map(({ constraint, subject, found }) => `${constraint} ${subject}: ${found}`)).toEqual([
      "TKS-SIDES sides 16:30-18:00: 90",
      "TKS-DINNER dinner: 18:30",
      "TKS-TRAVEL Sarah H-B 14:45-15:15: 30",
      "TKS-TRAVEL James B-H 16:45-17:30: 45",
      "TKS-FIRE turkey: nobody 14:45-15:00",
      "TKS-FIRE turkey: nobody 15:15-16:15",
    ]);
  });

  test("table 9 is right after its own history, wrong after table 6's, and undecided where none is given", () => {
    const judged = judgedOf("table9-gpt-o1-P8");
    expect(validate(judged).verdict).toBe("accept");
    expect(violatedIn(validate({ ...judged, history: table6 }))).toEqual(["WED-HISTORY"]);
    const without = validate({ ...judged, history: undefined });
    expect(without).toMatchObject({ verdict: "undecided", undecided: [{ constraint: "WED-HISTORY" }] });
  });

  test("a schedule that begins at the notice is judged with the ledger's past before it", () => {
    const own = actionsOf("table9-gpt-o1-P8");
    const rest = own.filter(({ start }) => start >= 780);
    const judged = { problem: problemOf("P8-traffic"), schedule: rest };
    expect(validate({ ...judged, history: own }).verdict).toBe("accept");
    expect(violatedIn(validate({ ...judged, history: table6 }))).toContain("WED-COMPLETE");
  });
});

type Fault = readonly [id: string, base: string, spoil: (actions: Schedule) => Schedule, history?: Schedule];

const drives = (from: string, to: string) => (action: Action) =>
  action.type === "drive" && action.from === from && action.to === to;
const doing = (name: string) => (action: Action) =>
  action.type === name ||
  ("task" in action && action.task === name) ||
  ("what" in action && action.what === name);
const change =
  (which: (action: Action) => boolean, into: object) =>
  (actions: Schedule): Schedule =>
    actions.map((action) => (which(action) ? { ...action, ...into } : action));
const drop = (which: (action: Action) => boolean) => (actions: Schedule) =>
  actions.filter((action) => !which(action));
const add = (action: Action) => (actions: Schedule) => [...actions, action];
const drive = (driver: string, from: string, to: string, start: number, end: number): Drive => ({
  type: "drive",
  driver,
  who: [driver],
  from,
  to,
  start,
  end,
});

const witness5 = "witness-P5";
const witness9 = "witness-P9";
const faults: readonly Fault[] = [
  ["WED-COMPLETE", witness5, drop(doing("gift"))],
  ["WED-PHOTO", witness5, change(doing("photo"), { start: 905 })],
  ["WED-SPAN", witness5, change(doing("gift"), { start: 825, end: 824 })],
  ["WED-KNOWN", witness5, change(doing("gift"), { who: ["Pat", "Robin"] })],
  ["WED-ONCE", witness5, add({ type: "photo", place: "W", who: ["all"], start: 900 })],
  ["WED-HISTORY", "table9-gpt-o1-P8", (actions) => actions, table6],
  ["WED-TRAVEL", witness5, change(drives("B", "T"), { end: 799 })],
  ["WED-ALERT", "table9-gpt-o1-P8", change(drives("B", "W"), { end: 869 })],
  ["WED-PLACE", witness5, change(drives("T", "G"), { from: "W" })],
  ["WED-AVAIL", witness5, change(drives("W", "B"), { start: 719 })],
  ["WED-RIDE", witness5, change(drives("B", "T"), { driver: "Alex" })],
  ["WED-TWO-CARS", witness5, add(drive("Chris", "G", "W", 840, 865))],
  ["WED-GIFT-OPEN", witness5, change(doing("gift"), { start: 719, end: 724 })],
  ["WED-TAILOR-CLOSE", witness5, change(doing("clothes"), { end: 841 })],
  ["TKS-TURKEY", witness9, change(doing("turkey"), { start: 841 })],
  ["TKS-SIDES", witness9, change(doing("sides"), { start: 961 })],
  ["TKS-DINNER", witness9, change(doing("dinner"), { start: 1081 })],
  ["TKS-HOME", witness9, drop(drives("GM", "H"))],
  ["TKS-SPAN", witness9, change(doing("rent"), { end: 989 })],
  ["TKS-KNOWN", witness9, change(doing("turkey"), { who: ["Sarah", "Chef John"] })],
  ["TKS-ONCE", witness9, add({ type: "dinner", who: ["all"], start: 1080 })],
  ["TKS-LICENCE", witness9, change(drives("GM", "H"), { driver: "Grandma" })],
  [
    "TKS-HISTORY",
    witness9,
    add({ type: "state", start: 780, says: { Sarah: { at: "H" } } }),
    [drive("Sarah", "H", "GM", 770, 800)],
  ],
  ["TKS-TRAVEL", witness9, change(drives("B", "H"), { end: 1064 })],
  ["TKS-PLACE", witness9, change(drives("GM", "H"), { from: "B" })],
  ["TKS-LAND", witness9, change(doing("land"), { start: 780 })],
  ["TKS-EXIT", witness9, change(doing("exit"), { start: 960 })],
  ["TKS-AVAIL", witness9, change(drives("H", "GM"), { start: 899 })],
  ["TKS-RENT", witness9, drop(doing("rent"))],
  ["TKS-PICKUP-EMILY", witness9, change(drives("B", "H"), { driver: "Emily" })],
  ["TKS-PICKUP-GRANDMA", witness9, change(drives("GM", "H"), { driver: "Grandma" })],
  [
    "TKS-FIRE",
    witness9,
    (actions) => [...actions, drive("Sarah", "H", "GM", 840, 870), drive("Sarah", "GM", "H", 870, 900)],
  ],
];

describe("the predicates", () => {
  test("are the papers' 25 and seven of every schedule, completeness first, and each has a fault below", () => {
    const [wedding, dinner] = [rulesOf(problemOf("P8-traffic")), rulesOf(problemOf("P9-paper"))];
    expect([wedding.length, dinner.length]).toEqual([11 + 3, 14 + 4]);
    expect(wedding[0]?.id).toBe("WED-COMPLETE");
    expect(faults.map(([id]) => id).toSorted()).toEqual(
      [...wedding, ...dinner].map(({ id }) => id).toSorted(),
    );
  });

  for (const [id, base, spoil, history] of faults)
    test(`${id} catches its fault in ${base}, which is accepted without it`, () => {
      const judged = judgedOf(base);
      expect(validate(judged).verdict).toBe("accept");
      const schedule = spoil(judged.schedule);
      const spoilt: Judged = { ...judged, history: history ?? judged.history, schedule };
      expect(violatedIn(validate(spoilt))).toContain(id);
      // Alone, it is a validator too.
      expect(violatedIn(validate(spoilt, [id]))).toEqual([id]);
    });

  test("an empty schedule is incomplete, first of all", () => {
    const [first] = validate({ problem: problemOf("P5"), schedule: [] }).findings;
    expect(first).toMatchObject({ constraint: "WED-COMPLETE", found: "missing" });
    const nothing = validate({ problem: problemOf("P6"), schedule: [] });
    expect(violatedIn(nothing)).toEqual(["TKS-DINNER", "TKS-HOME", "TKS-SIDES", "TKS-TURKEY"]);
  });

  test("the terminal's 30 minutes bind only where they were accepted", () => {
    const spoilt = change(doing("exit"), { start: 960 })(actionsOf(witness9));
    const judged = { problem: problemOf("P9-paper"), schedule: spoilt, history: [] };
    expect(validate({ ...judged, accepted }).verdict).toBe("reject");
    expect(violatedIn(validate(judged))).not.toContain("TKS-EXIT");
  });

  test("asked for in time is enough only for the lenient reading of the tailor", () => {
    const schedule = change(doing("clothes"), { start: 838, end: 843 })(actionsOf(witness5));
    const judged: Judged = { problem: problemOf("P5"), schedule };
    expect(violatedIn(validate(judged, ["WED-TAILOR-CLOSE"]))).toEqual(["WED-TAILOR-CLOSE"]);
    expect(validate({ ...judged, tailor: "begun" }, ["WED-TAILOR-CLOSE"]).verdict).toBe("accept");
    expect(violatedIn(validate({ problem: problemOf("P5"), schedule: table6, tailor: "begun" }))).toEqual([
      "WED-TAILOR-CLOSE",
    ]);
  });

  test("a closed road is no road", () => {
    const [problem, schedule] = [problemOf("P8-closure"), table6];
    expect(validate({ problem, schedule }, ["WED-TRAVEL"]).findings).toMatchObject([
      { subject: "Pat B-G 12:50-13:35", required: "a road that is open" },
    ]);
  });

  test("where nothing is violated and one cannot be judged, the verdict is undecided", () => {
    const unsure = { id: "UNSURE", says: () => "", find: () => ({ undecided: "who knows" }) };
    const judged = { problem: problemOf("P5"), schedule: [] };
    expect(judge([unsure], judged).verdict).toBe("undecided");
  });
});

describe("reading a reply", () => {
  test("a schedule comes out as it went in; prose and half a schedule are refused with what is wrong", () => {
    expect(readSchedule(JSON.stringify(table6))).toEqual({ schedule: table6 });
    expect(readSchedule("Pat drives to the airport")).toMatchObject({
      unreadable: expect.stringMatching(/^not JSON/),
    });
    expect(readSchedule('[{"type":"drive","driver":"Pat"}]')).toMatchObject({
      unreadable: expect.stringMatching(/^no schedule: 0\.who/),
    });
    expect(readSchedule('[{"type":"fly"}]')).toMatchObject({
      unreadable: expect.stringMatching(/^no schedule: 0\.type/),
    });
  });
});
