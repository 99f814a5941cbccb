/**
 * Goal: the graph of a saga is what its ledger says, edge by edge; its pictures hold it whole, stay legible and take no
 * order from what a model wrote.
 * Method: ledgers of the examples, crashes and people included, and random stories; pictures are read back.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { GraphDocument } from "../../../../protocol/documents/graph.ts";
import { type Graph, graphOf } from "../../../../services/views/graph/graph.ts";
import { legible, nodesLegible } from "../../../../services/views/graph/collapse.ts";
import { mermaidOf } from "../../../../services/views/graph/mermaid.ts";
import { svgOf } from "../../../../services/views/graph/svg.ts";
import { textOf } from "../../../../services/views/graph/text.ts";
import { failed, given, replied, signalled, started, succeeded } from "../../../../services/testing/given.ts";
import { storyWith } from "../../../support/story.ts";
import { type ToldLedger, toldLedgers } from "../../../support/told-ledgers.ts";
import { agentOf, call, calling, finish, hold, sequence } from "../../../support/workbench.ts";
import { atOnce } from "../../../../services/wire/loop.ts";

let ledgers: Readonly<Record<string, ToldLedger>>;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // The examples' outside world speaks there.
  ledgers = await toldLedgers();
  vi.restoreAllMocks();
});

const graphNamed = (name: string): Graph => atOnce(graphOf(ledgers[name]?.turns ?? []));
/** Edges as `to reason from`, by what a person would call them. */
function facts(graph: Graph): string[] {
  const names = new Map(graph.nodes.map((node) => [node.id, `${node.kind} ${node.label}`]));
  return graph.edges.map(({ from, to, reason }) => `${names.get(to)} | ${reason} | ${names.get(from)}`);
}
const nodesOf = (graph: Graph, label: string) => graph.nodes.filter((node) => node.label === label);

