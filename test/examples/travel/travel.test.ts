/**
 * Goal: the journey of the paper is booked, and of each of its six events exactly what is expected is given back, the
 * last first, by the books of those who were asked; what stays, stays; and nobody is shown what was rolled back.
 * Method: the example on a mesh in memory, in a world of its own each time, beside the facts in journey.json.
 */
import { describe, expect, test } from "vitest";
import type { ModelMessage, ModelPort, ModelRequest } from "sagamesh/models";
import { testMesh } from "sagamesh/testing";
import { ValidatorVerdict } from "../../../protocol/verdict.ts";
import { ValidatorInput } from "../../../actors/validators/validator.ts";
import { stateOf } from "../../support/state-of.ts";
import { placeOf } from "./agents.ts";
import facts from "./journey.json" with { type: "json" };
import { createOutside, heldAt, type Outside } from "./outside.ts";
import { nodeOf, undoneIn } from "./story.ts";
import { createTravel } from "./travel.ts";
import { workflowOwn } from "../../support/own.ts";
import type { StateDocument } from "../../../protocol/documents/state.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const all = ["T1", "T2", "T3", "T4", "T5"] as const;
const nodeAt = (place: string) => all.find((node) => placeOf[node]?.place === place);
const givenBack = ({ cancelled }: Outside) => cancelled.map(nodeAt);
const held = (outside: Outside) => heldAt(outside).map(nodeAt).sort();

/** A journey in its own world. `sent` is what each model was asked, in order. */
async function journey(input: object = {}, world: (outside: Outside) => void = () => undefined) {
  const made = createTravel(createOutside());
  world(made.outside);
  const sent: ModelRequest[] = [];
  const models = Object.fromEntries(
    Object.entries(made.models).map(([name, port]): [string, ModelPort] => [
      name,
      {
        ...port,
        decide: (request, context) => {
          sent.push(request);
          return port.decide(request, context);
        },
      },
    ]),
  );
  const mesh = testMesh(made.app, { models });
  const saga = await mesh.start(made.travel, input, { id: "trip-1" });
  const referenceOf = (node: string) =>
    made.outside.entries().findLast(({ place }) => nodeAt(place) === node)?.reference ?? "";
  const takenBack = async (node: string, { soldOut = false, on = "2025-05-20" } = {}) => {
    const booking = referenceOf(node);
    made.outside.withdraw(booking, soldOut);
    await saga.signal("cancelled", {
      booking,
      place: placeOf[node]!.place,
      by: "its provider",
      reason: "a strike",
      on,
    });
    await mesh.settled();
  };
  return { ...made, mesh, saga, sent, referenceOf, takenBack };
}
const open = { open_for_days: 30 };

const expectedOf = (words: string) => {
  const found = facts.expected.find(({ event }) => event.includes(words));
  if (found === undefined) throw new Error(`no event says "${words}"`);
  return found;
};
/** C2 undoes T2. */
const compensated = (words: string) => expectedOf(words).compensate?.map((name) => name.replace("C", "T"));
/** The ledger's own word, which must be the outside's. */
const decided = async ({ saga }: Awaited<ReturnType<typeof journey>>) =>
  undoneIn(await saga.ledger()).map(nodeOf);

describe("the journey", () => {
  test("is booked in the order of its dependencies, within the budget, and nothing is given back", async () => {
    const { mesh, saga, outside, travel } = await journey();
    await using _ = mesh;
    expect(travel.definition.faults).toEqual([]);
    expect(await saga.result()).toMatchObject({
      status: "completed",
      output: {
        pricing_breakdown: { T1: 920, T2: 640, T3: 64, T4: 320, T5: 920 },
        ...{ updated_total: 2864, remaining_budget: facts.spec.budget_usd_max - 2864 },
      },
    });
    expect(outside.entries().map(({ place }) => nodeAt(place))).toEqual([...all]);
    expect(givenBack(outside)).toEqual([]);
    const { nodes } = workflowOwn(travel.definition).graph;
    expect([...nodes.keys()]).toEqual(facts.transactions.map(({ id }) => id));
    const agents = new Map(facts.transactions.map(({ id, agent }) => [id, agent]));
    for (const [node, { run }] of nodes)
      expect(`${run.name.replaceAll("_", "")}agent`).toBe(agents.get(node)?.toLowerCase());
  });
});

