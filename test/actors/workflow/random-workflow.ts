/**
 * Any workflow: random graphs whose nodes read each other, random happenings on the real kernel, each turn folded twice, and
 * an oracle that knows what must fall: conditions in two values, no order, and what each input says that it was made of.
 *
 * Its laws throw where they do not hold, in any process: planted.ts runs them on source in which a rule is broken.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { defineWorkflow, type NodeConfig } from "../../../actors/workflow/define.ts";
import { type App, defineApp } from "../../../services/app/app.ts";
import { stateOf } from "../../support/state-of.ts";
import { atOnce } from "../../../services/wire/loop.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { given, signalled, started, type Story } from "../../../services/testing/given.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Intent } from "../../../protocol/intent.ts";
import type { Condition } from "../../../protocol/workflow.ts";
import type { NodeState, WorkflowContext } from "../../../actors/workflow/spec.ts";

const drop = defineTool({
  ...{ name: "drop", description: "Undoes.", effect: "idempotent", input: z.json(), output: z.json() },
  retry: { attemptsMax: 1, backoffMs: 1 },
});
const tools = Array.from({ length: 7 }, (_, k) =>
  defineTool({
    ...{ name: `t${k}`, description: "Makes.", effect: "idempotent", input: z.json() },
    output: z.object({ price: z.number() }),
    retry: { attemptsMax: 1, backoffMs: 1 },
    compensation: { tool: drop, input: ({ key }) => ({ key }) },
  }),
);

/** A condition over the nodes before this one. */
const conditionOver = (count: number, depth = 2): fc.Arbitrary<Condition> => {
  const name = fc.nat(count - 1).map((k) => `n${k}`);
  const atom = fc.oneof(
    { weight: 4, arbitrary: name.map((node): Condition => ({ node })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(name, fc.nat(4))
        .map(([node, value]): Condition => ({ node, at: "/price", is: "atMost", value })),
    },
  );
  if (depth === 0) return atom;
  const parts = fc.array(conditionOver(count, depth - 1), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: 4, arbitrary: atom },
    { weight: 3, arbitrary: parts.map((all): Condition => ({ all })) },
    { weight: 3, arbitrary: parts.map((any): Condition => ({ any })) },
    { weight: 1, arbitrary: atom.map((not): Condition => ({ not })) },
  );
};

const graphs = fc
  .integer({ min: 2, max: 7 })
  .chain((size) =>
    fc.tuple(
      ...Array.from({ length: size }, (_, k) =>
        k === 0 ? fc.constant(undefined) : fc.option(conditionOver(k), { nil: undefined, freq: 5 }),
      ),
    ),
  );
/** What the input of each node reads, if it is there: of any other node, with an edge or without. */
const readings = fc.array(fc.array(fc.record({ of: fc.nat(6), asksOnly: fc.boolean() }), { maxLength: 2 }), {
  maxLength: 7,
});
type Readings = readonly (readonly { readonly of: number; readonly asksOnly: boolean }[])[];
/** What happens: each number chooses among what can happen then. */
const happenings = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 24 });

const workflowOf = (conditions: readonly (Condition | undefined)[], reads: Readings, more: object) =>
  defineWorkflow({
    ...{ name: "flow", version: 1, input: z.json(), openForMs: 1_000_000, ...more },
    nodes: Object.fromEntries(
      conditions.map((when, k): [string, NodeConfig] => [
        `n${k}`,
        {
          ...{ run: tools[k]!, input: inputOf(reads[k] ?? []) },
          ...(when === undefined ? {} : { when }),
        },
      ]),
    ),
  });

/** Each that was built upon, by its name. */
const inputOf =
  (reads: Readings[number]): NodeConfig["input"] =>
  ({ has, output }) =>
    Object.fromEntries(
      reads.flatMap(({ of, asksOnly }) => {
        const name = `n${of}`;
        return has(name) ? [[name, asksOnly ? true : output(name)] as const] : [];
      }),
    );

const nodesOf = (story: Story): Readonly<Record<string, NodeState>> =>
  (story.state.snapshot.context as WorkflowContext).nodes;

