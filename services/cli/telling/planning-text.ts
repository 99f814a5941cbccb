/**
 * Planning text: what a planning says of itself while it goes on, turn by turn, and what is wrong in the end.
 */
import { JudgePlan } from "../../../actors/plan/planner.ts";
import type { PlanCover, PlanFinding, PlanRefusal } from "../../../protocol/documents/plan.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { findingLine } from "../../app/plans.ts";

/** Lines for a person about each turn. */
export function createPlanTeller(): (turn: Turn) => string[] {
  const judging = new Map<string, string>();
  let step = "roles";
  return ({ steps }) =>
    steps.flatMap(({ event, intents }) => {
      const lines: string[] = [];
      const judged = event.type === "result" ? judging.get(event.intent) : undefined;
      if (event.type === "result" && event.result.outcome === "succeeded" && judged !== undefined) {
        const read = JudgePlan.output.safeParse(event.result.output);
        if (read.success) lines.push(...verdictLines(judged, read.data));
      }
      if (event.type === "result" && event.result.outcome === "failed")
        lines.push(`  ${step}: ${event.result.code}, ${event.result.reason}`);
      for (const intent of intents) {
        if (intent.kind === "model") {
          step = stepOf(intent.input);
          lines.push(`  ${step} …`);
        }
        if (intent.kind === "tool") judging.set(intent.id, step);
      }
      return lines;
    });
}

function stepOf(input: unknown): string {
  try {
    return String((JSON.parse((input as { prompt: string }).prompt) as { step: unknown }).step);
  } catch {
    return "?"; // It lies with the large values, and is not fetched for a line.
  }
}

const shownMax = 5;

function verdictLines(
  step: string,
  { findings, found }: { readonly findings: readonly PlanFinding[]; readonly found: number },
): string[] {
  if (found === 0) return [`  ${step}: nothing wrong`];
  return [`  ${step}: ${found} finding${found === 1 ? "" : "s"}`, ...findingLines(findings, found, shownMax)];
}

function findingLines(findings: readonly PlanFinding[], found: number, max: number): string[] {
  const shown = findings.slice(0, max).map((finding) => `    ${findingLine(finding)}`);
  return found > shown.length ? [...shown, `    and ${found - shown.length} more`] : shown;
}

/** Each constraint with what checks it, for the reader to see whether it does. */
export const coverLines = (checks: readonly PlanCover[]): string[] =>
  checks.map(({ constraint, says, by }) => `  ${constraint} (${says}) is checked by ${by.join("; ")}`);

export const warningLines = (warnings: readonly PlanFinding[]): string[] =>
  warnings.map((warning) => `  in some runs: ${findingLine(warning)}`);

export const describeRefusal = ({ because, findings, found }: PlanRefusal): string =>
  [
    `PLAN_INVALID: ${because.split(";")[0] ?? because}`,
    ...findingLines(findings, found, findings.length),
  ].join("\n");
