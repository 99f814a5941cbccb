/**
 * Goal: a problem and a schedule as files are judged, each broken rule with time, person and place, and drawn; a job shop
 * is held to its instance and to what is known of it. Method: the printed schedules; ft06 with a schedule that is the best
 * there is, spoilt at random (fast-check) beside a count of minutes; the command as a process.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { weddingOf } from "../realm/problem.ts";
import { storedSchedule } from "../realm/schedule.ts";
import { checkTexts } from "./check.ts";
import { type Checked, verdictOf } from "./checked.ts";
import { htmlOf, svgOf } from "./gantt.ts";
import { checkJobShop, readJobShop } from "./job-shop.ts";

const file = (name: string, content: unknown) => ({
  file: name,
  text: typeof content === "string" ? content : JSON.stringify(content),
});
const printed = (id: string) => file("schedule.json", storedSchedule(id).actions);

describe("a day", () => {
  test("of a file is judged with time, person and place of each broken rule", () => {
    const { broken, unjudged } = checkTexts(file("p.json", { extends: "P5" }), printed("table6-claude37-P5"));
    expect(broken).toMatchObject([
      { rule: "WED-TAILOR-CLOSE", at: 850, until: 865, who: ["Pat"], place: "T" },
    ]);
    expect(unjudged.map(({ what }) => what)).toEqual(["service time"]);
  });

  test("takes hours as they are written, a history of its own, and says what it cannot judge without one", () => {
    const rows = storedSchedule("table9-gpt-o1-P8").actions.map((row) =>
      row.type === "photo" ? { ...row, start: "15:00" } : row,
    );
    const problem = file("p.json", { extends: "P8-traffic" });
    const alone = checkTexts(problem, file("s.json", { actions: rows }));
    expect([verdictOf(alone), alone.unjudged[0]?.what]).toEqual([
      "keeps all 13 rules that can be judged",
      "WED-HISTORY",
    ]);
    const after = (id: string) =>
      checkTexts(problem, file("s.json", rows), printed(id)).broken.map(({ rule }) => rule);
    expect(after("table9-gpt-o1-P8")).toEqual([]);
    expect(after("table6-claude37-P5")).toEqual(["WED-HISTORY"]);
  });

  test("every finding of every printed schedule is at a time, and but for a missing thing somebody's", () => {
    const past = printed("table6-claude37-P5");
    for (const [id, history] of [
      ["table6-claude37-P5", undefined],
      ["table7-claude37-P8", past],
      ["table8-deepseek-r1-P8", past],
      ["figure5-claude37-P9", undefined],
    ] as const) {
      const problem = file("p.json", { extends: storedSchedule(id).problem });
      const { broken } = checkTexts(problem, printed(id), history);
      expect(broken.length).toBeGreaterThan(0);
      for (const one of broken)
        expect([one.at !== undefined, one.who.length > 0], one.what).toEqual([true, true]);
    }
  });

  test("a file that cannot be read is told with its place", () => {
    const problem = file("p.json", { extends: "P5" });
    expect(() => checkTexts(problem, file("s.json", '[{"type":"drive"}]'))).toThrow(/s\.json: .*driver/s);
    expect(() => checkTexts(problem, file("s.json", "prose"))).toThrow(/s\.json: not JSON/);
    expect(() => checkTexts(file("p.json", { kind: "wedding" }), file("s.json", "[]"))).toThrow(/p\.json/);
  });
});

const ft06 = `6 6
 2 1 0 3 1 6 3 7 5 3 4 6
 1 8 2 5 4 10 5 10 0 10 3 4
 2 5 3 4 5 8 0 9 1 1 4 7
 1 5 0 5 2 5 3 3 4 8 5 9
 2 9 1 3 4 5 5 4 0 3 3 1
 1 3 3 3 5 9 0 10 4 4 2 1
`;
const shop = readJobShop(ft06, "ft06");
const starts: number[][] = [
  [0, 1, 16, 30, 42, 49],
  [0, 8, 13, 28, 38, 48],
  [1, 6, 10, 18, 27, 38],
  [8, 13, 22, 27, 30, 45],
  [13, 22, 25, 38, 48, 52],
  [13, 16, 19, 28, 45, 49],
];
const best = starts.flatMap((steps, job) => steps.map((start, step) => ({ job, step, start })));

describe("a job shop", () => {
  test("of the best schedule there is takes the least that is possible, and keeps every rule", () => {
    const { broken, notes } = checkJobShop(shop, best);
    expect(broken).toEqual([]);
    expect(notes).toEqual(["6 jobs on 6 machines; makespan 55, the least that is possible"]);
    const later = best.map((one) => ({ ...one, start: one.start + 11 }));
    expect(checkJobShop(shop, later).notes?.[0]).toContain("makespan 66, 20 % over the best known, 55");
    const other = readJobShop(ft06, "mine");
    expect(checkJobShop(other, best).notes?.[0]).toContain("no best is known");
  });

  test("in Taillard's form is the same, with the bounds that it brings", () => {
    const tables = [
      shop.jobs.map((steps) => steps.map(({ takes }) => takes).join(" ")),
      shop.jobs.map((steps) => steps.map(({ machine }) => machine + 1).join(" ")),
    ];
    const text = `Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound\n6 6 1 2 57 50\nTimes\n${tables[0]?.join("\n")}\nMachines\n${tables[1]?.join("\n")}\n`;
    expect(readJobShop(text, "mine")).toEqual({ ...shop, name: "mine", best: 57, least: 50 });
    expect(checkJobShop(readJobShop(text, "mine"), best).notes?.[0]).toContain(
      "no more than the best known, 57",
    );
  });

  test("of a text that is none is refused with the line", () => {
    expect(() => readJobShop("6 6\n1 2 3\n", "x")).toThrow("expected 6 jobs, got 1");
    expect(() => readJobShop("1 2\n0 3 5 3\n", "x")).toThrow("line 2: no machine 5 of 2");
    expect(() => readJobShop("1 2\n0 3 1\n", "x")).toThrow("line 2: expected 2 pairs, got 3 numbers");
    expect(() => readJobShop("prose", "x")).toThrow("expected a line `jobs machines`");
  });

  test("spoilt in any one place is found by the rule that it breaks, and by no other where it breaks none", () => {
    fc.assert(
      fc.property(
        fc.nat(35),
        fc.constantFrom("drop", "twice", "machine", "long", "move"),
        fc.integer({ min: -20, max: 20 }),
        (index, how, by) => {
          const one = best[index]!;
          const { machine, takes } = shop.jobs[one.job]![one.step]!;
          const spoilt =
            how === "drop"
              ? best.toSpliced(index, 1)
              : how === "twice"
                ? [...best, one]
                : best.with(index, {
                    ...one,
                    ...(how === "machine" && { machine: (machine + 1) % 6 }),
                    ...(how === "long" && { end: one.start + takes + (by || 1) }),
                    ...(how === "move" && { start: one.start + by }),
                  });
          const rules = new Set(checkJobShop(shop, spoilt).broken.map(({ rule }) => rule));
          const sure = { drop: "COMPLETE", twice: "COMPLETE", machine: "MACHINE", long: "DURATION" };
          if (how !== "move") {
            expect(rules).toContain(sure[how]);
            return;
          }
          // Counted minute by minute: who is on each machine, and what of the job is under way or still to come.
          const spans = spoilt.map(({ job, step, start }) => ({
            job,
            step,
            start,
            ...shop.jobs[job]![step]!,
          }));
          const crowded = spans.some((a) =>
            spans.some(
              (b) =>
                a !== b &&
                a.machine === b.machine &&
                Array.from({ length: a.takes }, (_, i) => a.start + i).some(
                  (t) => t >= b.start && t < b.start + b.takes,
                ),
            ),
          );
          const early = spans.some((a) =>
            spans.some((b) => a.job === b.job && a.step > b.step && a.start < b.start + b.takes),
          );
          const before = spans.some(({ start }) => start < 0);
          expect([rules.has("OVERLAP"), rules.has("ORDER"), rules.has("DURATION")]).toEqual([
            crowded,
            early,
            before,
          ]);
        },
      ),
      { seed: 20261123, numRuns: 150 },
    );
  });
});

describe("the picture", () => {
  const checked = checkTexts(
    file("p.json", { extends: "P8-traffic" }),
    printed("table8-deepseek-r1-P8"),
    printed("table6-claude37-P5"),
  );

  test("has every bar and every number of a broken rule, is the same each time, and needs nothing from elsewhere", () => {
    for (const width of [368, 1_152]) {
      const svg = svgOf(checked, width);
      expect(svgOf(checked, width)).toBe(svg);
      for (const { text, lane } of checked.bars) expect(svg).toContain(`${lane}: ${text}, `);
      for (const [index, { who }] of checked.broken.entries())
        expect(svg.split(`>${index + 1}</text></g>`).length - 1).toBe(who.length);
    }
    expect(htmlOf(checked)).not.toMatch(/<script|<link|src=|href=|@import|url\(/);
  });

  test("escapes what people call things, and draws an empty schedule and one of a moment", () => {
    const strange = '<b>&"\u0000';
    const odd: Checked = {
      title: strange,
      unit: "clock",
      rules: [{ id: "R", says: strange }],
      broken: [{ rule: "R", what: strange, at: 60, who: [strange] }],
      unjudged: [{ what: strange, why: strange }],
      lanes: [strange],
      bars: [{ lane: strange, from: 60, to: 60, text: strange, kind: strange }],
    };
    for (const drawn of [svgOf(odd), htmlOf(odd)]) {
      expect(drawn).not.toContain(`<b>&"`);
      expect(drawn).not.toContain("\u0000");
      expect(drawn).not.toMatch(/NaN|Infinity|undefined/);
    }
    const empty = svgOf({ ...odd, broken: [], bars: [], lanes: [] });
    expect(empty).not.toMatch(/NaN|Infinity|undefined/);
  });
});

test("the command finds a schedule, ends with 0, 1 or 2, prints for people and programs, and writes the page", () => {
  const folder = mkdtempSync(join(tmpdir(), "schedule-"));
  const at = (name: string, content: unknown) => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
  const command = (...args: string[]) =>
    spawnSync(
      process.execPath,
      ["--conditions=sagamesh-source", fileURLToPath(new URL("check.ts", import.meta.url)), ...args],
      { encoding: "utf8" },
    );
  try {
    const [problem, right] = [at("ft06.txt", ft06), at("right.json", best)];
    const page = join(folder, "page.html");
    const good = command(problem, right, "--html", page);
    expect([good.status, good.stdout]).toEqual([0, expect.stringContaining("ft06: keeps all 5 rules")]);
    expect(readFileSync(page, "utf8")).toContain("machine 5");
    const bad = command(problem, at("wrong.json", best.slice(1)), "--json");
    expect([bad.status, (JSON.parse(bad.stdout) as Checked).broken[0]?.rule]).toEqual([1, "COMPLETE"]);
    const day = at("day.json", { extends: "P5" });
    const found = command(day);
    expect([found.status, command(day, at("found.json", found.stdout)).status]).toEqual([0, 0]);
    const impossible = command(at("late.json", { ...weddingOf("P5"), clothes: { at: "T", closesAt: 700 } }));
    expect([impossible.status, impossible.stdout]).toEqual([
      1,
      expect.stringContaining("there is no schedule"),
    ]);
    expect(command(problem).status).toBe(2);
    const none = command(problem, join(folder, "none.json"));
    expect([none.status, none.stderr]).toEqual([2, expect.stringContaining("none.json")]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
