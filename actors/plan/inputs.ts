/**
 * Plan inputs: whether what the nodes and edges of a plan are given is there when they begin, and is what they take.
 */
import type { Json } from "../../protocol/json.ts";
import { toJson } from "../../protocol/json.ts";
import {
  type Draft,
  edgeKey,
  type PlanCatalogue,
  type PlanFaultCode,
  type PlanFinding,
} from "../../protocol/documents/plan.ts";
import {
  asSchema,
  fault,
  misfitOf,
  type Offer,
  offerOf,
  outputOf,
  partOf,
  quoted,
  requiredOf,
  type SchemaPart,
  valueMisfit,
} from "./catalogue.ts";
import { type Reference, referenceOf, referencesIn, textOf } from "../values/reference.ts";
import { namedIn } from "../values/condition.ts";
import { certainIn, groundOf, needNotBe, startOf } from "../workflow/graph.ts";

/** What a reference stands for, as a schema; `uncertain`: of a node that need not have committed by then. */
type Find = (reference: Reference) => SchemaPart | "uncertain";

export function inputFindings(
  draft: Draft,
  catalogue: PlanCatalogue,
  rests: ReadonlyMap<string, readonly string[]>,
): PlanFinding[] {
  const { nodes, edges } = draft;
  const byName = new Map(nodes.map((node) => [node.name, node]));
  // No node has the name of an edge: ">" is in none.
  const certainOf = certainIn(
    new Map([
      ...nodes.map((node) => [node.name, { when: startOf(node, edges) }] as const),
      ...edges.map((edge) => [edgeKey(edge), { when: startOf({ name: edge.to }, [edge]) }] as const),
    ]),
  );
  const grounds = new Map(nodes.map(({ name }) => [name, groundOf({ restsOn: rests }, name)]));
  const isCyclic = [...grounds].some(([name, ground]) => ground.has(name)); // Told of the cycle; nothing is certain in one.
  const findFrom =
    (ground: ReadonlySet<string>, certain: ReadonlySet<string>): Find =>
    ({ of, name, pointer }) => {
      if (of === "input") return partOf(draft.input && toJson(draft.input), pointer);
      const node = of === "node" && ground.has(name) ? byName.get(name) : undefined;
      if (node === undefined) return "nothing";
      return isCyclic || certain.has(name) ? partOf(outputOf(catalogue, node), pointer) : "uncertain";
    };
  const judge = (at: string, find: Find, template: Json | undefined, run: string | undefined) => {
    const offer = run === undefined ? undefined : offerOf(catalogue, run);
    return templateFindings(`${at}/input`, template ?? { $ref: "input" }, offer?.input, find, {
      unknown: "name a part that is there, of the input or of a node on which it rests by an edge",
    });
  };
  return [
    ...nodes.flatMap(({ name, input, run }, k) =>
      judge(`/nodes/${k}`, findFrom(grounds.get(name) ?? new Set(), certainOf(name)), input, run),
    ),
    ...edges.flatMap((edge, k) => {
      const certain = certainOf(edgeKey(edge));
      const named = namedIn(startOf({ name: edge.to }, [edge]));
      const ground = new Set(named.flatMap((name) => [name, ...(grounds.get(name) ?? [])]));
      return judge(`/edges/${k}`, findFrom(ground, certain), edge.input, edge.run);
    }),
  ];
}

/** The same of a compensation, which is given what was done. */
export const undoFindings = (
  at: string,
  template: Json,
  undoing: Offer,
  done: Pick<Offer, "input" | "output">,
) =>
  templateFindings(
    at,
    template,
    undoing.input,
    ({ of, pointer }) => {
      if (of === "input" || of === "output") return partOf(done[of], pointer);
      return of === "key" || of === "outcome" ? { schema: { type: "string" } } : "nothing";
    },
    { unknown: "an undoing knows input, output, key and outcome", misfit: "COMPENSATION_INVALID" },
  );

/** What is wrong with a template, and why what it makes is never taken. */
function templateFindings(
  at: string,
  template: Json,
  schema: Json | undefined,
  find: Find,
  { unknown, misfit = "INPUT_UNFIT" }: { unknown: string; misfit?: PlanFaultCode },
): PlanFinding[] {
  const findings: PlanFinding[] = referencesIn(template).flatMap((reference) => {
    if (reference === "bad")
      return [
        fault("REF_UNKNOWN", at, 'it holds a "$ref" that cannot be read: "node NAME /part" or "input /part"'),
      ];
    const is = find(reference);
    if (is !== "nothing" && is !== "uncertain") return [];
    const why = is === "uncertain" ? needNotBe : `which is not there: ${unknown}`;
    return [fault("REF_UNKNOWN", at, `it refers to "${textOf(reference)}", ${why}`)];
  });
  const why = findings.length > 0 ? undefined : unfit(template, schema, find);
  return why === undefined ? findings : [fault(misfit, at, why)];
}

function unfit(template: Json, schema: Json | undefined, find: Find): string | undefined {
  const reference = referenceOf(template);
  if (reference !== undefined) {
    if (reference === "bad") return undefined;
    const found = find(reference);
    const why = found === "nothing" || found === "uncertain" ? undefined : misfitOf(found.schema, schema);
    return why && `"${textOf(reference)}": ${why}`;
  }
  if (referencesIn(template).length === 0) return valueMisfit(template, schema);
  const wanted = asSchema(schema);
  if (wanted === undefined || typeof template !== "object" || template === null) return undefined;
  if (Array.isArray(template)) return firstOf(template.map((one) => unfit(one, wanted["items"], find)));
  const missing = requiredOf(wanted).filter((key) => !Object.hasOwn(template, key));
  if (missing.length > 0) return `it lacks ${quoted(missing)}`;
  const members = asSchema(wanted["properties"]);
  if (members === undefined) return undefined;
  const more = Object.keys(template).filter((key) => !Object.hasOwn(members, key));
  if (more.length > 0 && wanted["additionalProperties"] === false) return `${quoted(more)} is not taken`;
  return firstOf(
    Object.entries(template).map(([key, one]) => {
      const why = unfit(one, members[key], find);
      return why && `"${key}": ${why}`;
    }),
  );
}

const firstOf = (all: readonly (string | undefined)[]): string | undefined =>
  all.find((one) => one !== undefined);
