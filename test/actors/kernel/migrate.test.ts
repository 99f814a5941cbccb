/**
 * Migrate: which ledgers fold to the same decisions under another definition, and what the record of a move does.
 *
 * Method: ledgers made by given / when / then under one definition, judged under another that differs in one thing.
 * A moved ledger is folded again from its first turn, and must go on as the new definition has it.
 */
import { assign, setup } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { SagaDefinition } from "../../../actors/contract/definition.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { contractsOf, judgeMigration, type OldContracts } from "../../../actors/kernel/migrate.ts";
import {
  foldLedger,
  foldTurn,
  presentDefinition,
  stateFromJson,
  stateToJson,
} from "../../../actors/kernel/replay.ts";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { chainDigest, requestDigest } from "../../../actors/request/conversation.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentOf } from "../../../protocol/intent.ts";
import type { Turn } from "../../../protocol/turn.ts";
import {
  failed,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import {
  agentOf,
  call,
  chargeAsk,
  chargeModel,
  hold,
  look,
  release,
  send,
  sequence,
} from "../../support/workbench.ts";
import { agentOwn } from "../../support/own.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const refOf = ({ definition: { name, version, hash } }: SagaDefinition) => ({ name, version, hash });
const judge = (to: SagaDefinition, story: Story, old: OldContracts = contractsOf(story.definition)) =>
  atOnce(judgeMigration(to.definition, story.turns, old));
const whyNot = (to: SagaDefinition, story: Story, old?: OldContracts) => {
  const judged = judge(to, story, old);
  return judged.can ? "it can" : judged.obstacle;
};

/** What a move that can be made would leave. */
function movable(to: SagaDefinition, story: Story) {
  const judged = judge(to, story);
  if (!judged.can) throw new Error(judged.obstacle.why);
  return judged;
}

/** The digest of an agent's first request, as `asking` was told, if it is made at this time. */
const firstRequest = ({ definition }: SagaDefinition, at: number) =>
  requestDigest(agentOwn(definition).frameDigest, 1, at, asking.messages.slice(0, 1).reduce(chainDigest, ""));

/** The ledger with the turn that records the move, as a host makes it, and what that turn decided. */
function moved(story: Story, to: SagaDefinition, ...before: SagaDefinition[]): readonly Turn[] {
  const judged = movable(to, story);
  const from = before[0] === undefined ? presentDefinition(story.turns) : refOf(before[0]);
  const event: Event = {
    type: "migrated",
    from,
    to: refOf(to),
    id: "m1",
    by: "ada",
    sentAt: story.state.updatedAt,
  };
  const at = story.state.updatedAt + 1_000;
  const decided = decideTurn(to.definition, judged.state, { saga: judged.state.saga, at, events: [event] });
  const last = story.turns.at(-1)!;
  return [...story.turns, { ...last, turn: last.turn + 1, at, prev: "x", steps: decided.steps }];
}

const noContracts: OldContracts = { tool: () => undefined, child: () => undefined };
const v1 = agentOf();
const asking = given(v1, started({ of: "x" }));
const holding = given(v1, started({ of: "x" }), replied({ calls: [call("hold")] }));
const waiting = given(
  v1,
  started({ of: "x" }),
  replied({ calls: [call("hold")] }),
  succeeded("hold", { id: "1" }),
  replied({ calls: [call("wait", { signals: ["note"] })] }),
);

const wider = defineTool({
  ...{ name: "widen", description: "New.", effect: "read", input: z.object({}), output: z.json() },
});

describe("judgeMigration", () => {
  test("another prompt, another order and one tool more move a sleeping agent; its requests would have differed", () => {
    const v2 = agentOf({
      version: 2,
      instructions: "Help kindly.",
      model: "another",
      tools: [wider, chargeAsk, chargeModel, send, hold, look],
    });
    expect(v2.definition.hash).not.toBe(v1.definition.hash);
    const { requestsDiffer, state } = movable(v2, waiting);
    expect(requestsDiffer).toBe(2);
    expect(state.open).toEqual({});
  });

  test("a tool that was never called may go, and one that was may not: the turn is named", () => {
    expect(judge(agentOf({ tools: [hold] }), waiting).can).toBe(true);
    expect(whyNot(agentOf({ tools: [look] }), waiting)).toMatchObject({
      turn: 2,
      why: expect.stringContaining('"hold" was called, which the new definition does not have'),
      expected: { kind: "tool", name: "hold" },
    });
  });

  test("an open call keeps its effect class and its schemas, or the saga stays", () => {
    const changed = (change: Partial<Parameters<typeof defineTool>[0]>) =>
      agentOf({ tools: [defineTool({ ...hold, ...change } as never)] });
    expect(judge(changed({}), holding).can).toBe(true);
    expect(judge(changed({ description: "Holds it." }), holding).can).toBe(true);
    expect(whyNot(changed({ effect: "once", onDoubt: "model" } as never), holding)).toEqual({
      turn: 0,
      why: "hold (2-0) is open, and its effect changed",
    });
    expect(whyNot(changed({ output: z.object({ id: z.string(), at: z.number() }) }), holding)).toMatchObject({
      why: "hold (2-0) is open, and its output changed",
    });
    expect(whyNot(changed({}), holding, noContracts)).toMatchObject({
      why: expect.stringContaining("its contract is not known any more"),
    });
  });

  test("an open call stays under the contract it was made under, and what is over is no obstacle", () => {
    const wider = defineTool({
      ...hold,
      input: z.object({ of: z.string(), by: z.string().optional() }),
    } as never);
    expect(whyNot(agentOf({ tools: [wider] }), holding)).toMatchObject({
      why: "hold (2-0) is open, and its input changed",
    });
    expect(judge(agentOf({ tools: [wider] }), waiting).can).toBe(true);
    const [, ...rest] = moved(waiting, agentOf({ tools: [wider] }));
    expect(rest[0]?.steps[0]?.intents).toMatchObject([{ kind: "tool", contract: contractDigest(hold) }]);
    const raised = defineTool({ ...hold, version: 2 } as never);
    expect(whyNot(agentOf({ tools: [raised] }), holding)).toMatchObject({
      why: "hold (2-0) is open, and its version changed",
    });
    const undone = defineTool({
      ...hold,
      compensation: { tool: { ...release, version: 2 }, input: ({ key }: { key: string }) => ({ key }) },
    } as never);
    expect(whyNot(agentOf({ tools: [undone] }), holding)).toMatchObject({
      why: "hold (2-0) is open, and its compensation changed",
    });
    expect(whyNot(agentOf({ tools: [undone] }), waiting)).toMatchObject({
      why: "hold (2-0) stands, and what undoes it changed",
    });
  });

  test("a call that people are asked about keeps its contract, or the saga stays; one they have answered need not", () => {
    const paying = (version: number) =>
      defineTool({
        ...{ name: "pay", description: "Pays.", effect: "once", version },
        ...{
          input: z.object({ of: z.string() }),
          output: z.json(),
          approval: { by: ["ann"], withinMs: 1_000, otherwise: "deny" },
        },
        compensation: "point_of_no_return",
      });
    const asked = given(
      agentOf({ tools: [paying(1)] }),
      started({ of: "x" }),
      replied({ calls: [call("pay")] }),
    );
    expect(judge(agentOf({ tools: [paying(1)], instructions: "Other." }), asked).can).toBe(true);
    expect(whyNot(agentOf({ tools: [paying(2)] }), asked)).toMatchObject({
      why: expect.stringMatching(/^people are asked about pay \(\S+\), and its contract changed$/),
    });
    const paid = asked
      .when(voted("1.0", "approve", { by: "ann" }))
      .when(succeeded("1.0", { paid: true }))
      .when(replied({ calls: [call("wait", { signals: ["note"] })] }));
    expect(judge(agentOf({ tools: [paying(2)] }), paid).can).toBe(true);
  });

  test("what stands keeps what undoes it, and a success that the new schema cannot read is no success", () => {
    const bare = defineTool({ ...hold, compensation: "point_of_no_return" } as never);
    expect(whyNot(agentOf({ tools: [bare] }), waiting)).toMatchObject({
      why: "hold (2-0) stands, and what undoes it changed",
    });
    const stricter = defineTool({ ...hold, output: z.object({ id: z.string().min(5) }) } as never);
    expect(whyNot(agentOf({ tools: [stricter] }), waiting)).toMatchObject({
      turn: 3,
      why: "what hold gave does not fit the output of the new definition's",
    });
  });

  test("an input or a kept signal that the new schemas refuse keeps the saga where it is", () => {
    const other = agentOf({ input: z.object({ of: z.string(), by: z.string() }) });
    expect(whyNot(other, waiting)).toMatchObject({ turn: 1, why: expect.stringContaining("INPUT_INVALID") });
    const machine = (signals: Record<string, z.ZodType>, go: string) =>
      defineSaga({
        ...{ name: "doors", version: 1, input: z.json(), output: z.json(), signals },
        whenEarly: "keep",
        machine: setup({}).createMachine({
          id: "doors",
          initial: "shut",
          states: { shut: { on: { [go]: "open" } }, open: { on: { late: "done" } }, done: { type: "final" } },
        }) as never,
      });
    const old = machine({ go: z.null(), late: z.json() }, "go");
    const kept = given(old, started({}), signalled("late", 5));
    expect(kept.state.kept).toHaveLength(1);
    expect(judge(machine({ go: z.null(), late: z.number() }, "go"), kept).can).toBe(true);
    expect(whyNot(machine({ go: z.null(), late: z.string() }, "go"), kept)).toMatchObject({
      turn: 2,
      why: expect.stringContaining("signal"),
    });
  });

  test("a machine whose state has another name goes on in it; one that decides otherwise stays", () => {
    const booking = (version: number, rests: string, ms: number) =>
      defineSaga({
        ...{ name: "booking", version, input: z.json(), output: z.json(), signals: { go: z.null() } },
        machine: setup({ actors: toActors({ hold }) }).createMachine({
          id: "booking",
          initial: "holding",
          states: {
            holding: { invoke: { src: "hold", input: { of: "x" }, onDone: rests } },
            [rests]: { after: { [ms]: "done" }, on: { go: "done" } },
            done: { type: "final" },
          },
        }) as never,
      });
    const story = given(booking(1, "resting", 1_000), started({}), succeeded("hold", { id: "1" }));
    const renamed = booking(2, "asleep", 1_000);
    expect(movable(renamed, story).state.snapshot.value).toBe("asleep");
    expect(whyNot(booking(2, "resting", 2_000), story)).toMatchObject({
      turn: 2,
      why: "a timer was decided; the new definition decides it with another dueAt",
    });
    expect(
      whyNot(sequence(hold, look), given(sequence(hold), started({}), succeeded("hold", { id: "1" }))),
    ).toMatchObject({
      turn: 2,
      why: expect.stringMatching(/nothing more was decided there; sequence would decide a call of look/),
    });
  });

  test("an effect in doubt keeps its tool's contract, and its human's task", () => {
    const doubtful = given(
      v1,
      started({ of: "x" }),
      replied({ calls: [call("charge_ask")] }),
      inDoubt("charge_ask"),
    );
    expect(judge(agentOf({ instructions: "Other." }), doubtful).can).toBe(true);
    const otherwise = defineTool({ ...chargeAsk, onDoubt: "model" } as never);
    expect(judge(agentOf({ tools: [hold, otherwise] }), doubtful).can).toBe(false);
  });

  test("a budget that would have refused a decision keeps the saga; the prompt's length alone does not", () => {
    const bounded = (tokens: number, instructions: string) => agentOf({ budget: { tokens }, instructions });
    const turns = [
      started({ of: "x" }),
      replied({ calls: [call("hold")] }),
      failed("hold", { retry: false }),
    ];
    const story = given(bounded(200_000, "Help."), ...turns);
    expect(judge(bounded(200_000, "Help. ".repeat(50)), story).can).toBe(true);
    expect(judge(bounded(3_000, "Help."), story).can).toBe(false);
  });
});

describe("a ledger that was moved", () => {
  const v2 = agentOf({ version: 2, instructions: "Help kindly.", tools: [wider, hold] });

  test("belongs to the new definition: it folds under that one, and no longer under the old one", () => {
    const turns = moved(waiting, v2);
    expect(presentDefinition(turns)).toEqual(refOf(v2));
    expect(foldLedger(v2.definition, turns).state.definition).toEqual(refOf(v2));
    expect(atOnce(judgeMigration(v2.definition, turns, contractsOf(v1.definition)))).toMatchObject({
      ...{ can: true, requestsDiffer: 0 },
    });
    expect(foldLedger(v1.definition, turns.slice(0, -1)).state.definition).toEqual(refOf(v1));
    const after = given(v2, started({ of: "x" })).turns[0]!;
    expect(() => foldTurn(v2.definition, undefined, turns[0]!)).toThrow(/FOLD_DIVERGED/);
    expect(() => foldTurn(v2.definition, undefined, after)).not.toThrow();
  });

  test("asks an open decision anew, with the new frame's digest, and closes the old one", () => {
    const turns = moved(asking, v2);
    const [step] = turns.at(-1)!.steps;
    expect(step!.intents).toMatchObject([{ kind: "model", id: "2-0" }]);
    const { state } = foldLedger(v2.definition, turns);
    expect(Object.keys(state.open)).toEqual(["2-0"]);
    expect(state.actors).toEqual({ decision: "2-0" });
    expect(state.unpaid).toEqual(["1-0"]);
    const [before] = turns[0]!.steps[0]!.intents as IntentOf<"model">[];
    const [asked] = step!.intents as IntentOf<"model">[];
    expect(before!.request).toBe(firstRequest(v1, turns[0]!.at));
    expect(asked!.request).toBe(firstRequest(v2, turns.at(-1)!.at));
    expect(asked!.request).not.toBe(before!.request);
  });

  test("is known to have taken the signal, after a snapshot too, and may be moved again", () => {
    const turns = moved(holding, v2);
    const { state } = foldLedger(v2.definition, turns);
    expect(Object.keys(state.seen)).toContain("signal:m1");
    expect(stateFromJson(v2.definition, stateToJson(v2.definition, state)).definition).toEqual(refOf(v2));
    const v3 = agentOf({ version: 3, instructions: "Help at once.", tools: [hold, look] });
    const story = { ...holding, turns, definition: v2.definition, state } as unknown as Story;
    const twice = moved(story, v3, v2);
    expect(foldLedger(v3.definition, twice).state.definition).toEqual(refOf(v3));
    const events = succeeded("2-0", { id: "1" });
    const event = typeof events === "function" ? events(story) : events;
    const last = foldLedger(v3.definition, twice).state;
    const decided = decideTurn(v3.definition, last, { saga: last.saga, at: last.updatedAt, events: [event] });
    expect(decided.steps[0]?.intents).toMatchObject([{ kind: "model" }]);
  });

  test("a machine's open call of a model is asked anew as well", () => {
    const caller = (instructions: string) =>
      defineSaga({
        ...{ name: "caller", version: 1, input: z.json(), output: z.json(), signals: {} },
        machine: setup({
          types: { context: {} as { said: unknown } },
          actors: toActors({
            judge: {
              ...{ kind: "model", name: "modelCall", model: "scripted", instructions },
              input: z.object({ prompt: z.string() }),
              output: z.string(),
            } as never,
          }),
        }).createMachine({
          ...{ id: "caller", initial: "asking", context: { said: null } },
          states: {
            asking: {
              invoke: {
                src: "judge",
                input: { prompt: "?" },
                onDone: {
                  target: "done",
                  actions: assign({ said: ({ event }: { event: unknown }) => event }),
                },
              },
            },
            done: { type: "final" },
          },
        } as never) as never,
      });
    const turns = moved(given(caller("Judge."), started({})), caller("Judge mildly."));
    const intents = turns.flatMap(({ steps }) => steps.flatMap((step) => step.intents));
    expect(intents).toMatchObject([
      { kind: "model", id: "1-0", input: { prompt: "?" } },
      { kind: "model", id: "2-0", input: { prompt: "?" } },
    ]);
    expect((intents[0] as { request: string }).request).not.toBe((intents[1] as { request: string }).request);
  });

  test("a paused saga that asks a model is not moved", () => {
    const paused = asking.when(signalled("pause", {}));
    expect(whyNot(v2, paused)).toMatchObject({ why: expect.stringContaining("resume it first") });
    expect(judge(v2, waiting.when(signalled("pause", {}))).can).toBe(true);
  });

  test("a signal migrate that reaches the door is known for the saga's own definition, else refused", () => {
    waiting.when(signalled("migrate", { definition: refOf(v1) })).thenNotTaken("known");
    waiting.when(signalled("migrate", { definition: refOf(v2) })).thenRefused("MIGRATION_REFUSED");
  });
});