describe("the graph of an example", () => {
  test("shows who approved a call, on which task after which", () => {
    expect(facts(graphNamed("edited purchase"))).toEqual(
      expect.arrayContaining([
        "task approval | decided by | decision decision 1",
        "task approval | follows | task approval",
        "tool pay | decided by | decision decision 1",
        "tool pay | approved by | task approval",
        "timer timer | serves | task approval",
        "decision decision 2 | answered by | tool pay",
        "end completed | decided by | decision decision 2",
      ]),
    );
    const approvals = nodesOf(graphNamed("edited purchase"), "approval");
    expect(approvals.map(({ status }) => status)).toEqual(["superseded", "superseded", "succeeded"]);
  });

  test("tells the decision of a denied approval, and has no payment", () => {
    const graph = graphNamed("denied purchase");
    expect(facts(graph)).toContain("decision decision 2 | answered by | task approval");
    expect(nodesOf(graph, "pay")).toEqual([]);
    expect(nodesOf(graph, "approval")[0]?.status).toBe("denied");
  });

  test("shows what was undone, by what, and what it was decided on", () => {
    const graph = graphNamed("undone trip");
    expect(facts(graph)).toEqual(
      expect.arrayContaining([
        "tool book_hotel | decided on | tool book_flight",
        "compensation cancel_booking | decided on | tool book_car",
        "compensation cancel_booking | undoes | tool book_hotel",
        "compensation cancel_booking | undoes | tool book_flight",
      ]),
    );
    expect(graph.nodes.filter(({ kind }) => kind === "tool").map(({ status }) => status)).toEqual([
      "undone",
      "undone",
      "failed",
    ]);
  });

  test("shows a parallel batch, a refusal, a wait and the undoing that a model asked for", () => {
    const graph = graphNamed("waited dinner");
    expect(facts(graph)).toEqual(
      expect.arrayContaining([
        "tool hold_table | decided by | decision decision 1",
        "denied pay_deposit | decided by | decision decision 1",
        "decision decision 2 | answered by | denied pay_deposit",
        "decision decision 2 | answered by | tool hold_table",
        "timer timer | awaited by | decision decision 2",
        "decision decision 3 | answered by | timer timer",
        "compensation free_table | undoes | tool hold_table",
        "compensation free_table | decided by | decision decision 3",
      ]),
    );
    const batch = graph.edges.filter((edge) => edge.batch === "1-0").map(({ to }) => to);
    expect(batch).toEqual(["2-0", "2-1"]);
    expect(textOf(graph)).toContain("decided by 1-0 decision 1, beside 2-1");
  });

  test("shows a signal as from outside, and the decision it superseded", () => {
    const graph = graphNamed("doubtful helper");
    expect(facts(graph)).toEqual(
      expect.arrayContaining([
        "decision decision 1 | told of | start helper@1",
        "decision decision 2 | told of | signal note",
        "decision decision 2 | supersedes | decision decision 1",
        "task doubt | asks about | tool charge_ask",
        "decision decision 3 | answered by | task doubt",
      ]),
    );
  });

  test("shows sub-agents by their sagas", () => {
    const children = graphNamed("research lead").nodes.filter(({ kind }) => kind === "child");
    expect(children.map(({ status }) => status).sort()).toEqual(["failed", "succeeded", "succeeded"]);
    for (const { saga, detail } of children) expect(detail).toBe(saga);
  });

  test("of a fork shows where it left, and the decision that it asked anew under the same number", () => {
    const graph = graphNamed("forked dinner");
    expect(facts(graph)).toEqual(
      expect.arrayContaining([
        "decision decision 2 | told of | fork effects simulated",
        "decision decision 2 | supersedes | decision decision 2",
        "decision decision 2 | answered by | tool hold_table",
      ]),
    );
    expect(nodesOf(graph, "decision 2").map(({ status }) => status)).toEqual(["superseded", "succeeded"]);
    expect(nodesOf(graph, "decision 3")).toHaveLength(1);
  });

  test("of its first turns is a beginning of the graph of all", () => {
    const { turns = [] } = ledgers["waited dinner"] ?? {};
    const whole = atOnce(graphOf(turns));
    for (let n = 1; n <= turns.length; n++) {
      const part = atOnce(graphOf(turns.slice(0, n)));
      expect(whole.nodes.map(({ id }) => id).slice(0, part.nodes.length)).toEqual(
        part.nodes.map(({ id }) => id),
      );
    }
  });
});

test("an agent that a signal reaches while it waits for it shows what it waited for", () => {
  const { turns } = given(
    agentOf(),
    started({ of: "x" }),
    replied({ calls: [call("wait", { signals: ["note"] })] }),
    signalled("hint", null),
    signalled("note", { text: "now" }),
  );
  expect(facts(atOnce(graphOf(turns))).filter((fact) => fact.includes("awaited"))).toEqual([
    "signal note | awaited by | decision decision 1",
  ]);
});

test("a retry is an attempt of its node, and a machine that is refused goes on from the refusal", () => {
  const again = given(calling(hold), started({ of: "x" }), failed("hold", { code: "DOWN", reason: "down" }));
  expect(nodesOf(atOnce(graphOf(again.turns)), "hold")).toMatchObject([{ attempts: 2, status: "open" }]);
  const deny = { name: "no", judge: () => ({ deny: "no" }) };
  const refused = given(calling(hold, { policies: [deny] }), started({ of: "x" }));
  expect(facts(atOnce(graphOf(refused.turns)))).toEqual([
    "denied hold | decided on | start calling@1",
    "end failed | decided on | denied hold",
  ]);
});

/** What a graph must be, whatever the ledger. */
function assertWhole(graph: Graph, turns: ToldLedger["turns"]): void {
  expect(GraphDocument.parse(graph)).toEqual(graph);
  const order = new Map(graph.nodes.map(({ id }, k) => [id, k]));
  expect(order.size).toBe(graph.nodes.length);
  for (const { from, to } of graph.edges) expect(order.get(from)).toBeLessThan(order.get(to) ?? -1);
  const intents = turns.flatMap(({ steps }) => steps.flatMap((step) => step.intents));
  for (const intent of intents) expect(order.has(intent.id)).toBe(true);
  const reached = new Set(graph.edges.map(({ to }) => to));
  for (const { id, kind } of graph.nodes)
    if (!["start", "signal", "fork"].includes(kind)) expect(reached, `${id} has a reason`).toContain(id);
}

