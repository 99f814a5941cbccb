/**
 * Workflow judging: who judges what in a workflow, and what follows from it. Pure, like all that moves a graph.
 *
 * WJ1 A node is judged before it runs (its input), when it has run (its output), and before it commits (its output,
 *     beside all that has committed); the plan, before anything of it runs and whenever a patch would change it.
 * WJ2 A refusal is the node's failure: what it did is undone, and what follows from a failure follows. Before the run
 *     there is nothing to undo.
 * WJ3 A change is made within the budget of the whole workflow and judged again by all; over it, or where a change is
 *     not what it says, it is refused, or put before people as it is.
 * WJ4 Not to know is no yes, unless the workflow says so.
 * WJ5 Judges hang on the name of a node: what a patch puts in its place is judged by the same.
 */
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { type ValidatorAnswer, type VerdictChange, ValidatorVerdict } from "../../protocol/verdict.ts";
import type { CallError } from "../contract/calls.ts";
import { type AugmentBudget, augmented, timesOf } from "./augment.ts";
import { kindNameOf } from "../contract/definition.ts";
import { readWith } from "../values/schema.ts";
import type { ValidatorMaterial } from "../validators/context.ts";
import { combined } from "../values/verdicts.ts";
import { change, type Going, graphOf, set, stateOf } from "./step.ts";
import type { FeedbackByKey, Judge, JudgedVerdict, Judgement, Stage } from "./judgement.ts";
import type { Graph, Patched } from "./spec.ts";

/** What became of a judgement. `item` is what was judged in the end, changed or not. */
export interface Ruled {
  readonly judgement: Judgement;
  readonly name: string | undefined;
  readonly item: Json;
  readonly rejected?: { readonly code: string; readonly reason: string };
}

export const isJudgesCall = (call: string): boolean => call.startsWith("judge.");
export const judgeSrc = ({ name }: { readonly name: string }): string => `sagamesh.judge.${name}`;
export const judgementSrc = "sagamesh.judgement";

const judgesOf = ({ spec }: Going, name: string | undefined, stage: Judgement["stage"]): readonly Judge[] => {
  const { judging } = spec;
  if (judging === undefined) return [];
  if (stage === "plan") return judging.plan;
  const own =
    name !== undefined && Object.hasOwn(judging.nodes, name) ? judging.nodes[name]?.[stage] : undefined;
  return [...(judging.every[stage] ?? []), ...(own ?? [])];
};

/** WJ1. Has a node judged, if a validator judges it at this stage. */
export function isJudged(g: Going, name: string, stage: Stage, item: Json): boolean {
  if (judgesOf(g, name, stage).length === 0) return false;
  if (stage === "before") change(g, name, { given: item });
  ask(g, name, { stage, item, round: 0 });
  return true;
}

/** WJ1. The same for the plan as it would be with a patch; without one, as it is defined. */
export function isPlanJudged(
  g: Going,
  graph: Graph,
  then: Pick<Judgement, "nodes" | "reason" | "told"> & { readonly patch?: Patched } = {},
): boolean {
  if (judgesOf(g, undefined, "plan").length === 0) return false;
  ask(g, undefined, { stage: "plan", item: planOf(graph), round: 0, ...then });
  return true;
}

/** A plan as its judges read it. */
const planOf = ({ nodes, restsOn }: Graph): Json =>
  toJson({
    nodes: [...nodes.values()].map(
      ({ name, run, description, when, compensation, pointOfNoReturn, optional }) => ({
        ...{ name, run: run.name, kind: kindNameOf(run), description, when },
        after: restsOn.get(name) ?? [],
        undoneBy: pointOfNoReturn ? "point_of_no_return" : compensation?.run.name,
        ...(optional ? { optional } : {}),
      }),
    ),
    edges: edgesOf({ restsOn }),
  });

const edgesOf = ({ restsOn }: Pick<Graph, "restsOn">): [string, string][] =>
  [...restsOn].flatMap(([to, from]) => from.map((one): [string, string] => [one, to]));

type Opened = Omit<Judgement, "waits" | "said">;

function ask(g: Going, name: string | undefined, opened: Opened): void {
  const waits: Record<string, string> = {};
  const material = materialOf(g, name, opened.item);
  const run = name === undefined ? `${g.context.replans}` : `${name}.${stateOf(g, name).tries}`;
  for (const judge of judgesOf(g, name, opened.stage)) {
    const call = nextCall(g);
    waits[call] = judge.name;
    // The call's number counts what was judged of other nodes, too.
    const decides = `judge ${run} ${opened.stage} ${opened.round} ${judge.name}`;
    g.starts.push({ call, src: judgeSrc(judge), input: toJson(judge.given(material)), decides });
  }
  put(g, name, { ...opened, waits, said: [] });
}

function nextCall(g: Going): string {
  const judged = (g.context.judged ?? 0) + 1;
  g.context = { ...g.context, judged };
  return `judge.${judged}`;
}