describe("of the six events", () => {
  test.each([
    ["T1 fails at execution", "T1"],
    ["T3 fails at execution", "T3"],
    ["T5 fails at execution", "T5"],
  ])("%s: exactly what had been committed is given back, in reverse", async (words, failing) => {
    const one = await journey({}, (outside) => outside.refuse(placeOf[failing]!.place));
    await using _ = one.mesh;
    expect(await one.saga.result()).toMatchObject({ status: "failed", code: "INFEASIBLE", standing: [] });
    expect(givenBack(one.outside)).toEqual(compensated(words));
    expect(await decided(one)).toEqual(compensated(words));
    expect(held(one.outside)).toEqual([]);
  });

  test("T3 taken back by the railway takes T5, T4 and T3 and no more, and these are booked again", async () => {
    const event = expectedOf("T3 is cancelled by the railway");
    const one = await journey(open);
    await using _ = one.mesh;
    const kept = event.keep!.map(one.referenceOf);
    await one.takenBack("T3");
    expect(givenBack(one.outside)).toEqual(compensated("T3 is cancelled by the railway"));
    expect(await decided(one)).toEqual(givenBack(one.outside));
    expect(held(one.outside)).toEqual([...all]);
    expect(event.keep!.map(one.referenceOf)).toEqual(kept);
    const again = one.outside.entries().slice(all.length);
    expect(again.map(({ place }) => nodeAt(place))).toEqual(event.replan);
    await one.saga.signal("conclude", {});
    expect(await one.saga.result()).toMatchObject({ status: "completed", output: { updated_total: 2864 } });
  });

  test("T1 taken back takes all five, the last first, and with no other flight nothing is left", async () => {
    const one = await journey(open);
    await using _ = one.mesh;
    await one.takenBack("T1", { soldOut: true });
    expect(givenBack(one.outside)).toEqual(compensated("T1 is cancelled after"));
    expect(await decided(one)).toEqual(givenBack(one.outside));
    expect(await one.saga.result()).toMatchObject({
      ...{ status: "failed", code: "INFEASIBLE", reason: "nothing is left of T1 (SFO-Berlin)", standing: [] },
    });
    expect(held(one.outside)).toEqual([]);
  });

  test("T4 over the budget is refused before it commits, and a cheaper one takes its place while T1 to T3 stay", async () => {
    const one = await journey({}, (outside) => outside.charge("Cologne", { 3: 100, 4: 1_700 }));
    await using _ = one.mesh;
    expect(await one.saga.result()).toMatchObject({ status: "completed", output: { updated_total: 2744 } });
    expect(givenBack(one.outside)).toEqual(["T4"]);
    const rejected = (await verdictsOf(one)).filter(({ verdict }) => verdict === "reject");
    expect(rejected).toMatchObject([
      {
        validator: "total_cost",
        type: "constraint_adherence",
        findings: [{ rule: "budget", by: 24, unit: "USD" }],
      },
    ]);
  });

  test("T4 over the budget with nothing cheaper gives T1 to T3 back, and not before planning was exhausted", async () => {
    expect(expectedOf("at T4").outcome).toContain("until replanning is exhausted");
    const one = await journey({}, (outside) => outside.charge("Cologne", { 3: 1_500, 4: 1_700 }));
    await using _ = one.mesh;
    expect(await one.saga.result()).toMatchObject({
      ...{ status: "failed", code: "INFEASIBLE", reason: "T4 is 544 USD over what is left of the budget" },
      standing: [],
    });
    expect(givenBack(one.outside)).toEqual(["T4", "T3", "T2", "T1"]);
    const turns = await one.saga.ledger();
    const planned = turns.find(({ steps }) => JSON.stringify(steps).includes("giveUp"));
    expect(undoneIn(turns.filter(({ turn }) => turn < planned!.turn))).toEqual(["T4.1"]);
  });

  test("what has been travelled stays: with no train left, T1 and T2 stand when the rest is given back", async () => {
    const one = await journey(open);
    await using _ = one.mesh;
    await one.takenBack("T3", { soldOut: true, on: "2025-06-07" });
    const end = await one.saga.result();
    expect(end).toMatchObject({ status: "failed", code: "INFEASIBLE" });
    expect(givenBack(one.outside)).toEqual(["T5", "T4", "T3"]);
    expect(held(one.outside)).toEqual(["T1", "T2"]);
    expect(end.standing).toHaveLength(2);
  });
});

