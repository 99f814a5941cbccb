/**
 * A plan: three bookings as a person wrote them down (planned-bookings.md), turned into a workflow by a model, and run.
 *
 *   sagamesh plan test/examples/planned-bookings.md --app test/examples/planned-bookings.ts --out /tmp/offsite.json
 *   sagamesh run /tmp/offsite.json --app test/examples/planned-bookings.ts --input '{"people":12,"city":"BER"}'
 *
 * The application has no workflow of its own, only tools. Its model is a script that answers as a model would, and
 * forgets a compensation first; with a real one, `--model claude-…`.
 */
import { defineApp, defineTool, NotPerformed } from "sagamesh";
import type { Plan } from "sagamesh/workflow";
import { scriptedModel } from "sagamesh/testing";
import { z } from "zod";

const Booking = z.object({ id: z.string(), of: z.string(), places: z.int() });
type Booking = z.infer<typeof Booking>;

/** What this agency holds, by the key it was asked with. */
export const held = new Map<string, Booking>();
const known = new Map<string, Booking>();

const release = defineTool({
  name: "release",
  description: "Gives a booking back, by the key it was made with.",
  effect: "idempotent",
  input: z.object({ madeWithKey: z.string() }),
  output: z.object({ released: z.boolean() }),
  perform: async ({ madeWithKey }) => ({ released: held.delete(madeWithKey) }),
});

const booking = (name: string, what: string, placesMax: number) =>
  defineTool({
    name,
    description: `Books ${what}. Nothing of its own undoes it.`,
    effect: "idempotent",
    input: z.object({ city: z.string(), places: z.int() }),
    output: Booking,
    perform: async ({ places }, { key }) => {
      if (places > placesMax) throw new NotPerformed(`no ${name} is left for ${places}`, { retry: false });
      const booked = known.get(key) ?? { id: `${name}-${known.size + 1}`, of: name, places };
      if (!known.has(key)) held.set(key, booked);
      known.set(key, booked);
      return booked;
    },
  });

export const tools = [
  booking("flight", "seats in one aeroplane", 200),
  booking("rooms", "a room for each", 80),
  booking("hall", "one hall for all", 20),
  release,
];

const logged = {
  type: "object",
  properties: { id: { type: "string" }, places: { type: "integer" } },
  required: ["id", "places"],
} as const;
const undone = { run: "release", input: { madeWithKey: { $ref: "key" } } };
const carried = { agent: { by: "runtime" }, log: logged, compensation: { by: "itself" } } as const;
const forAll = { city: { $ref: "input /city" }, places: { $ref: "input /people" } };
const hasPlaces = [{ is: "atLeast", at: "/places", value: 1 }];

export const offsite: Plan = {
  v: 1,
  name: "offsite",
  version: 1,
  description: "Books a flight, rooms and a hall, or none of them.",
  goals: [{ name: "all_booked", says: "Everybody has a seat, a room and a place in one hall." }],
  constraints: [{ name: "room_for_all", says: "Each booking has places for all." }],
  roles: [
    { name: "travel", does: "Books how people come and where they sleep." },
    { name: "venue", does: "Books where they meet." },
  ],
  input: {
    type: "object",
    properties: { people: { type: "integer", minimum: 1 }, city: { type: "string" } },
    required: ["people", "city"],
  },
  nodes: [
    {
      ...{ name: "flight", role: "travel", does: "Books the flight.", run: "flight", input: forAll },
      ...{ success: hasPlaces, covers: ["all_booked", "room_for_all"], log: logged, compensation: undone },
    },
    {
      ...{ name: "rooms", role: "travel", does: "Books the rooms.", run: "rooms", input: forAll },
      ...{ success: hasPlaces, covers: ["room_for_all"], log: logged, compensation: undone },
    },
    {
      ...{ name: "hall", role: "venue", does: "Books the hall.", run: "hall" },
      input: { city: { $ref: "input /city" }, places: { $ref: "node rooms /places" } },
      ...{ success: hasPlaces, covers: ["all_booked", "room_for_all"], log: logged, compensation: undone },
    },
  ],
  edges: [
    { from: "flight", to: "hall", does: "The hall waits for the flight.", ...carried },
    { from: "rooms", to: "hall", does: "As many places as there are rooms.", ...carried },
  ],
};

/** What a planner that has this plan in mind answers to a step. */
export function answerOf(plan: Plan, step: string): unknown {
  const { v: _v, nodes, edges, ...frame } = plan;
  type One = Plan["nodes"][number] | Plan["edges"][number];
  const keyOf = (one: One) => ("name" in one ? one.name : `${one.from}->${one.to}`);
  const by = (all: readonly One[], of: (one: One) => unknown) =>
    Object.fromEntries(all.map((one) => [keyOf(one), of(one)]));
  const profile = ({ log: _log, agent: _agent, compensation: _compensation, ...rest }: One) => rest;
  const specs = ({ agent, compensation }: One) => ({ ...(agent && { agent }), compensation });
  const answers: Record<string, unknown> = {
    roles: frame,
    nodes: { nodes: nodes.map(profile) },
    edges: { edges: edges.map(profile) },
    graph: { nodes: nodes.map(profile), edges: edges.map(profile) },
    logs: { logs: { nodes: by(nodes, ({ log }) => log), edges: by(edges, ({ log }) => log) } },
    agents: { agents: { nodes: by(nodes, specs), edges: by(edges, specs) } },
  };
  const { logs, agents, graph } = answers as Record<"logs" | "agents" | "graph", object>;
  return step === "whole" ? { ...graph, ...logs, ...agents } : answers[step];
}

/** As a model is asked: the question is the one text of the one message. */
export const questionOf = (request: {
  messages: readonly unknown[];
}): { step: string; findings?: unknown[] } => {
  const [message] = request.messages as { parts: { text: string }[] }[];
  return JSON.parse(message?.parts[0]?.text ?? "{}") as { step: string };
};

/** Forgets who takes the hall back, is told so, and says it. */
const forgetful: Plan = {
  ...offsite,
  nodes: offsite.nodes.map((node) =>
    node.name === "hall" ? { ...node, compensation: { by: "itself" } } : node,
  ),
};

export default defineApp({
  tools,
  models: {
    planner: scriptedModel("planner", (request) => {
      const { step } = questionOf(request);
      return { text: JSON.stringify(answerOf(step === "whole" ? offsite : forgetful, step)) };
    }),
  },
});
