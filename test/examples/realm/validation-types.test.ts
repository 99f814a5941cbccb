/**
 * Goal: each of the ten types catches the case it must catch and passes the one it must pass, every stored claim of a
 * recorded run gets its verdict, and traces are judged as they deserve. Method: the stored cases; random graphs
 * (fast-check) for what a right compensation is.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { judgeClaim, problemOfClaim, storedClaims, type Claim } from "./claims.ts";
import { violatedIn, type Judged } from "./predicate.ts";
import { problemOf } from "./problem.ts";
import { storedSchedule } from "./schedule.ts";
import {
  affectedBy,
  boundaryFaults,
  dependencyFaults,
  storedTraces,
  structureFaults,
  travelJourney,
  type Edge,
  type Trace,
} from "./transactions.ts";
import { validationType, validationTypes, type Subject } from "./validation-types.ts";

const schedule = (id: string): Subject => {
  const { problem, actions } = storedSchedule(id);
  const past = id.startsWith("table9") ? actions : storedSchedule("table6-claude37-P5").actions;
  const history = id.endsWith("-P8") ? past : [];
  const judged: Judged = { problem: problemOf(problem), schedule: actions, history };
  return { schedule: judged };
};
/** The run's claims of that kind, in the order in which they were made. */
const claims = (run: string, kind: Claim["kind"]): Subject[] => {
  const found = storedClaims.filter((one) => one.run === run && one.claim.kind === kind);
  return found.map((one) => ({ claim: one.claim, problem: problemOfClaim(one) }));
};
const claim = (run: string, kind: Claim["kind"], index = 0): Subject => claims(run, kind)[index]!;

const [rac5, rac9] = ["rac-P5", "rac-P9"].map((id) => storedTraces.find((trace) => trace.id === id)!);
const rac9Trace: Trace = { ...rac9!, edges: rac9!.plans[0]!, end: "abort" };
const journeys: readonly Trace[] = travelJourney.expected.map((row) => ({
  nodes: travelJourney.transactions,
  edges: travelJourney.edges,
  ...row,
}));
const traces: readonly Subject[] = journeys.map((trace) => ({ trace }));

const table9 = schedule("table9-gpt-o1-P8");
const figure4 = schedule("figure4-claude37-P6");
const twoDinners: Subject = {
  schedule: {
    problem: problemOf("P6"),
    schedule: [
      ...storedSchedule("figure4-claude37-P6").actions,
      { type: "dinner", who: ["Sarah"], start: 1050 },
    ],
  },
};
const cases: readonly (readonly [type: string, caught: readonly Subject[], passes: readonly Subject[]])[] = [
  [
    "Syntactic Validation",
    [claim("realm-notebook-p5", "document"), { reply: "Pat drives first." }],
    [
      claim("realm-notebook-p6", "document"),
      { reply: JSON.stringify(storedSchedule("table6-claude37-P5").actions) },
    ],
  ],
  [
    "Semantic Validation",
    [claim("sagallm-repo-p6", "cooksAt"), claim("sagallm-repo-p9", "things")],
    [figure4],
  ],
  [
    "Factual Validation",
    [
      claim("sagallm-repo-p6", "lands"),
      claim("sagallm-repo-p8", "things"),
      claim("sagallm-repo-p6", "minds"),
    ],
    [claim("realm-notebook-p5", "legs", 1)],
  ],
  [
    "Constraint Adherence",
    [schedule("table6-claude37-P5"), schedule("figure5-claude37-P9")],
    [table9, figure4],
  ],
  [
    "Reasoning Validation",
    [claim("realm-notebook-p9", "cook"), claim("realm-notebook-p6", "justInTime")],
    [claim("realm-notebook-p6", "cook")],
  ],
  ["Dependency Satisfaction", [{ trace: rac9Trace }], traces],
  ["Consistency Checks", [claim("sagallm-repo-p9", "says")], [table9]],
  [
    "Temporal Validation",
    [schedule("table8-deepseek-r1-P8"), claim("realm-notebook-p9", "fetched")],
    [table9],
  ],
  [
    "Mutual Agreement",
    [
      claim("sagallm-repo-p5", "says"),
      claim("realm-notebook-p9", "says"),
      claim("realm-notebook-p5", "says"),
      twoDinners,
    ],
    [figure4],
  ],
  ["Transaction Boundary Integrity", [{ trace: rac9Trace }], traces],
];

describe("the ten types", () => {
  test("are five inside an agent and five between agents, and each has its cases", () => {
    expect(validationTypes.filter(({ tier }) => tier === "intra").length).toBe(5);
    expect(validationTypes.filter(({ tier }) => tier === "inter").length).toBe(5);
    expect(cases.map(([type]) => type)).toEqual(validationTypes.map(({ type }) => type));
  });

  test.each(cases)("%s rejects what must be caught and accepts what must pass", (type, caught, passes) => {
    const { judge } = validationType(type);
    for (const subject of caught) expect(judge(subject)).toMatchObject({ verdict: "reject" });
    for (const subject of passes) expect(judge(subject)).toMatchObject({ verdict: "accept", findings: [] });
  });

  test("what is not a type's own is undecided by it, and never accepted", () => {
    expect(validationType("Syntactic Validation").judge(figure4).verdict).toBe("undecided");
    expect(validationType("Dependency Satisfaction").judge(figure4).verdict).toBe("undecided");
    expect(validationType("Factual Validation").judge(claim("none", "open")).verdict).toBe("undecided");
  });

  test("a status line that contradicts the schedule's own rows is inconsistent", () => {
    const said = { type: "state", start: 800, says: { Pat: { at: "W" } } } as const;
    const subject = {
      problem: problemOf("P5"),
      schedule: [...storedSchedule("table6-claude37-P5").actions, said],
    };
    expect(validationType("Consistency Checks").judge({ schedule: subject }).findings).toMatchObject([
      { subject: "Pat", required: "on leg B-G", found: "at W" },
    ]);
  });

  test("the right set of findings is named: table 6 is late at the tailor's and nothing else", () => {
    expect(violatedIn(validationType("Constraint Adherence").judge(schedule("table6-claude37-P5")))).toEqual([
      "WED-TAILOR-CLOSE",
    ]);
  });
});

