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
import { fault, type Offer, offerOf, outputOf, partOf, type SchemaPart } from "./catalogue.ts";
import { fitOf, type Grade, type Misfit } from "./fit.ts";
import type { Path } from "./witness.ts";
import { atPointer, type Reference, referenceOf, referencesIn, textOf } from "../values/reference.ts";
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
      return of === "key" || of === "outcome" ? { schema: { type: "string" }, mayLack: false } : "nothing";
    },
    { unknown: "an undoing knows input, output, key and outcome", misfit: "COMPENSATION_INVALID" },
  );

/** What is wrong with a template: what it refers to, and of what it makes each part that is not taken. */
function templateFindings(
  at: string,
  template: Json,
  schema: Json | undefined,
  find: Find,
  { unknown, misfit = "INPUT_UNFIT" }: { unknown: string; misfit?: PlanFaultCode },
): PlanFinding[] {
  const references = referencesIn(template);
  const findings: PlanFinding[] = references.flatMap((reference) => {
    if (reference === "bad")
      return [
        fault("REF_UNKNOWN", at, 'it holds a "$ref" that cannot be read: "node NAME /part" or "input /part"'),
      ];
    const is = find(reference);
    if (is !== "nothing" && is !== "uncertain") return [];
    const why = is === "uncertain" ? needNotBe : `which is not there: ${unknown}`;
    return [fault("REF_UNKNOWN", at, `it refers to "${textOf(reference)}", ${why}`)];
  });
  if (findings.length > 0) return findings;
  const lacking = references.flatMap((reference) => {
    const is = reference === "bad" ? "nothing" : find(reference);
    return typeof is === "object" && is.mayLack && reference !== "bad"
      ? [`"${textOf(reference)}": it may be that it is not there, and then nothing can be made of it`]
      : [];
  });
  const fit = fitOf(schemaOf(template, find), schema);
  const misfits = fit.is === "no" ? fit.misfits : [];
  return misfitFindings(at, misfits, misfit, lacking, ({ at: path }) => placeOf(template, path));
}

/** One finding for all of a grade, so that each input is told of in one sentence. */
export function misfitFindings(
  at: string,
  misfits: readonly Misfit[],
  never: PlanFaultCode,
  lacking: readonly string[] = [],
  nameOf = ({ at: path }: Misfit): string => (path.length === 0 ? "" : `"/${path.join("/")}": `),
): PlanFinding[] {
  const told = (grade: Grade) =>
    misfits.filter((one) => one.grade === grade).map((one) => `${nameOf(one)}${one.says}`);
  const finding = (code: PlanFaultCode, all: readonly string[], then = "") =>
    all.length === 0 ? [] : [fault(code, at, `${all.join("; ")}${then}`)];
  const mend = "; require it, name another part, or let a node between make what is wanted";
  return [
    ...finding(never, told("never")),
    ...finding("MAY_MISFIT", [...lacking, ...told("sometimes")], mend),
    ...finding("MAY_EXCEED", told("bounds")),
  ];
}

/** All that a template may make, as a schema. */
function schemaOf(template: Json, find: Find): Json {
  const reference = referenceOf(template);
  if (reference !== undefined) {
    const found = reference === "bad" ? "nothing" : find(reference);
    return typeof found === "object" ? (found.schema ?? {}) : {};
  }
  if (typeof template !== "object" || template === null) return { const: template };
  if (Array.isArray(template)) {
    const prefixItems = template.map((one) => schemaOf(one, find));
    return { type: "array", prefixItems, minItems: template.length, maxItems: template.length };
  }
  const properties = Object.fromEntries(
    Object.entries(template).map(([key, one]) => [key, schemaOf(one, find)]),
  );
  return { type: "object", properties, required: Object.keys(template), additionalProperties: false };
}

/** A place in what a template makes, with the reference that it comes from. */
function placeOf(template: Json, path: Path): string {
  let here: Json | undefined = template;
  for (const [k, key] of path.entries()) {
    if (here === undefined || referenceOf(here) !== undefined) return from(here, path.slice(0, k));
    here = atPointer(here, `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
  return from(here, path);
}
const from = (template: Json | undefined, path: Path): string => {
  const reference = template === undefined ? undefined : referenceOf(template);
  const named = reference === undefined || reference === "bad" ? "" : `"${textOf(reference)}"`;
  const place = path.length === 0 ? "" : `"/${path.join("/")}"`;
  const words = [place, named].filter((word) => word !== "").join(" from ");
  return words === "" ? "" : `${words}: `;
};