/** What there is to be shown; each judge is shown what it declares of it. */
function materialOf({ spec, context, ...g }: Going, name: string | undefined, item: Json): ValidatorMaterial {
  const entries = Object.entries(context.nodes);
  const committed = entries.filter(([, { status }]) => status === "committed");
  return {
    item,
    input: context.input,
    outputs: Object.fromEntries(committed.map(([node, { output }]) => [node, output ?? null])),
    pinned: {
      dependencies: edgesOf(graphOf({ spec, context, ...g })),
      commitments: committed.map(([node]) => node),
      ...spec.judging?.pinned,
    },
    log: entries
      .filter(([node, { status }]) => status !== "waiting" || node === name)
      .map(([node, { status, log, reason, given }]) => ({
        ...{ node, status },
        ...(log === undefined || status !== "committed" ? {} : { log }), // What was rolled back is no part of it.
        ...(reason === undefined ? {} : { reason }),
        ...(node === name && given !== undefined ? { input: given } : {}),
      })),
  };
}

function put(g: Going, name: string | undefined, judging: Judgement | undefined): void {
  if (name !== undefined) {
    const { judging: _before, ...rest } = stateOf(g, name);
    return set(g, name, judging === undefined ? rest : { ...rest, judging });
  }
  const { judging: _before, ...rest } = g.context;
  g.context = judging === undefined ? rest : { ...rest, judging };
}

/** The calls of a judgement that is not wanted any more; it is forgotten. */
export function unjudged(g: Going, name: string | undefined): string[] {
  const judging = name === undefined ? g.context.judging : stateOf(g, name).judging;
  if (judging === undefined) return [];
  put(g, name, undefined);
  return [...Object.keys(judging.waits), ...(judging.asks === undefined ? [] : [judging.asks])];
}

const waitsFor = (judging: Judgement | undefined, call: string): boolean =>
  judging !== undefined && (Object.hasOwn(judging.waits, call) || judging.asks === call);

/** A judge, or who was asked in its place, has answered. Undefined while others are still to answer. */
export function judgementOf(
  g: Going,
  call: string,
  output: unknown,
  error: CallError | undefined,
): Ruled | undefined {
  const { nodes, judging: plan } = g.context;
  const name = Object.keys(nodes).find((one) => waitsFor(nodes[one]?.judging, call));
  const judging = name === undefined ? plan : nodes[name]?.judging;
  if (judging === undefined || !waitsFor(judging, call)) return undefined;
  if (judging.asks === call) return ruledByPeople(g, name, judging, refusalBy(g, output, error));
  const { [call]: validator = "", ...waits } = judging.waits;
  const said = [...judging.said, verdictOf(validator, output, error)];
  if (Object.keys(waits).length > 0) {
    put(g, name, { ...judging, waits, said });
    return undefined;
  }
  note(g, name, judging.stage, said);
  return rule(g, name, judging, combined("all", said));
}

/** WJ4. Who could not be asked has not said yes. */
function verdictOf(validator: string, output: unknown, error: CallError | undefined): ValidatorVerdict {
  const read = readWith(ValidatorVerdict, output);
  if (error === undefined && read.success) return read.data;
  const reason = error?.reason ?? "its answer is no verdict";
  return {
    ...{ verdict: "undecided", reason: `it could not be asked: ${reason}`.slice(0, limits.reasonLengthMax) },
    ...(error === undefined || error.code === "" ? {} : { code: error.code }),
    ...{ validator, by: "nobody", shown: { digest: "", tokens: 0 }, judged: "" },
  };
}

/** What was said stands with the node while its run does, and what planners are to know until they have planned. */
function note(
  g: Going,
  name: string | undefined,
  stage: Judgement["stage"],
  said: readonly ValidatorVerdict[],
): void {
  for (const one of said)
    if (one.verdict === "feedback") noteFeedback(g, name, one.validator, { stage, reason: one.reason });
  if (name === undefined) return;
  const verdicts = said.map(({ validator, verdict, by, judged, shown, reason }): JudgedVerdict => ({
    ...{ validator, stage, verdict, by, judged, tokens: shown.tokens },
    ...(reason === undefined ? {} : { reason }),
  }));
  change(g, name, { verdicts: [...(stateOf(g, name).verdicts ?? []), ...verdicts] });
}

/** Formerly the latest of each alone was kept. */
function noteFeedback(
  g: Going,
  name: string | undefined,
  validator: string,
  said: { readonly stage: string; readonly reason: string },
): void {
  const { feedback = {}, hearsOnce, judged = 0 } = g.context;
  const from = `${name ?? ""}/${validator}`;
  const known = { ...said, ...(name === undefined ? {} : { node: name }) };
  const more = hearsOnce ? { [`${from}/${judged}`]: { from, ...known } } : { [from]: known };
  g.context = { ...g.context, feedback: { ...feedback, ...more } };
}

