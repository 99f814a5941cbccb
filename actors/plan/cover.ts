/**
 * Plan cover: what checks each constraint of a plan, and whether that could fail where it does not hold.
 */
import type { Json } from "../../protocol/json.ts";
import type {
  Draft,
  DraftNode,
  PlanCatalogue,
  PlanCheck,
  PlanCover,
  PlanFinding,
} from "../../protocol/documents/plan.ts";
import { fault, outputOf, partOf, quoted } from "./catalogue.ts";
import { fitOf } from "./fit.ts";

interface Check {
  readonly words: string;
  /** Whatever is said, it holds. */
  readonly isVoid: boolean;
  readonly isPresence: boolean;
}

/** Each constraint with what fails where it does not hold. */
export const coverOf = (draft: Draft, catalogue: PlanCatalogue): PlanCover[] =>
  (draft.constraints ?? []).map(({ name, says, validators = [] }) => ({
    ...{ constraint: name, says },
    by: [...validators, ...checksOf(draft, catalogue, name).map(({ words }) => words)],
  }));

/** Constraints whose every check is one that nothing fails, or that only asks whether something is there. */
export const coverFindings = (draft: Draft, catalogue: PlanCatalogue): PlanFinding[] =>
  (draft.constraints ?? []).flatMap(({ name, validators = [] }, k) => {
    const checks = checksOf(draft, catalogue, name);
    if (checks.length === 0 || validators.length > 0) return [];
    const at = `/constraints/${k}`;
    const all = quoted(checks.map(({ words }) => words));
    if (checks.every(({ isVoid }) => isVoid))
      return [fault("CHECK_VOID", at, `what checks "${name}" never fails, whatever is said: ${all}`)];
    if (!checks.every(({ isPresence, isVoid }) => isPresence || isVoid)) return [];
    const says = `what checks "${name}" asks only whether something is there, and not what: ${all}`;
    return [fault("CHECK_WEAK", at, says)];
  });

const checksOf = ({ nodes }: Draft, catalogue: PlanCatalogue, constraint: string): Check[] =>
  nodes
    .filter(({ covers = [] }) => covers.includes(constraint))
    .flatMap((node) => (node.success ?? []).map((check) => checkOf(node, check, catalogue)));

function checkOf(node: DraftNode, check: PlanCheck, catalogue: PlanCatalogue): Check {
  const { is, at = "", value } = check;
  const words = [`${node.name}:`, is, at, ...(value === undefined ? [] : [JSON.stringify(value)])];
  const isOwn = catalogue.predicates.includes(is);
  const part = partOf(outputOf(catalogue, node), at);
  const asked = isOwn ? undefined : askedOf(is, value);
  return {
    words: words.filter((word) => word !== "").join(" "),
    isVoid:
      part !== "nothing" && !part.mayLack && asked !== undefined && fitOf(part.schema, asked).is === "yes",
    isPresence: !isOwn && is === "present",
  };
}

/** What a predicate that every workflow has asks for, as a schema; undefined where none says it. */
function askedOf(is: string, value: Json = null): Json | undefined {
  switch (is) {
    case "present":
      return { type: ["string", "number", "boolean", "object", "array"] };
    case "atLeast":
      return typeof value === "number" ? { type: "number", minimum: value } : undefined;
    case "atMost":
      return typeof value === "number" ? { type: "number", maximum: value } : undefined;
    case "equals":
      return { const: value };
    case "oneOf":
      return Array.isArray(value) ? { enum: value } : undefined;
    default:
      return undefined;
  }
}