/** Every verdict that was given, from the ledgers of the validators. */
async function verdictsOf({ mesh }: Awaited<ReturnType<typeof journey>>) {
  const verdicts: (ValidatorVerdict & { readonly seen: ValidatorInput["seen"] })[] = [];
  for (const id of (await mesh.list()).map(({ saga }) => saga)) {
    const steps = (await mesh.anySaga(id).ledger()).flatMap((turn) => turn.steps);
    const start = steps.map(({ event }) => event).find((event) => event.type === "start");
    const given = ValidatorInput.safeParse(start?.input);
    const end = steps.flatMap(({ intents }) => intents).find((intent) => intent.kind === "end");
    const verdict = ValidatorVerdict.safeParse(end?.output);
    if (given.success && verdict.success) verdicts.push({ ...verdict.data, seen: given.data.seen });
  }
  return verdicts;
}

describe("a validator of the journey", () => {
  test("is shown goals, constraints, dependencies and commitments, under 1,000 tokens, as its verdict records", async () => {
    const one = await journey(open);
    await using _ = one.mesh;
    await one.takenBack("T3");
    const verdicts = await verdictsOf(one);
    expect(verdicts).toHaveLength(2 + 4 * 8); // The plan, and the plan anew; and four of each of the eight runs.
    expect(new Set(verdicts.map(({ type }) => type))).toEqual(
      new Set(["context_preservation", "constraint_adherence", "semantic", "temporal"]),
    );
    for (const { seen, shown, verdict, validator } of verdicts) {
      expect(verdict, validator).toBe("accept");
      expect(Object.keys(seen.pinned ?? {}).sort()).toEqual([
        "commitments",
        "constraints",
        "dependencies",
        "goals",
      ]);
      expect(seen.pinned?.dependencies).toEqual(facts.dependencies.map(([from, to]) => [from, to]));
      expect(seen.conversation).toBeUndefined();
      expect(shown.tokens).toBeGreaterThan(100);
      expect(shown.tokens).toBeLessThan(1_000);
    }
    const commitments = verdicts
      .filter(({ validator }) => validator === "total_cost")
      .map(({ seen }) => seen.pinned);
    expect(commitments.map((pinned) => pinned?.commitments)).toEqual(
      [[], ["T1"], ["T1", "T2"], ["T1", "T2", "T3"], ["T1", "T2", "T3", "T4"]].concat([
        ...[
          ["T1", "T2"],
          ["T1", "T2", "T3"],
          ["T1", "T2", "T3", "T4"],
        ],
      ]),
    );
  });
});

describe("what was rolled back", () => {
  test("is in nothing that a model is sent afterwards: the context is that of the last good checkpoint", async () => {
    const one = await journey(open);
    await using _ = one.mesh;
    const gone = ["T3", "T4", "T5"].map(one.referenceOf);
    const stays = ["T1", "T2"].map(one.referenceOf);
    const before = one.sent.length;
    await one.takenBack("T3");
    const after = one.sent.slice(before);
    expect(new Set(after.map(({ saga }) => saga)).size).toBe(1 + 3); // The planner, and three who book.
    const told = after.map(({ messages: [first] }) => firstTextOf(first));
    const [planner] = told.flatMap((text) => (text.includes("affected") ? [text] : []));
    const asked = JSON.parse(planner ?? "") as { signals: object; nodes: Record<string, { status: string }> };
    expect(asked.signals).toMatchObject({ cancelled: { booking: gone[0] } }); // That is the outside's own word.
    const shown = [
      JSON.stringify({ ...asked, signals: {} }),
      ...told.filter((text) => text !== planner),
    ].join("\n");
    for (const reference of gone) expect(shown).not.toContain(reference);
    for (const reference of stays) expect(shown).toContain(reference);
    expect(asked).toMatchObject({ reason: "its provider: a strike", affected: ["T3", "T4", "T5"] });
    expect(all.map((node) => asked.nodes[node]?.status)).toEqual([
      "committed",
      "committed",
      "undone",
      "undone",
      "undone",
    ]);
  });

  test("is in no state either: after it, the entities are those of the checkpoint before", async () => {
    const one = await journey(open);
    await using _ = one.mesh;
    await one.takenBack("T3");
    const turns = await one.saga.ledger();
    const entitiesAt = (turn: number) => applicationAt(one, turns.slice(0, turn)).entities;
    const { checkpoints } = applicationAt(one, turns);
    const good = checkpoints.find(({ committed }) => committed.includes("T2.1"));
    const planning = turns.find(({ steps }) => JSON.stringify(steps).includes('"plan.1"'))!;
    const succeeded = turns.find(({ steps }) =>
      JSON.stringify(steps).includes('"booking_reference":"HO-2"'),
    )!;
    // A run that has succeeded is judged first: it is an entity from the turn of its commit.
    expect(good!.turn).toBeGreaterThan(succeeded.turn);
    expect(good!.committed).toEqual(["T2.1"]);
    expect(Object.keys(entitiesAt(good!.turn))).toEqual(["T1", "T2"]);
    expect(entitiesAt(planning.turn)).toEqual(entitiesAt(good!.turn));
    expect(Object.keys(entitiesAt(turns.length))).toEqual([...all]);
  });
});