function rule(
  g: Going,
  name: string | undefined,
  judging: Judgement,
  answer: ValidatorAnswer,
): Ruled | undefined {
  const { undecided = "reject" } = g.spec.judging ?? {};
  switch (answer.verdict) {
    case "accept":
    case "feedback":
      return passed(g, name, judging, judging.item);
    case "reject":
      return rejected(g, name, judging, "VALIDATION_REJECTED", answer.reason);
    case "undecided":
      if (undecided === "accept") return passed(g, name, judging, judging.item);
      if (undecided === "ask") return askPeople(g, name, judging, answer.reason);
      return rejected(g, name, judging, "VALIDATION_REJECTED", `nobody could say: ${answer.reason}`);
    case "augment":
      return changed(g, name, judging, answer.changes);
  }
}

/** WJ3. */
function changed(
  g: Going,
  name: string | undefined,
  judging: Judgement,
  changes: readonly VerdictChange[],
): Ruled | undefined {
  const { augment } = g.spec.judging ?? {};
  const made = changedItem(g, name, judging, changes, augment);
  if ("refused" in made) {
    if (augment?.over !== "ask" || name === undefined)
      return rejected(g, name, judging, "AUGMENT_REFUSED", made.refused);
    return askPeople(g, name, { ...judging, changes }, made.refused);
  }
  g.context = { ...g.context, augmented: made.used };
  const { stage, round } = judging;
  ask(g, name, { stage, item: made.item, round: round + 1 });
  return undefined;
}

function changedItem(
  g: Going,
  name: string | undefined,
  { stage, item, round }: Judgement,
  changes: readonly VerdictChange[],
  budget: AugmentBudget | undefined,
): ReturnType<typeof augmented> {
  const node = name === undefined ? undefined : graphOf(g).nodes.get(name);
  if (node === undefined) return { refused: "a plan is changed by its planner, not by its validator" };
  if (round >= timesOf(budget)) return { refused: `it was changed ${round} times already` };
  const made = augmented(item, changes, budget, g.context.augmented);
  if ("refused" in made) return made;
  const read = readWith(stage === "before" ? node.run.input : node.run.output, made.item);
  return read.success ? made : { refused: `what it would become does not fit: ${read.reason}` };
}

/** Why it may not go on, or undefined. Sagas of former versions said of silence that people did not allow it. */
function refusalBy(g: Going, output: unknown, error: CallError | undefined): string | undefined {
  if (error === undefined && output === true) return undefined;
  return error === undefined || g.context.hearsOnce !== true
    ? "people did not allow it"
    : `it was not allowed: ${error.reason}`;
}

/** Without a budget, for people have allowed it; what it says it is, it must be all the same. */
function ruledByPeople(
  g: Going,
  name: string | undefined,
  { asks: _asked, changes, ...judging }: Judgement,
  refusal: string | undefined,
): Ruled | undefined {
  if (refusal !== undefined) return rejected(g, name, judging, "VALIDATION_REJECTED", refusal);
  if (changes === undefined) return passed(g, name, judging, judging.item);
  const units = Object.fromEntries(changes.map(({ unit }) => [unit, Number.MAX_SAFE_INTEGER]));
  const made = changedItem(g, name, judging, changes, { units, times: judging.round + 1 });
  if ("refused" in made) return rejected(g, name, judging, "AUGMENT_REFUSED", made.refused);
  ask(g, name, { stage: judging.stage, item: made.item, round: judging.round + 1 });
  return undefined;
}

function askPeople(g: Going, name: string | undefined, judging: Judgement, reason: string): undefined {
  const call = nextCall(g);
  const what = name === undefined ? "the plan" : `"${name}"`;
  const changes = (judging.changes ?? []).map(
    ({ what: said, at, to, amount, unit }) =>
      `${said} (${at} becomes ${JSON.stringify(to)}: ${amount} ${unit})`,
  );
  const question = [`May ${what} go on (${judging.stage})? ${reason}`, ...changes].join("\n");
  g.starts.push({ call, src: judgementSrc, input: { question } });
  put(g, name, { ...judging, waits: {}, asks: call });
  return undefined;
}

function passed(g: Going, name: string | undefined, judgement: Judgement, item: Json): Ruled {
  put(g, name, undefined);
  return { judgement, name, item };
}

function rejected(
  g: Going,
  name: string | undefined,
  judgement: Judgement,
  code: string,
  reason: string,
): Ruled {
  put(g, name, undefined);
  return { judgement, name, item: judgement.item, rejected: { code, reason } };
}

/** A plan is taken whose planner was told of these: no other is. */
export function forget(g: Going, told: FeedbackByKey | undefined): void {
  if (told === undefined) return;
  const { feedback, ...rest } = g.context;
  const left = Object.entries(feedback ?? {}).filter(([key]) => !Object.hasOwn(told, key));
  g.context = left.length === 0 ? rest : { ...rest, feedback: Object.fromEntries(left) };
}
