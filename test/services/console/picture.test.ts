/**
 * Goal: a child's graph is drawn in its parent's box where somebody opened it, as it was at that moment, and no ledger is read for a
 * child that nobody opened.
 * Method: a chief, its clerks and their runners on a test mesh; any of them opened, in any order; what is read is noted.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, defineApp } from "sagamesh";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { GraphPicture, PlacedNode } from "../../../services/console/documents.ts";
import { pictureOf } from "../../../services/console/picture.ts";

const parts = {
  version: 1,
  description: "Works.",
  instructions: "Work.",
  input: z.object({}),
  output: z.json(),
  signals: {},
};
const runner = defineAgent({ ...parts, name: "runner", model: "runner", tools: [] });
const clerk = defineAgent({ ...parts, name: "clerk", model: "clerk", tools: [], agents: [runner] });
const chief = defineAgent({ ...parts, name: "chief", model: "chief", tools: [], agents: [clerk] });
const finish = { calls: [{ tool: "finish", input: { output: "done" } }] };
const sends = (who: string, times: number) => ({
  calls: Array.from({ length: times }, () => ({ tool: who, input: {} })),
});
const clerks = 14;
const app = defineApp({
  sagas: [chief],
  models: {
    chief: scriptedModel("chief", ({ step }) => (step === 1 ? sends("clerk", clerks) : finish)),
    clerk: scriptedModel("clerk", ({ step }) => (step === 1 ? sends("runner", 1) : finish)),
    runner: scriptedModel("runner", () => finish),
  },
});

/** All ledgers of the tree. */
async function ledgersOf(): Promise<ReadonlyMap<string, readonly Turn[]>> {
  await using t = testMesh(app);
  await (await t.start(chief, {}, { id: "chief-1" })).result();
  const ledgers = new Map<string, readonly Turn[]>();
  const left = ["chief-1"];
  for (let saga = left.pop(); saga !== undefined; saga = left.pop()) {
    const turns = await t.anySaga(saga).ledger();
    ledgers.set(saga, turns);
    left.push(...childrenOf(turns));
  }
  return ledgers;
}
const childrenOf = (turns: readonly Turn[]): string[] =>
  turns.flatMap(({ steps }) =>
    steps.flatMap(({ intents }) => intents.flatMap((one) => (one.kind === "saga" ? [one.saga] : []))),
  );

const ledgers = await ledgersOf();
const below = [...ledgers.keys()].filter((saga) => saga !== "chief-1");

/** `later`: so much later children began, milliseconds; `lost`: a ledger that is gone. */
async function draw(open: readonly string[], turn?: number, { later = 0, lost = "" } = {}) {
  const read: string[] = [];
  const turns = async (saga: SagaId, upTo?: number) => {
    read.push(saga);
    const all = ledgers.get(saga)?.map((one) => (saga === "chief-1" ? one : { ...one, at: one.at + later }));
    if (all === undefined || saga === lost) throw new MeshError("SAGA_ARCHIVED", `${saga} was archived`);
    return { turns: all.slice(0, upTo), of: all.length, viewing: {} };
  };
  const picture = await pictureOf(
    { turns },
    { saga: "chief-1" as SagaId, turn, open: new Set(open) },
    undefined,
  );
  return { picture, read };
}

/** Every node that has a graph in it, with those in it. */
const opened = ({ nodes }: GraphPicture): PlacedNode[] =>
  nodes.flatMap((node) => (node.inside === undefined ? [] : [node, ...opened(node.inside)]));

test(
  "what is drawn and read are the open children whose parents are open, and no others",
  { timeout: 60_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray(below, { maxLength: 8 }), async (open) => {
        const { picture, read } = await draw(open);
        const reachable = (saga: string): string[] =>
          childrenOf(ledgers.get(saga) ?? []).flatMap((child) =>
            open.includes(child) ? [child, ...reachable(child)] : [],
          );
        const expected = reachable("chief-1");
        expect(
          opened(picture)
            .map(({ saga }) => saga)
            .sort(),
        ).toEqual(expected.toSorted());
        expect(read.sort()).toEqual(["chief-1", ...expected].sort());
      }),
      { numRuns: 20 },
    );
  },
);

test("a graph in a box fits into it, and the boxes around it make room", async () => {
  const { picture } = await draw(below.slice(0, 6));
  const faults = [picture, ...opened(picture).map(({ inside }) => inside!)].flatMap(({ nodes }) =>
    nodes.flatMap((one, k) => [
      ...(one.inside !== undefined && (one.inside.width > one.width || one.inside.height > one.height)
        ? [`${one.id} is too small`]
        : []),
      ...nodes
        .slice(k + 1)
        .filter(
          (other) =>
            Math.abs(one.x - other.x) * 2 < one.width + other.width &&
            Math.abs(one.y - other.y) * 2 < one.height + other.height,
        )
        .map((other) => `${one.id} on ${other.id}`),
    ]),
  );
  expect(faults).toEqual([]);
  expect(opened(picture).length).toBeGreaterThan(0);
});

test("as of a turn a child is as it was then, and one that had not begun says so", async () => {
  const turns = ledgers.get("chief-1")!;
  for (const { turn, at } of turns) {
    const { picture } = await draw(below.slice(0, 4), turn);
    for (const { inside } of opened(picture))
      expect(
        inside!.nodes.filter((node) => node.at > at),
        `turn ${turn}`,
      ).toEqual([]);
  }
  const begun = turns.find((turn) => childrenOf([turn]).length > 0)!;
  const { picture } = await draw(childrenOf([begun]).slice(0, 1), begun.turn, { later: 3_600_000 });
  expect(opened(picture)).toEqual([]);
  expect(picture.nodes.flatMap(({ closed }) => closed ?? [])).toEqual(["it had not begun then"]);
});

test("more than a dozen at once, and one that cannot be read, say so in their boxes", async () => {
  const children = childrenOf(ledgers.get("chief-1")!);
  expect(children).toHaveLength(clerks);
  const { picture, read } = await draw(children);
  expect(opened(picture)).toHaveLength(12);
  expect(read).toHaveLength(13);
  const closed = picture.nodes.flatMap((node) => node.closed ?? []);
  expect(closed).toEqual(Array.from({ length: 2 }, () => "12 children are open: close one"));
  const gone = await draw(children.slice(0, 2), undefined, { lost: children[0]! });
  expect(gone.picture.nodes.flatMap((node) => node.closed ?? [])).toEqual([
    expect.stringContaining("was archived"),
  ]);
});
