/**
 * Goal: the same decision has the same key, however results fell into turns and in whatever order they came; two decisions
 * have two; and a ledger that began before keys were made of decisions folds to the keys that it has.
 * Method: random machines, agents and workflows, whose outside answers by what it is asked and by nothing else. Two
 * runs of one saga get the same answers, each in an order and in turns of its own, a run that goes on from an earlier
 * turn of another among them, and the keys are compared. The same runs with the number of the turn in the key differ.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnyStateMachine, enqueueActions, setup } from "xstate";
import { z } from "zod";
import { defineValidator } from "sagamesh/validators";
import { accept } from "../../../actors/kernel/accept.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { foldTurn } from "../../../actors/kernel/replay.ts";
import { compensation, toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { Definition } from "../../../actors/contract/definition.ts";
import type { OpenIntent, SagaState } from "../../../actors/contract/state.ts";
import { defineWorkflow, type NodeConfig } from "../../../actors/workflow/define.ts";
import type { Event } from "../../../protocol/event.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { limits } from "../../../protocol/limits.ts";
import {
  agentOf,
  call,
  calling,
  finish,
  hold,
  look,
  Of,
  release,
  reserve,
  send,
} from "../../support/workbench.ts";

const seed = 20261122;
const saga = parseSagaId("saga-1");

/** A saga to run, and what its model replies, by how many of its replies were taken. */
interface World {
  readonly definition: () => Definition; // Not printed with a failure.
  readonly replies: readonly Json[];
  /** Signals that may come at any time, once each. */
  readonly signals: readonly string[];
}

interface Run {
  readonly state: SagaState;
  readonly taken: number;
  readonly turn: number;
  readonly keys: ReadonlySet<string>;
}

/** What the outside answers, by what it is asked: which try it is, tool and input. */
function answerTo(world: World, taken: number, open: OpenIntent): Event {
  const { intent, input, attempt } = open;
  const { id } = intent;
  if (intent.kind === "task")
    return { type: "task", intent: id, id: `vote ${id}`, vote: { vote: "approve", by: "ada" } };
  if (intent.kind === "timer") return { type: "timer", intent: id };
  const result = (output: Json): Event => ({
    ...{ type: "result", intent: id, attempt, by: "outside" },
    result: { outcome: "succeeded", output },
  });
  if (intent.kind === "model") return result({ model: "m", ...(world.replies[taken] as object) });
  if (intent.kind === "signal") return result(null); // It is stored.
  if (intent.kind === "saga" && intent.name === "judging") {
    const shown = { digest: "d", tokens: 1 };
    return result({ verdict: "accept", validator: "judging", by: "code", shown, judged: "j" });
  }
  const { of = "" } = (input ?? {}) as { of?: string };
  const fails = of.startsWith("bad") || (of.startsWith("again") && attempt === 1);
  return fails
    ? {
        ...{ type: "result", intent: id, attempt, by: "outside" },
        result: { outcome: "failed", code: "NO", reason: "no", retry: of.startsWith("again") },
      }
    : result({ id: of });
}

/** Runs a saga to its end, each turn with some of what could come then. `choices` says how many, which and in what order. */
function runOn(world: World, from: Run | undefined, choices: Iterator<number>, keys?: "decided"): Run[] {
  const definition = world.definition();
  const { name, version, hash } = definition;
  const runs: Run[] = [];
  let run: Run | undefined = from;
  const append = (events: readonly Event[]): Run => {
    const decided = decideTurn(definition, run?.state, { saga, at: 0, events });
    const steps = decided.steps;
    // Every ledger is folded a second time.
    foldTurn(definition, run?.state, {
      ...{ v: 3, saga, turn: decided.state.turn, at: 0, host: "h", prev: "" },
      steps,
    });
    const made = steps.flatMap(({ intents }) =>
      intents.flatMap((intent) => {
        if (intent.kind === "tool") return `${intent.name} ${intent.key}`;
        // A child is told to cancel or not, as it had ended by then or not.
        if (intent.kind === "signal" && intent.call !== undefined)
          return `${intent.name} ${intent.key ?? intent.id}`;
        return intent.kind === "saga" ? `${intent.name} ${intent.saga}` : [];
      }),
    );
    for (const one of made) expect(run?.keys.has(one) ?? false, one).toBe(false); // KY2
    const replies = decided.said.filter(({ role }) => role === "assistant").length;
    run = {
      state: decided.state,
      turn: decided.state.turn,
      taken: (run?.taken ?? 0) + replies,
      keys: new Set([...(run?.keys ?? []), ...made]),
    };
    runs.push(run);
    return run;
  };
  const begin = { ...{ type: "start" as const, definition: { name, version, hash }, input: { of: "x" } } };
  let now = run ?? append([{ ...begin, ...(keys === undefined ? {} : { keys, told: keys }) }]);
  for (let turns = 0; now.state.phase.kind !== "ended"; turns++) {
    if (turns > 500)
      throw new Error(`it does not come to rest: ${JSON.stringify(Object.values(now.state.open))}`);
    const answers = Object.values(now.state.open).map((open) => answerTo(world, now.taken, open));
    const could: Event[] = [
      ...answers,
      ...world.signals.map((id): Event => ({
        ...{ type: "signal", name: "hint", data: null, id },
        from: "f",
        sentAt: 0,
      })),
    ];
    const batch: Event[] = [];
    for (let most = 1 + (choices.next().value % 4); most > 0 && could.length > 0; most--) {
      const [event] = could.splice(choices.next().value % could.length, 1);
      const judged = accept(definition, now.state, event!, 0);
      if (judged.type === "new") batch.push(judged.event);
    }
    if (batch.length > 0) now = append(batch);
  }
  return runs;
}