const resultFor = (intent: IntentId, price?: number): Event => ({
  ...{ type: "result", intent, attempt: 1, by: "test" },
  result:
    price === undefined
      ? { outcome: "failed", code: "FULL", reason: "full", retry: false }
      : { outcome: "succeeded", output: { price } },
});

const openTools = (story: Story): IntentId[] =>
  (story.state.phase.kind === "ended" ? [] : story.open).filter(
    (id) => story.state.open[id]?.intent.kind === "tool",
  );
const isUndoing = (story: Story, id: IntentId) => {
  const intent = story.state.open[id]?.intent;
  return intent?.kind === "tool" && intent.undoes !== undefined;
};

/** Lets everything that is open succeed until nothing moves, oldest or newest first. */
function drained(story: Story, newestFirst: boolean): Story {
  for (let turns = 0; turns < 200; turns++) {
    const open = openTools(story);
    const id = newestFirst ? open.at(-1) : open[0];
    if (id === undefined) return story;
    story = next(story, resultFor(id, 1));
  }
  throw new Error("it does not come to rest");
}

/** One thing happens. `may` says what besides results. */
function happen(
  story: Story,
  choice: number,
  may: { fail?: boolean; stick?: boolean; invalidate?: boolean; cancel?: boolean },
): Story {
  const open = openTools(story);
  const { phase } = story.state;
  if (phase.kind !== "running") return story;
  const names = Object.keys(nodesOf(story));
  const kind = choice % 12;
  const pick = Math.floor(choice / 12);
  if (kind === 0 && may.cancel === true) return next(story, signalled("cancel"));
  if (kind <= 3 && may.invalidate === true)
    return next(story, signalled("invalidate", { node: names[pick % names.length], reason: "gone" }));
  const id = open[pick % Math.max(1, open.length)];
  if (id === undefined) return story;
  const fails = kind === 4 && (isUndoing(story, id) ? may.stick : may.fail) === true;
  return next(story, resultFor(id, fails ? undefined : pick % 7));
}

interface Did {
  readonly call: string;
  readonly dependsOn: readonly string[];
  readonly id: IntentId;
  /** The runs that its input was made of. */
  readonly reads: readonly string[];
  committedTurn?: number;
  undoBegan?: number;
  undoneTurn?: number;
  undos: number;
  /** Its undoing failed. */
  isStuck?: true;
}

/** What the ledger says was done and undone, read off its events and intents alone. */
function didOf({ turns }: Story): Did[] {
  const did = new Map<string, Did>();
  const undoing = new Map<string, Did>();
  for (const { turn, steps } of turns)
    for (const { event, intents } of steps) {
      if (event.type === "result" && event.result.outcome === "succeeded") {
        const run = did.get(event.intent);
        if (run !== undefined) run.committedTurn = turn;
        const undone = undoing.get(event.intent);
        if (undone !== undefined) undone.undoneTurn = turn;
      }
      if (event.type === "result" && event.result.outcome === "failed") {
        const left = undoing.get(event.intent);
        if (left !== undefined) left.isStuck = true;
      }
      for (const intent of intents) takeIntent(intent, turn, did, undoing);
    }
  return [...did.values()];
}

function takeIntent(intent: Intent, turn: number, did: Map<string, Did>, undoing: Map<string, Did>): void {
  if (intent.kind !== "tool") return;
  if (intent.undoes === undefined) {
    const { id, call, dependsOn, input } = intent;
    const latest = (node: string) =>
      [...did.values()].findLast((run) => run.call.startsWith(`${node}.`))!.call;
    const reads = Object.keys(input!).map(latest);
    did.set(id, { id, call: call!, dependsOn: dependsOn!, reads, undos: 0 });
    return;
  }
  const undone = did.get(intent.undoes)!;
  undone.undos += 1;
  undone.undoBegan ??= turn;
  undoing.set(intent.id, undone);
}

