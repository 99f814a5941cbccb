/**
 * State: a dimension of a saga's state, for people.
 */
import { MeshError } from "../../../protocol/errors.ts";
import { type Dimension, dimensions, type StateDocument } from "../../../protocol/documents/state.ts";
import { toJson } from "../../../protocol/json.ts";
import { brief, timeOf } from "./describe.ts";
import { table } from "../frame/table.ts";

/** Throws USAGE. */
export function dimensionOf(text: string): Dimension {
  const found = dimensions.find((one) => one === text);
  if (found === undefined)
    throw new MeshError("USAGE", `--state: expected ${dimensions.join(", ")}, got "${text}"`);
  return found;
}

export function describeState(document: StateDocument): string {
  const { saga, turn, of, dimension } = document;
  return [`${saga}  ${dimension} state after turn ${turn} of ${of}`, "", ...linesOf(document)].join("\n");
}

function linesOf(document: StateDocument): string[] {
  switch (document.dimension) {
    case "application": {
      const { input, standing, entities, memory, signals, changes, checkpoints } = document;
      const rows = Object.entries(entities).map(([name, value]) => [name, brief(value, 80)]);
      const told = { ...signals, ...changes };
      return [
        `input   ${brief(input, 200)}`,
        ...(memory === undefined ? [] : [`memory  ${brief(memory, 400)}`]),
        ...(Object.keys(told).length === 0 ? [] : [`told    ${brief(told, 400)}`]),
        "",
        ...(rows.length === 0 ? [] : [table(["ENTITY", "VALUE"], rows), ""]),
        standing.length === 0
          ? "nothing stands"
          : table(
              ["INTENT", "NODE OR CALL", "NAME", "KEY", "STATE", "ASKED"],
              standing.map(({ intent, node, call, name, key, how, task }) => [
                ...[intent, node ?? call ?? "", name, key, how],
                task === undefined ? "" : `${task.intent}: ${task.to.join(", ") || "anyone"}`,
              ]),
            ),
        "",
        "checkpoints:",
        ...checkpoints.map((one) => `  #${one.turn} ${timeOf(one.at)} ${one.committed.join(", ")}`),
      ];
    }
    case "operation":
      return [
        table(
          ["INTENT", "NODE OR CALL", "NAME", "OUTCOME", "INPUT", "OUTPUT OR REASON", "UNDONE BY", "RECOVERY"],
          document.transactions.map((one) => [
            one.transaction,
            one.undoes === undefined ? (one.call ?? "") : `undoes ${one.undoes}`,
            one.name,
            one.outcome,
            brief(one.input, 32),
            one.output === undefined ? (one.reason ?? "") : brief(one.output, 40),
            one.compensation === undefined ? "" : one.compensation.name,
            one.recovery,
          ]),
        ),
      ];
    case "dependency":
      return [
        table(
          ["NODE", "STATUS", "MAY START", "EVIDENCE", "READ", "VERDICTS", "CONDITION"],
          document.nodes.map(
            ({ node, status, satisfied, evidence, reads = [], condition, verdicts = [] }) => [
              node,
              status,
              satisfied,
              evidence.map((one) => one.call ?? one.node).join(", "),
              reads.map((one) => one.call ?? one.node).join(", "),
              verdicts.map(({ validator, verdict }) => `${validator} ${verdict}`).join(", "),
              brief(toJson(condition), 80),
            ],
          ),
        ),
        "",
        ...document.edges.map(
          ({ from, to, satisfied, of }) => `  ${from} -> ${to}  ${satisfied}, by ${of.join(" and ")}`,
        ),
        ...(document.effects.length === 0 ? ["no effect stands"] : ["effects rest on:"]),
        ...document.effects.map(
          ({ intent, call, dependsOn }) =>
            `  ${intent}${call === undefined ? "" : ` (${call})`}: ${dependsOn === undefined ? "all that was settled before" : dependsOn.length === 0 ? "nothing" : dependsOn.join(", ")}`,
        ),
      ];
  }
}