const of = fc.constantFrom("a", "b", "again", "bad");
const toolNames = ["look", "hold", "reserve", "send", "calling"] as const;
const asked = fc.record({ tool: fc.constantFrom(...toolNames), of });
type Asked = { readonly tool: string; readonly of: string };

/** Regions in parallel, each of which asks its one actor for one thing after the other; in the end all is undone, or not. */
const machines = fc
  .record({
    regions: fc.array(fc.array(asked, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
    undone: fc.boolean(),
  })
  .map(({ regions, undone }): World => ({
    definition: once(() => machineOf(regions, undone)),
    replies: [],
    signals: [],
  }));

function machineOf(regions: readonly (readonly Asked[])[], undone: boolean): Definition {
  const actors = toActors({ look, hold, reserve, send, calling: calling(hold), compensation });
  const machine = (
    setup({ actors }) as unknown as { createMachine(config: object): AnyStateMachine }
  ).createMachine({
    initial: "work",
    states: {
      work: {
        type: "parallel",
        onDone: undone ? "undoing" : "over",
        states: Object.fromEntries(
          regions.map((steps, r) => [
            `r${r}`,
            {
              initial: "s0",
              states: {
                ...Object.fromEntries(
                  steps.map(({ tool, of }, k) => {
                    const next = `s${k + 1}`;
                    return [
                      `s${k}`,
                      { invoke: { id: `r${r}`, src: tool, input: { of }, onDone: next, onError: next } },
                    ];
                  }),
                ),
                [`s${steps.length}`]: { type: "final" },
              },
            },
          ]),
        ),
      },
      undoing: { invoke: { id: "undo", src: "compensation", input: { because: "asked" }, onDone: "over" } },
      over: { type: "final" },
    },
  });
  return defineSaga({ name: "regions", version: 1, input: z.json(), output: z.json(), machine }).definition;
}

/** An agent whose replies make some calls each, and to whom people may say something at any time. */
const agent = agentOf({ tools: [look, hold, reserve, send], agents: [calling(hold)] }).definition;
const agents = fc
  .record({
    replies: fc.array(fc.array(asked, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
    hints: fc.nat(3),
  })
  .map(({ replies, hints }): World => ({
    definition: () => agent,
    replies: [
      ...replies.map((calls) => ({ calls: calls.map(({ tool, of }) => call(tool, { of })) })),
      finish,
    ] as Json[],
    signals: Array.from({ length: hints }, (_, k) => `hint-${k}`),
  }));

/** One that writes to other sagas, the same thing more than once. */
const writer = agentOf({
  tools: [look, hold],
  sends: [agentOf({ name: "desk", signals: { note: z.object({ of: z.string() }) } })],
}).definition;
const writers = fc
  .array(
    fc.array(fc.record({ tool: fc.constantFrom("look", "hold", "send", "send"), of }), {
      minLength: 1,
      maxLength: 4,
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((replies): World => ({
    definition: () => writer,
    replies: [
      ...replies.map((calls) => ({
        calls: calls.map(({ tool, of }) =>
          tool === "send"
            ? call(tool, { to: "desk-1", agent: "desk", signal: "note", data: { of } })
            : call(tool, { of }),
        ),
      })),
      finish,
    ] as Json[],
    signals: ["hint-0"],
  }));

/** A graph whose nodes are judged and may fail once, and are tried again. */
const flows = fc
  .array(fc.record({ fails: fc.boolean(), after: fc.nat(3) }), { minLength: 2, maxLength: 5 })
  .map((nodes): World => ({ definition: once(() => flowOf(nodes)), replies: [], signals: [] }));

function flowOf(nodes: readonly { readonly fails: boolean; readonly after: number }[]): Definition {
  const make = defineTool({
    ...{ name: "make", description: "Makes.", effect: "idempotent", input: Of, output: z.json() },
    compensation: { tool: release, input: ({ key }) => ({ key }) },
    retry: { attemptsMax: 1, backoffMs: 1 },
  });
  const { definition } = defineWorkflow({
    ...{ name: "flow", version: 1, input: z.json(), onFailure: "replan", replansMax: 10 },
    validators: { before: [defineValidator({ name: "judging", check: "elsewhere" })] },
    nodes: Object.fromEntries(
      nodes.map(({ fails, after }, k): [string, NodeConfig] => [
        `n${k}`,
        {
          run: make,
          after: k === 0 || after === 3 ? [] : [`n${after % k}`],
          input: ({ attempt }) => ({ of: fails && attempt === 1 ? "bad" : "x" }),
        },
      ]),
    ),
  });
  return definition;
}

/** Made when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const choices = () => fc.infiniteStream(fc.nat(1_000));
const textOf = ({ keys }: Run): string => [...keys].sort().join("\n");

describe.each([
  ["a machine", machines],
  ["an agent", agents],
  ["an agent that writes to others (KY3)", writers],
  ["a workflow", flows],
])("the keys of %s", (_, worlds) => {
  test("are the same however its results fall into turns, and again from any turn on", () => {
    let differs = 0;
    fc.assert(
      fc.property(worlds, choices(), choices(), fc.nat(1_000), (world, some, other, cut) => {
        const one = runOn(world, undefined, some, "decided");
        const another = runOn(world, undefined, other, "decided");
        expect(textOf(another.at(-1)!)).toBe(textOf(one.at(-1)!));
        const restored = runOn(world, one[cut % (one.length - 1)], other, "decided");
        expect(textOf(restored.at(-1)!)).toBe(textOf(one.at(-1)!));
        const [turns, others] = [runOn(world, undefined, some), runOn(world, undefined, other)];
        if (textOf(turns.at(-1)!) !== textOf(others.at(-1)!)) differs += 1;
      }),
      { numRuns: 12, seed },
    );
    expect(differs).toBeGreaterThan(3); // With the turn's number in the key.
  });
});

test("actors without number have keys of their own, however many names they have and however often they come", () => {
  const many = limits.namesCountedMax + 20;
  const spawnAll = enqueueActions(({ enqueue }) => {
    for (let k = 0; k < many; k++) enqueue.spawnChild("hold", { id: `h${k}`, input: { of: "x" } });
  });
  const stopAll = enqueueActions(({ enqueue }) => {
    for (let k = 0; k < many; k++) enqueue.stopChild(`h${k}`);
  });
  const machine = setup({ actors: toActors({ hold }) }).createMachine({
    initial: "on",
    states: {
      on: {
        entry: spawnAll as never,
        exit: stopAll as never,
        on: { again: { target: "on", reenter: true } },
      },
    },
  });
  const { definition } = defineSaga({
    ...{ name: "many", version: 1, input: z.json(), output: z.json(), signals: { again: z.null() }, machine },
    budget: { intentsOpenMax: 10_000 },
  });
  const { name, version, hash } = definition;
  const begin = { type: "start", definition: { name, version, hash }, input: {}, keys: "decided" } as const;
  const first = decideTurn(definition, undefined, { saga, at: 0, events: [begin] });
  const again = { type: "signal", name: "again", data: null, id: "s", from: "f", sentAt: 0 } as const;
  const second = decideTurn(definition, first.state, { saga, at: 1, events: [again] });
  const keys = [first, second].flatMap(({ steps }) =>
    steps.flatMap(({ intents }) => intents.flatMap((intent) => (intent.kind === "tool" ? [intent.key] : []))),
  );
  expect(keys).toHaveLength(2 * many);
  expect(new Set(keys).size).toBe(2 * many);
  expect(Object.keys(second.state.decided!.asked)).toHaveLength(limits.namesCountedMax);
});