/** Of every turn of a story: the calls that were being undone after it. */
const falling = new WeakMap<Story, ReadonlyMap<number, ReadonlySet<string>>>();

function next(story: Story, event: Parameters<Story["when"]>[0]): Story {
  const after = story.when(event);
  const calls = Object.values(nodesOf(after)).flatMap(({ status, call }) =>
    status === "undoing" ? (call ?? []) : [],
  );
  falling.set(after, new Map([...(falling.get(story) ?? []), [after.state.turn, new Set(calls)]]));
  return after;
}

/** Of two that fall together, what rests on the other is undone before the undoing of that begins. */
function expectOrder(story: Story): void {
  const did = didOf(story);
  for (const one of did) {
    assert(one.undos <= 1, `${one.call} is undone more than once`);
    if (one.undoBegan === undefined) continue;
    const together = falling.get(story)?.get(one.undoBegan);
    for (const other of did) {
      const rests = other.dependsOn.includes(one.call) || other.reads.includes(one.call);
      if (rests && other.undoBegan !== undefined && together?.has(other.call))
        assert(Number(other.undoneTurn) <= one.undoBegan, `${other.call} rests on ${one.call}`);
    }
  }
}

/** The oracle: a condition in two values, of the outputs of what stands. */
function holds(condition: Condition | undefined, standing: ReadonlyMap<string, number>): boolean {
  if (condition === undefined) return true;
  if ("all" in condition) return condition.all.every((part) => holds(part, standing));
  if ("any" in condition) return condition.any.some((part) => holds(part, standing));
  if ("not" in condition) return !holds(condition.not, standing);
  const price = standing.get(condition.node);
  return price !== undefined && (condition.is === undefined || price <= Number(condition.value));
}

const namesIn = (condition: Condition | undefined): string[] =>
  [...JSON.stringify(condition ?? null).matchAll(/"node":"(\w+)"/g)].map(([, name]) => name!);

/**
 * What falls with one node, asked of each node by itself: it is that one, or it read what falls, or something it names falls
 * and its condition does not hold of what is left. (Conditions hold `not`, so this is no least set; but no node names a
 * later one.) What itself rests on a node does not hold it.
 */
function fallsWith(
  gone: string,
  conditions: readonly (Condition | undefined)[],
  up: ReadonlySet<string>,
  committed: ReadonlyMap<string, number>,
  runs: ReadonlyMap<string, Did>,
): Set<string> {
  const restsOn = (other: string, name: string) =>
    runs.get(other)?.dependsOn.includes(runs.get(name)?.call ?? "") === true;
  const falls = (name: string): boolean => {
    if (name === gone) return true;
    if (!up.has(name)) return false;
    if (runs.get(name)?.reads.some((call) => falls(call.slice(0, call.indexOf(".")))) === true) return true;
    const condition = conditions[Number(name.slice(1))];
    const named = namesIn(condition).filter((other) => !restsOn(other, name));
    const left = new Map([...committed].filter(([other]) => named.includes(other) && !falls(other)));
    return named.some(falls) && !holds(condition, left);
  };
  return new Set([...up].filter(falls));
}

/** What the states say after some turns of a story, beside what was done and undone by then. */
function expectTold(app: App, turns: Story["turns"]): void {
  const did = didOf({ turns } as Story);
  const stands = did.filter(({ committedTurn, undoneTurn }) => committedTurn && !undoneTurn);
  const application = atOnce(stateOf(app, turns, "application"));
  const dependency = atOnce(stateOf(app, turns, "dependency"));
  assert(application.dimension === "application" && dependency.dimension === "dependency");
  assert.deepEqual(
    application.standing.map(({ intent }) => intent).sort(),
    stands.map(({ id }) => id).sort(),
  );
  for (const { intent, how, task } of application.standing) {
    const { isStuck, undoBegan } = stands.find(({ id }) => id === intent)!;
    if (isStuck === true) assert.equal(how, "stuck");
    else if (undoBegan !== undefined) assert.equal(how, "undoing");
    assert.equal(how === "stuck", task !== undefined);
  }
  const standing = new Set(stands.map(({ call }) => call));
  for (const { node, status } of dependency.nodes) {
    const latest = did.findLast(({ call }) => call.startsWith(`${node}.`));
    const isEntity = Object.hasOwn(application.entities, node);
    if (latest?.undoneTurn !== undefined)
      assert(["undone", "waiting", "failed", "skipped"].includes(status), status);
    if (isEntity) assert(standing.has(latest!.call), `${node} is told of and does not stand`);
    if (status === "committed")
      assert(isEntity && standing.has(latest!.call), `${node} stands and is not told of`);
  }
}

