/**
 * Hiring: the demo's agent and the contracts of its tools, written as any application would write them.
 *
 * All four effect classes occur, at both placements: the host performs the search, the room and the invites, workers do
 * the rest. The bodies are in app.ts. Timeouts are short, so that a doubt is settled while a person watches.
 */
import { defineAgent, defineTool } from "sagamesh";
import { callsAtMost } from "sagamesh/policies";
import { z } from "zod";

const Candidate = z.object({ candidateId: z.string(), summary: z.string() });

export const searchCandidates = defineTool({
  name: "search_candidates",
  description: "Searches the talent pool.",
  effect: "read",
  placement: "host",
  timeoutMs: 3_000,
  input: z.object({ role: z.string(), limit: z.int().min(1).max(50) }),
  output: z.object({ candidates: z.array(Candidate) }),
});

export const enrichCandidate = defineTool({
  name: "enrich_candidate",
  description: "Reads one candidate's whole profile and scores it for the role.",
  effect: "read",
  timeoutMs: 3_000,
  input: z.object({ candidateId: z.string() }),
  output: z.object({ profile: z.string(), score: z.number() }),
});

export const requestInterview = defineTool({
  name: "request_interview",
  description: "Asks a candidate for an interview slot. The answer comes when the candidate has answered.",
  effect: "idempotent",
  timeoutMs: 5_000,
  input: z.object({ candidateId: z.string() }),
  output: z.object({ slot: z.iso.datetime() }),
});

export const reserveRoom = defineTool({
  name: "reserve_room",
  description: "Reserves a room for the interviews.",
  effect: "probe",
  placement: "host",
  timeoutMs: 2_000,
  onDoubt: "model",
  input: z.object({ seats: z.int().min(2).max(12) }),
  output: z.object({ room: z.string() }),
});

export const chargeDeposit = defineTool({
  name: "charge_deposit",
  description: "Pays the deposit of a reserved room. Money: it cannot be taken back.",
  effect: "once",
  timeoutMs: 3_000,
  onDoubt: "model",
  input: z.object({ room: z.string(), cents: z.int().positive() }),
  output: z.object({ chargeId: z.string() }),
  compensation: "point_of_no_return",
});

export const findDeposit = defineTool({
  name: "find_deposit",
  description: "Looks up whether the deposit of a room was paid. Without a chargeId it was not.",
  effect: "read",
  timeoutMs: 3_000,
  input: z.object({ room: z.string() }),
  output: z.object({ chargeId: z.string().optional() }),
});

export const createInvite = defineTool({
  name: "create_invite",
  description: "Sends the calendar invite of one interview.",
  effect: "idempotent",
  placement: "host",
  timeoutMs: 3_000,
  input: z.object({ candidateId: z.string(), slot: z.iso.datetime(), room: z.string() }),
  output: z.object({ inviteId: z.string() }),
});

/** The name under which a host finds the model: scripted, or a real one with `--model`. */
export const modelName = "recruiting_model";

export const hireForRole = defineAgent({
  name: "hire_for_role",
  version: 1,
  description: "Finds candidates for a role and schedules first-round interviews with them.",
  model: modelName,
  instructions: [
    "Find the three best candidates for the role and schedule first-round interviews with each.",
    "In this order: search with limit 20; enrich every candidate found, all in one reply; in one reply request an",
    "interview with each of the three with the highest score and reserve one room with 4 seats; pay its deposit of",
    "5000 cents; wait for the signal recruiter_reply; when it has come, send all three invites in one reply; finish.",
    'In the output, `deposit` is the chargeId, or "open" if the deposit turns out not to have been paid.',
    "Ask no human: the recruiter alone is there, and only sends the signal.",
  ].join("\n"),
  input: z.object({ role: z.string() }),
  output: z.object({
    interviews: z.array(z.object({ candidateId: z.string(), slot: z.iso.datetime(), inviteId: z.string() })),
    deposit: z.string(),
  }),
  signals: { recruiter_reply: z.object({ text: z.string() }) },
  tools: [
    searchCandidates,
    enrichCandidate,
    requestInterview,
    reserveRoom,
    chargeDeposit,
    findDeposit,
    createInvite,
  ],
  budget: { steps: 100, tokens: 1_000_000, wallClockMs: 3_600_000 },
  policies: [callsAtMost(requestInterview, 3), callsAtMost(reserveRoom, 1), callsAtMost(chargeDeposit, 1)],
});
