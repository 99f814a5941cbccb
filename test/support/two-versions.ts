/**
 * Two versions of one saga, which takes every kind of input once: a worker's result, a child's, a signal, a vote, a timer.
 * It ends with its version, so that a saga that went on under another one would show.
 */
import { setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, question, type SignalEvents, toActors } from "sagamesh";
import type { App } from "../../services/app/app.ts";
import type { Mesh } from "../../services/client/mesh.ts";
import { viewOf } from "../../services/views/view.ts";
import { parseIntentId, parseSagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";

const signals = { go: z.object({}) };

const stamp = defineTool({
  ...{ name: "stamp", description: "Stamps.", effect: "idempotent", compensation: "point_of_no_return" },
  ...{ input: z.object({}), output: z.object({ key: z.string() }), perform: async (_, { key }) => ({ key }) },
});

/** Answered by its host at once. */
const look = defineTool({
  ...{ name: "look", description: "Looks.", effect: "read", placement: "host" },
  ...{ input: z.object({}), output: z.object({}), perform: async () => ({}) },
});

const clipOf = (version: number) =>
  defineSaga({
    ...{ name: "clip", version, input: z.object({}), output: z.object({ by: z.number() }), signals: {} },
    machine: setup({ actors: toActors({ look }) }).createMachine({
      id: "clip",
      initial: "looking",
      states: { looking: { invoke: { src: "look", input: {}, onDone: "done" } }, done: { type: "final" } },
      output: { by: version },
    }) as never,
  });

const deskOf = (version: number) =>
  defineSaga({
    ...{ name: "desk", version, input: z.object({}), output: z.object({ by: z.number() }), signals },
    whenEarly: "keep",
    machine: setup({
      types: { events: {} as SignalEvents<typeof signals> },
      actors: toActors({
        stamp,
        clip: clipOf(version),
        confirm: question({ to: ["boss"], answer: z.boolean(), withinMs: 600_000 }),
      }),
    }).createMachine({
      id: "desk",
      initial: "stamping",
      states: {
        stamping: { invoke: { src: "stamp", input: {}, onDone: "clipping" } },
        clipping: { invoke: { src: "clip", input: {}, onDone: "resting" } },
        resting: { on: { go: "asking" } },
        asking: { invoke: { src: "confirm", input: { question: "well?" }, onDone: "pausing" } },
        pausing: { after: { 200: "done" } },
        done: { type: "final" },
      },
      output: { by: version },
    }) as never,
  });

export const [desk1, desk2] = [deskOf(1), deskOf(2)];

/** Each on its own, and both. */
export const [appV1, appV2, appBoth] = [
  defineApp({ sagas: [desk1] }),
  defineApp({ sagas: [desk2] }),
  defineApp({ sagas: [desk1, desk2] }),
] as const satisfies readonly App[];

/** Where a desk stands: what it waits for, or its status once it has ended. */
export function placeOf(turns: readonly Turn[]): string {
  if (turns.length === 0) return "nowhere";
  const { status, intents, end } = viewOf(turns);
  if (status !== "running") return `${status} by ${(end?.output as { by: number } | undefined)?.by}`;
  const open = intents.filter(({ outcome }) => outcome === undefined).map(({ intent }) => intent.kind);
  return open.length === 0 ? "resting" : open.join(" ");
}

/** Says yes to a desk that asks. */
export async function sayYes(client: Mesh, saga: string, intent: string): Promise<void> {
  await client.vote(
    { saga: parseSagaId(saga), intent: parseIntentId(intent) },
    { vote: "answer", answer: true, by: "boss" },
  );
}

/** The open question of a desk. */
export const questionOf = (turns: readonly Turn[]): string | undefined =>
  viewOf(turns).intents.find(({ intent, outcome }) => intent.kind === "task" && outcome === undefined)?.intent
    .id;
