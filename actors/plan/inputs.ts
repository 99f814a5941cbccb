/**
 * Plan inputs: whether what the nodes and edges of a plan are given is there when they begin, and is what they take.
 */
import type { Json } from "../../protocol/json.ts";
import { toJson } from "../../protocol/json.ts";
import type { Draft, PlanCatalogue, PlanFaultCode, PlanFinding } from "../../protocol/documents/plan.ts";
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
import { groundOf } from "../workflow/graph.ts";

/** What a reference stands for, as a schema. */
type Find = (reference: Reference) => SchemaPart;

export function inputFindings(
  draft: Draft,
  catalogue: PlanCatalogue,
  rests: ReadonlyMap<string, readonly string[]>,
): PlanFinding[] {
  const byName = new Map(draft.nodes.map((node) => [node.name, node]));
  const findFrom =
    (ground: ReadonlySet<string>): Find =>
    ({ of, name, pointer }) => {
      if (of === "input") return partOf(draft.input && toJson(draft.input), pointer);
      const node = of === "node" && ground.has(name) ? byName.get(name) : undefined;
      return node === undefined ? "nothing" : partOf(outputOf(catalogue, node), pointer);
    };
  const judge = (
    at: string,
    ground: ReadonlySet<string>,
    template: Json | undefined,
    run: string | undefined,
  ) => {
    const offer = run === undefined ? undefined : offerOf(catalogue, run);
    const given = template ?? { $ref: "input" };
    return templateFindings(`${at}/input`, given, offer?.input, findFrom(ground), {
      unknown: "name a part that is there, of the input or of a node on which it rests by an edge",
    });
  };
  return [
    ...draft.nodes.flatMap(({ name, input, run }, k) =>
      judge(`/nodes/${k}`, groundOf({ restsOn: rests }, name), input, run),
    ),
    ...draft.edges.flatMap(({ from, input, run }, k) =>
      judge(`/edges/${k}`, new Set([from, ...groundOf({ restsOn: rests }, from)]), input, run),
    ),
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
    if (find(reference) !== "nothing") return [];
    return [fault("REF_UNKNOWN", at, `it refers to "${textOf(reference)}", which is not there: ${unknown}`)];
  });
  const why = findings.length > 0 ? undefined : unfit(template, schema, find);
  return why === undefined ? findings : [fault(misfit, at, why)];
}

function unfit(template: Json, schema: Json | undefined, find: Find): string | undefined {
  const reference = referenceOf(template);
  if (reference !== undefined) {
    if (reference === "bad") return undefined;
    const found = find(reference);
    const why = found === "nothing" ? undefined : misfitOf(found.schema, schema);
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