const firstTextOf = (message: ModelMessage | undefined): string => {
  const [part] = message?.role === "user" ? message.parts : [];
  return part?.type === "text" ? part.text : "";
};

type Ledger = Awaited<ReturnType<Awaited<ReturnType<typeof journey>>["saga"]["ledger"]>>;
function stateAt<D extends "application" | "operation" | "dependency">(
  { app }: { readonly app: Parameters<typeof stateOf>[0] },
  turns: Ledger,
  dimension: D,
) {
  return atOnce(stateOf(app, turns, dimension)) as Extract<StateDocument, { dimension: D }>;
}
const applicationAt = (one: Parameters<typeof stateAt>[0], turns: Ledger) =>
  stateAt(one, turns, "application");

describe("the state", () => {
  const { S_A, S_O, S_D } = facts.state_dimensions;

  test("of the application has every field that the paper names, as those say who were asked", async () => {
    const one = await journey();
    await using _ = one.mesh;
    const end = await one.saga.result();
    const { input, entities } = applicationAt(one, await one.saga.ledger());
    const asked = one.travel.input.parse(input);
    const logs = Object.fromEntries(
      Object.entries(entities).map(([node, log]) => [node, log as Record<string, unknown>]),
    );
    const entries = one.outside.entries();
    const byNode = <T>(of: (entry: (typeof entries)[number]) => T) =>
      Object.fromEntries(entries.map((entry) => [nodeAt(entry.place), of(entry)]));
    const read = (name: string) =>
      Object.fromEntries(Object.entries(logs).map(([node, log]) => [node, log[name]]));
    const policies = Object.entries(logs).map(
      ([, log]) => log["cancellation_policy"] ?? log["refund_policy"],
    );
    const fields: Record<string, [unknown, unknown]> = {
      travel_dates_per_city: [
        asked.travel_dates_per_city,
        Object.fromEntries(
          entries.flatMap(({ kind, place, offer }) =>
            kind === "hotel" ? [[place, [offer.start.slice(0, 10), offer.end.slice(0, 10)]]] : [],
          ),
        ),
      ],
      destination_sequence: [asked.destination_sequence, facts.spec.route],
      passenger_manifest: [asked.passenger_manifest, ["Ada"]],
      confirmation_numbers: [read("booking_reference"), byNode(({ reference }) => reference)],
      cancellation_policies: [policies, all.map(() => "refunded until departure")],
      pricing_breakdown: [read("total_cost"), byNode(({ offer }) => offer.price)],
      budget_limits: [asked.budget_limits, { total_usd: facts.spec.budget_usd_max }],
      preference_profiles: [asked.preference_profiles, { stars: facts.spec.hotel_stars, direct: true }],
      accessibility_requirements: [asked.accessibility_requirements, { step_free: false }],
    };
    expect(Object.keys(fields)).toEqual(S_A);
    for (const [name, [said, known]] of Object.entries(fields)) expect(said, name).toEqual(known);
    expect(end).toMatchObject({ output: { pricing_breakdown: read("total_cost") } });
  });

  test("of the operation has every field, from the turn in which it was so: registered, being undone, undone", async () => {
    const one = await journey(open);
    await using _ = one.mesh;
    await one.takenBack("T3");
    const turns = await one.saga.ledger();
    const of = (call: string, k = turns.length) =>
      stateAt(one, turns.slice(0, k), "operation").transactions.find((each) => each.call === call);
    const settled = turns.findIndex((_turn, k) => of("T4.1", k + 1)?.outcome === "succeeded") + 1;
    expect(of("T4.1", settled - 1)).toMatchObject({ outcome: "open", recovery: "none" });
    const committed = of("T4.1", settled)!;
    const undoing = turns.findIndex((_turn, k) => of("T4.1", k + 1)?.recovery === "undoing") + 1;
    expect(undoing).toBeGreaterThan(settled);
    const child = turns.flatMap(({ steps }) =>
      steps.flatMap(({ intents }) =>
        intents.flatMap((each) => (each.kind === "saga" && each.call === "T4.1" ? [each.saga] : [])),
      ),
    )[0]!;
    const childs = await one.mesh.anySaga(child).ledger();
    const ended = childs.findIndex(({ steps }) => JSON.stringify(steps).includes('"kind":"end"')) + 1;
    const own = stateAt(one, childs.slice(0, ended), "operation").transactions;
    const [found, booked] = own;
    const rests = stateAt(one, turns.slice(0, settled), "dependency").effects;
    const fields: Record<string, [unknown, unknown]> = {
      transaction_id: [committed.transaction, expect.stringMatching(/^\d+-\d+$/)],
      agent_id: [committed.name, "hotel_booking"],
      input_data: [committed.input, expect.objectContaining({ location_constraints: "Cologne" })],
      output_data: [
        committed.output,
        expect.objectContaining({ total_cost: 320, confirmation_number: "HO-4" }),
      ],
      execution_timestamp: [committed.settledAt! > committed.startedAt, true],
      reasoning_chain: [found!.reasoning, "What is there for Cologne?"],
      alternatives_considered: [
        (found!.output as { offers: { stars: number }[] }).offers.map(({ stars }) => stars),
        [2, 3, 4, 5],
      ],
      decision_justification: [
        booked!.reasoning,
        "Of 4 offers 2 would do; Cologne 4 stars for 320 USD is the best of them.",
      ],
      compensation_procedure: [
        [committed.compensation?.name, booked!.compensation?.name],
        ["hotel_booking", "cancel_hotel"],
      ],
      "rollback requirements": [
        rests.find(({ call }) => call === "T4.1")?.dependsOn?.toSorted(),
        ["T1.1", "T2.1", "T3.1"],
      ],
      recovery_state: [
        [committed, of("T4.1", undoing), of("T4.1")].map((each) => each?.recovery),
        ["registered", "undoing", "undone"],
      ],
    };
    expect(Object.keys(fields)).toEqual(S_O);
    for (const [name, [said, known]] of Object.entries(fields)) expect(said, name).toEqual(known);
  });

  test("of the dependencies has every field, with the verdicts that it was decided on", async () => {
    const one = await journey({}, (outside) => outside.refuse("Cologne-SFO"));
    await using _ = one.mesh;
    await one.saga.result();
    const turns = await one.saga.ledger();
    const nodeAtTurn = (k: number) => stateAt(one, turns.slice(0, k), "dependency");
    const k = turns.findIndex((_turn, at) => nodeAtTurn(at + 1).nodes[4]?.status === "running") + 1;
    const { nodes, edges, effects } = nodeAtTurn(k);
    const [, , , t4, t5] = nodes;
    const verdictOf = (name: string) => t4?.verdicts?.find(({ validator }) => validator === name);
    const fields: Record<string, [unknown, unknown]> = {
      prerequisite_transactions: [t5?.evidence, [{ node: "T4", call: "T4.1" }]],
      temporal_constraints: [
        verdictOf("journey_in_order"),
        expect.objectContaining({ stage: "output", verdict: "accept" }),
      ],
      resource_dependencies: [effects.map(({ call }) => call), ["T1.1", "T2.1", "T3.1", "T4.1"]],
      validation_results: [
        t4?.verdicts?.map(({ validator }) => validator).sort(),
        ["honest_output", "journey_in_order", "request_in_bounds", "total_cost"],
      ],
      constraint_satisfaction: [
        verdictOf("total_cost"),
        expect.objectContaining({ stage: "commit", verdict: "accept", by: "code" }),
      ],
      dependency_resolution: [
        edges.map(({ from, to, satisfied }) => [from, to, satisfied]),
        facts.dependencies.map(([from, to]) => [from, to, "yes"]),
      ],
    };
    expect(Object.keys(fields)).toEqual(S_D);
    for (const [name, [said, known]] of Object.entries(fields)) expect(said, name).toEqual(known);
    // In the end nothing rests on anything any more.
    const last = nodeAtTurn(turns.length);
    expect(last.effects).toEqual([]);
    expect(last.edges.map(({ satisfied }) => satisfied)).toEqual(["no", "no", "no", "no"]);
    expect(last.nodes[4]).toMatchObject({
      status: "failed",
      verdicts: expect.arrayContaining([expect.objectContaining({ verdict: "reject" })]) as unknown,
    });
  });
});