describe("the claims of recorded runs", () => {
  test.each(storedClaims.map((one, index) => [index, one.run, one.type, one] as const))(
    "claim %i of %s (%s) has its verdict",
    (_index, _run, _type, one) => {
      const judged = judgeClaim(problemOfClaim(one), one.claim);
      expect(judged.verdict).toBe(one.verdict);
      // Claims that several speakers or the form of a document settle are about no predicate.
      if (judged.constraint !== undefined)
        expect(judged.constraint).toBe(one.constraint ?? judged.constraint);
      else expect(["things", "says", "document", "graph", "open"]).toContain(one.claim.kind);
    },
  );

  test("hold all three verdicts", () => {
    expect(new Set(storedClaims.map(({ verdict }) => verdict))).toEqual(
      new Set(["holds", "violated", "undecided"]),
    );
  });
});

describe("traces", () => {
  test("a plan whose every node lies in a cycle has no root and is no plan", () => {
    const faults = structureFaults(rac5!.nodes, rac5!.plans[0]!);
    expect(faults.map(({ required }) => required)).toEqual(["a root", "no cycle"]);
    expect(faults[1]?.subject.split(", ").length).toBe(11);
    expect(rac5!.plans[0]!.length).toBe(34);
    expect(structureFaults(rac9!.nodes, rac9!.plans[0]!)).toEqual([]);
  });

  test("tasks that ran after failed prerequisites are named, with what they lacked", () => {
    expect(dependencyFaults(rac9Trace).map(({ subject, required }) => [subject, required])).toEqual([
      ["T4", "T7, T8"],
      ["T5", "T7, T8"],
    ]);
    // The replanned graph lost its edges, so nothing in it can be judged unsatisfied: the first plan must be.
    expect(rac9!.plans[1]).toEqual([]);
  });

  test("65 compensations of 5 effects are 5 faults; once each in dependency order is none", () => {
    expect(rac9Trace.compensated.length).toBe(65);
    expect(boundaryFaults(rac9Trace).filter(({ required }) => required === 1).length).toBe(5);
    expect(boundaryFaults({ ...rac9Trace, compensated: ["T5", "T4", "T3", "T6", "T1"] })).toEqual([]);
    expect(boundaryFaults({ ...rac9Trace, compensated: ["T5", "T4", "T6", "T1", "T3"] })).not.toEqual([]);
    const failed: Trace = { ...rac9Trace, end: { invalidated: ["T7", "T8"] } };
    expect([...affectedBy(failed)]).toEqual(["T4", "T5"]);
  });

  test.each(travelJourney.expected)("the journey: $event, and $compensated is compensated", (row) => {
    const trace = journeys.find((one) => one.compensated === row.compensated)!;
    expect([...affectedBy(trace)].toSorted()).toEqual(row.compensated.toSorted());
    expect(boundaryFaults(trace)).toEqual([]);
    // One too few, one too many and the wrong order are caught.
    const { compensated } = row;
    if (compensated.length > 0)
      expect(boundaryFaults({ ...trace, compensated: compensated.slice(1) })).not.toEqual([]);
    expect(boundaryFaults({ ...trace, compensated: [...compensated, "T1", "T1"] })).not.toEqual([]);
    if (compensated.length > 1)
      expect(boundaryFaults({ ...trace, compensated: compensated.toReversed() })).not.toEqual([]);
  });

  test("for random graphs, the affected set closed under dependents passes in reverse order and in no forward one", () => {
    const graph = fc.integer({ min: 2, max: 8 }).chain((size) =>
      fc.record({
        size: fc.constant(size),
        bits: fc.array(fc.boolean(), { minLength: 28, maxLength: 28 }),
        hit: fc.nat(size - 1),
      }),
    );
    fc.assert(
      fc.property(graph, ({ size, bits, hit }) => {
        const nodes = Array.from({ length: size }, (_, index) => `T${index + 1}`);
        const edges: Edge[] = nodes.flatMap((from, one) =>
          nodes.flatMap((to, other): Edge[] =>
            one < other && bits[one * 4 + other - 1] ? [[from, to]] : [],
          ),
        );
        const base = {
          nodes,
          edges,
          ran: { succeeded: nodes, failed: [] },
          end: { invalidated: [nodes[hit]!] },
        };
        const affected = [...affectedBy({ ...base, compensated: [] })].toSorted();
        const inside = edges.some(([from, to]) => affected.includes(from) && affected.includes(to));
        expect(structureFaults(nodes, edges)).toEqual([]);
        expect(boundaryFaults({ ...base, compensated: affected.toReversed() })).toEqual([]);
        if (inside) expect(boundaryFaults({ ...base, compensated: affected })).not.toEqual([]);
        for (const node of nodes.filter((one) => !affected.includes(one)))
          expect(boundaryFaults({ ...base, compensated: [...affected.toReversed(), node] })).not.toEqual([]);
      }),
      { seed: 20261122, numRuns: 200 },
    );
  });
});