describe("every graph", () => {
  test("of the examples is whole: each intent has its node and a reason, and each edge leads forward", () => {
    for (const { turns } of Object.values(ledgers)) assertWhole(atOnce(graphOf(turns)), turns);
  });

  const happening = fc.constantFrom(
    signalled("note", { text: "a" }),
    signalled("cancel"),
    signalled("pause"),
    signalled("resume"),
    signalled("flagged", "bad"),
    signalled("rate_limited", 1_000),
  );
  const reply = fc.constantFrom(
    replied({ calls: [call("hold"), call("look")] }),
    replied({ calls: [call("wait", { forMs: 5_000 })] }),
    replied({ calls: [call("ask", { question: "really?" })] }),
    replied({ calls: [call("nothing_of_the_kind")] }),
    replied({ text: "hm" }),
    replied(finish),
  );
  test("of a random story is whole", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(happening, reply), { maxLength: 7 }), (past) => {
        const story = storyWith(given(agentOf({ whenFlagged: "pause" }), started({ of: "x" })), past);
        assertWhole(atOnce(graphOf(story.turns)), story.turns);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a long saga", () => {
  test("is laid together where it repeats, and says how often", () => {
    const whole = graphNamed("long helper");
    const drawn = legible(whole);
    expect(whole.nodes.length).toBeGreaterThan(2 * nodesLegible);
    expect(drawn.nodes.length).toBeLessThan(nodesLegible);
    const [repeat] = drawn.nodes.filter(({ kind }) => kind === "repeat");
    expect(repeat?.detail).toBe("decision, look");
    const told = drawn.nodes.filter(({ label }) => label === "look").length + (repeat?.times ?? 0);
    expect(told).toBe(70);
    const ids = new Set(drawn.nodes.map(({ id }) => id));
    expect(drawn.edges.filter(({ from, to }) => !ids.has(from) || !ids.has(to))).toEqual([]);
  });

  test("keeps what stands out", () => {
    const odd = [...Array(60).keys()].flatMap((k) => [
      replied({ calls: [call("look", { of: `${k}` })] }),
      k === 30 ? failed("look", { code: "BROKEN", reason: "odd", retry: false }) : succeeded("look", 1),
    ]);
    const { turns } = given(agentOf(), started({ of: "x" }), ...odd);
    const drawn = legible(atOnce(graphOf(turns)));
    expect(drawn.nodes.filter(({ status }) => status === "failed")).toHaveLength(1);
    expect(drawn.nodes.filter(({ kind }) => kind === "repeat")).toHaveLength(2);
  });
});

const hostile = `"]--> x\`\n%%{init}%% </text><script>alert(1)</script> & 'é\u0000\u001b[2J\ud800`;

/** Graphs of hostile words: what a model calls, what it is told and what is answered. */
const hostileGraph = (): Graph => {
  const { turns } = given(
    agentOf(),
    started({ of: hostile }),
    replied({ calls: [call(hostile, { of: hostile }), call("look", { of: hostile })] }),
    signalled("note", { text: hostile }, { from: hostile }),
  );
  return atOnce(graphOf(turns));
};

describe("a picture", () => {
  test("in Mermaid is nothing but nodes, edges and styles, whatever is in it", () => {
    const graph = hostileGraph();
    for (const each of [
      graph,
      ...Object.values(ledgers).map(({ turns }) => legible(atOnce(graphOf(turns)))),
    ]) {
      const [head, ...lines] = mermaidOf(each).trimEnd().split("\n");
      expect(head).toBe("flowchart TD");
      const label = String.raw`"(?:[\p{L}\p{N} .,:_@…-]|#\d+;|<br/>)*"`;
      const node = new RegExp(String.raw`^  n\d+[(\[{>/]+${label}[)\]}/]+:::[a-z_]+$`, "u");
      const edge = /^ {2}n\d+ (-->|-\.->)\|"[a-z ]+"\| n\d+$/;
      const style = /^ {2}classDef [a-z_]+ fill:#\w+,stroke:#\w+$/;
      expect(lines.filter((line) => ![node, edge, style].some((form) => form.test(line)))).toEqual([]);
      expect(lines.filter((line) => node.test(line))).toHaveLength(each.nodes.length);
      expect(lines.filter((line) => edge.test(line))).toHaveLength(each.edges.length);
    }
  });

  test("in SVG is well-formed, holds only what was drawn, and asks for nothing outside", () => {
    for (const each of [
      hostileGraph(),
      ...Object.values(ledgers).map(({ turns }) => legible(atOnce(graphOf(turns)))),
    ]) {
      const svg = svgOf(each);
      expect(elementsOf(svg)).toMatchObject({ svg: 1, g: each.nodes.length, marker: 1, style: 1 });
      expect(Object.keys(elementsOf(svg)).sort()).toEqual(
        ["defs", "g", "marker", "path", "rect", "style", "svg", "text", "title"].sort(),
      );
      expect(svg.match(/class="edge"/g)?.length ?? 0).toBe(each.edges.length);
      expect(svg).not.toMatch(/href|url\((?!#tip\))|<script|javascript/);
      expect(svgOf(each)).toBe(svg);
    }
  });

  test("has no two boxes that overlap", () => {
    for (const { turns } of Object.values(ledgers)) {
      const boxes = [
        ...svgOf(legible(atOnce(graphOf(turns)))).matchAll(
          /<\/title><rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"/g,
        ),
      ];
      const all = boxes.map(([, ...sides]) => sides.map(Number));
      expect(all.length).toBeGreaterThan(1);
      const isApart = (
        [x = 0, y = 0, w = 0, h = 0]: readonly number[],
        [x2 = 0, y2 = 0, w2 = 0, h2 = 0]: readonly number[],
      ) => x >= x2 + w2 || x2 >= x + w || y >= y2 + h2 || y2 >= y + h;
      const overlapping = all.flatMap((one, k) => all.slice(k + 1).filter((other) => !isApart(one, other)));
      expect(overlapping).toEqual([]);
    }
  });

  test("as text moves no cursor", () => {
    expect(textOf(hostileGraph())).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

/** Reads XML without attributes' meaning: how many elements of each name. Throws if it is not well-formed. */
function elementsOf(xml: string): Record<string, number> {
  const counts: Record<string, number> = {};
  const open: string[] = [];
  const rest = xml.replaceAll(
    /<(\/?)([a-z]+)((?: [a-zA-Z-]+="[^"<&]*")*)(\/?)>/g,
    (_, closes: string, name: string, _attributes, empty: string) => {
      if (closes === "") counts[name] = (counts[name] ?? 0) + 1;
      if (closes !== "" && open.pop() !== name) throw new Error(`</${name}> closes nothing`);
      if (closes === "" && empty === "") open.push(name);
      return "";
    },
  );
  expect(open).toEqual([]);

  expect(rest.replaceAll(/&#\d+;/g, "")).not.toMatch(/[<>&\u0000-\u0008\u000b-\u001f\ufffe\uffff]/);
  return counts;
}

test("a machine's rounds are laid together, too", () => {
  const done = Array.from({ length: 80 }, () => succeeded("hold", { id: "1" }));
  const { turns } = given(sequence(...done.map(() => hold)), started({ of: "x" }), ...done);
  const drawn = legible(atOnce(graphOf(turns)));
  expect(drawn.nodes.length).toBeLessThan(10);
  expect(drawn.nodes.map(({ times = 0 }) => times).filter((times) => times > 0)).toHaveLength(1);
});