/** How often a law's runs are made, and whether what was found is made smaller. */
export interface Effort {
  readonly times: number;
  readonly shrinks: boolean;
}

const runs = (count: number, { times, shrinks }: Effort) => ({
  numRuns: count * times,
  endOnFailure: !shrinks,
});

/** What holds of any workflow, by its name. */
export const laws: Readonly<Record<string, (effort: Effort) => void>> = {
  "undoes each thing once and in reverse order of what rests on what, and ends with what it should": (
    effort,
  ) => {
    fc.assert(
      fc.property(
        graphs,
        readings,
        happenings,
        fc.boolean(),
        fc.boolean(),
        (conditions, reads, choices, replan, newestFirst) => {
          const flow = workflowOf(conditions, reads, { onFailure: replan ? "replan" : "end", replansMax: 2 });
          let story = given(flow, started({}));
          for (const choice of choices)
            story = happen(story, choice, { fail: true, invalidate: true, cancel: true });
          story = drained(story, newestFirst);
          if (story.state.phase.kind === "running") story = next(story, signalled("conclude"));
          expectOrder(story);
          const { phase } = story.state;
          assert.equal(phase.kind, "ended");
          const left = didOf(story).filter(({ committedTurn, undoneTurn }) => committedTurn && !undoneTurn);
          const committed = Object.values(nodesOf(story)).filter(({ status }) => status === "committed");
          if (phase.kind === "ended" && phase.ending.status === "completed")
            assert.deepEqual(left.map(({ call }) => call).sort(), committed.map(({ call }) => call).sort());
          else assert.deepEqual(left, []);
        },
      ),
      {
        ...runs(30, effort),
        // Cancelled while a first undoing runs: n2 is in flight, falls now, and rests on what that undoing undoes.
        examples: [
          [
            [
              undefined,
              { any: [{ node: "n0" }] },
              { any: [{ not: { node: "n0", at: "/price", is: "atMost", value: 0 } }] },
            ],
            [],
            [3125, 8212, 1693, 0],
            true,
            true,
          ],
        ],
      },
    );
  },

  "undoes exactly what falls with what is taken back, and nothing else": (effort) => {
    fc.assert(
      fc.property(graphs, readings, happenings, fc.nat(6), (conditions, reads, choices, which) => {
        const flow = workflowOf(conditions, reads, { onFailure: "replan", replansMax: 1 });
        let story = given(flow, started({}));
        for (const choice of choices) story = happen(story, choice, { fail: false });
        if (story.state.phase.kind !== "running") return;
        const before = nodesOf(story);
        const names = Object.keys(before);
        const gone = names[which % names.length]!;
        const of = (...statuses: string[]) => names.filter((name) => statuses.includes(before[name]!.status));
        if (!of("committed", "running").includes(gone)) return;
        const committed = new Map(
          of("committed").map((name) => [name, (before[name]!.output as { price: number }).price]),
        );
        const present = new Map(didOf(story).map((did) => [did.call, did]));
        const runsOf = new Map(names.map((name) => [name, present.get(before[name]!.call ?? "")!]));
        const up = new Set(of("committed", "running"));
        const expected = fallsWith(gone, conditions, up, committed, runsOf);
        const failures = Object.values(before).filter(({ status }) => status === "failed");
        assert.deepEqual(failures, []);
        story = next(story, signalled("invalidate", { node: gone, reason: "gone" }));
        const fell = names.filter((name) => nodesOf(story)[name]!.status === "undoing");
        assert.deepEqual(new Set(fell), expected);
        story = drained(story, false);
        const undone = didOf(story).filter(({ undos }) => undos > 0);
        const calls = new Set([...expected].map((name) => before[name]!.call));
        assert(undone.every(({ call }) => calls.has(call)));
        for (const name of of("committed"))
          assert.equal(
            undone.some(({ call }) => call === before[name]!.call),
            expected.has(name),
          );
        expectOrder(story);
      }),
      {
        ...runs(60, effort),
        // n3 began on n0, and n2, which would hold it as well, read n3.
        examples: [
          [
            [undefined, undefined, { node: "n1" }, { any: [{ node: "n0" }, { node: "n2" }] }],
            [[], [], [{ of: 3, asksOnly: false }]],
            [5, 17, 5],
            0,
          ],
        ],
      },
    );
  },

  "is told of two things at any two moments, and nothing is undone twice": (effort) => {
    fc.assert(
      fc.property(
        graphs,
        readings,
        happenings,
        fc.nat(6),
        fc.nat(6),
        fc.nat(12),
        (conditions, reads, choices, one, two, apart) => {
          const flow = workflowOf(conditions, reads, { onFailure: "replan", replansMax: 2 });
          let story = given(flow, started({}));
          for (const choice of choices) story = happen(story, choice, {});
          const names = Object.keys(nodesOf(story));
          const tell = (k: number) => {
            if (story.state.phase.kind === "running")
              story = next(story, signalled("invalidate", { node: names[k % names.length], reason: "gone" }));
          };
          tell(one);
          for (const choice of choices.slice(0, apart)) story = happen(story, choice, { fail: true });
          tell(two);
          story = drained(story, true);
          expectOrder(story);
        },
      ),
      runs(30, effort),
    );
  },

  "starts at once whatever is ready, so that nothing waits for what it does not rest on": (effort) => {
    fc.assert(
      fc.property(graphs, happenings, (conditions, choices) => {
        const flow = workflowOf(conditions, [], {});
        let story = given(flow, started({}));
        for (const choice of choices) {
          story = happen(story, choice, {});
          if (story.state.phase.kind !== "running") return;
          const nodes = nodesOf(story);
          const standing = new Map(
            Object.entries(nodes).flatMap(([name, { status, output }]) =>
              status === "committed" ? [[name, (output as { price: number }).price] as const] : [],
            ),
          );
          const isOpen = (name: string) => ["waiting", "running"].includes(nodes[name]!.status);
          for (const [k, condition] of conditions.entries()) {
            if (nodes[`n${k}`]!.status !== "waiting") continue;
            const open = Object.keys(nodes).filter(isOpen);
            // Whatever the open ones come to: if the condition holds in any case, the node should have begun.
            const worlds = 2 ** Math.min(open.length, 6);
            const always = Array.from({ length: worlds }, (_, world) =>
              holds(
                condition,
                new Map([
                  ...standing,
                  ...open.flatMap((name, bit) => ((world >> bit) & 1 ? [[name, 0] as const] : [])),
                ]),
              ),
            );
            const named = open.filter((name) => JSON.stringify(condition ?? null).includes(`"${name}"`));
            if (named.length === 0) assert(!always.every(Boolean), `n${k} waits for nothing`);
          }
        }
      }),
      runs(30, effort),
    );
  },
  "tells at every turn what stands, what is being undone and what is stuck": (effort) => {
    fc.assert(
      fc.property(graphs, readings, happenings, fc.boolean(), (conditions, reads, choices, replan) => {
        const flow = workflowOf(conditions, reads, { onFailure: replan ? "replan" : "end", replansMax: 2 });
        let story = given(flow, started({}));
        for (const choice of choices)
          story = happen(story, choice, { fail: true, stick: true, invalidate: true, cancel: true });
        const app = defineApp({ sagas: [flow] });
        for (let turn = 1; turn <= story.turns.length; turn++) expectTold(app, story.turns.slice(0, turn));
      }),
      runs(20, effort),
    );
  },
};
