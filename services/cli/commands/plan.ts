import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { coverOf } from "../../../actors/plan/cover.ts";
import { PlanMade, type PlanRequest } from "../../../actors/plan/planner.ts";
import { planFindings } from "../../../actors/plan/proposal.ts";
import { digestOf } from "../../../protocol/digest.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import {
  type PlanCatalogue,
  type PlannedDocument,
  PlanRefusal,
  planSchema,
} from "../../../protocol/documents/plan.ts";
import type { App } from "../../app/app.ts";
import { endIn } from "../../client/follow-turns.ts";
import { endDocument } from "../../views/inspected.ts";
import { catalogueOfApp, definePlanner } from "../../workflow/planner.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { modelNamed } from "../../runtime/replay-port.ts";
import { runPlanning } from "../../runtime/run-planning.ts";
import { defineCommand } from "../frame/command.ts";
import { readTextFile } from "../frame/file.ts";
import type { CommandContext } from "../frame/context.ts";
import { describeEnd } from "../telling/describe.ts";
import { coverLines, createPlanTeller, describeRefusal, warningLines } from "../telling/planning-text.ts";

/** A specification becomes a plan. */
export const plan = defineCommand({
  name: "plan",
  summary: "turn a written specification into a workflow",
  details:
    "The model is asked for roles, nodes and edges; what they make is judged as a graph before it is asked for logs, agents\n" +
    "and compensations, and then as a whole. What is wrong is shown to it, --rounds times. Exit code 1 and every finding\n" +
    "where no plan comes of it. Each question, answer and verdict is in the ledger of a saga, on a server of its own in\n" +
    "the data folder: the same words go on where a kill left off, and never ask again what was answered.",
  positionals: {
    spec: { paths: "files", help: "a file: text, Markdown or JSON, for the model to read", optional: true },
  },
  without: ["server"],
  options: {
    app: {
      type: "string",
      hint: "FILE",
      help: "application file: its tools, agents and models may be named",
    },
    model: {
      type: "string",
      hint: "MODEL",
      help: "a model of the application, or one of the provider (claude-…); the application's only one unless given",
    },
    out: { type: "string", hint: "FILE", help: "write the plan there instead of printing it" },
    rounds: {
      type: "string",
      hint: "N",
      help: `mendings at most, 0 to ${limits.planRoundsMax}; 4 unless given`,
    },
    tokens: { type: "string", hint: "N", help: "tokens at most; a million unless given" },
    again: { type: "boolean", help: "plan anew what the same words have planned before" },
    schema: { type: "boolean", help: "print the JSON Schema of a plan" },
  },
  examples: [
    "sagamesh plan trip.md --app app.ts --model claude-sonnet-5 --out trip.plan.json",
    "sagamesh plan --schema",
  ],
  run: async ({ spec: file, app: appFile, out, again, schema, ...words }, context) => {
    const { output } = context;
    if (schema) {
      output.print(planSchema(), () => JSON.stringify(planSchema(), null, 2));
      return 0;
    }
    if (file === undefined || appFile === undefined)
      throw new MeshError("USAGE", `plan: ${file === undefined ? "SPEC" : "--app FILE"} is missing`, {
        remedy: "See sagamesh plan --help.",
      });
    const spec = await readSpec(file);
    const app = await loadApp(appFile);
    const planning = planningOf(app, spec, words, context);
    const saga = again ? parseSagaId(`${planning.saga}-${Date.now().toString(36)}`) : planning.saga;
    const folder = join(context.config.planDir, saga);
    output.note(`planning as ${saga}; its ledger: sagamesh tail ${saga} --data ${folder}`);
    const tell = createPlanTeller();
    const ends: ReturnType<typeof endIn>[] = [];
    const began = Date.now();
    let isEarlier = false;
    const onTurn = (turn: Parameters<typeof tell>[0]) => {
      if (turn.turn === 1 && turn.at < began)
        output.note(
          "the same words were planned before: what they came to is told, and gone on with if it is not over",
        );
      isEarlier = turn.at < began;
      tell(turn).forEach(output.note);
      ends.push(endIn(turn));
    };
    const { signal } = context;
    await runPlanning({ ...planning, saga, app, folder, onTurn, signal, report: () => undefined });
    const end = ends.findLast((one) => one !== undefined);
    return end === undefined
      ? 1
      : tellEnd(context, { saga, end, out, isEarlier, catalogue: planning.request.catalogue }); // Without one it was called off.
  },
});

async function readSpec(file: string): Promise<string> {
  const text = await readTextFile(file, "plan");
  if (text.trim() === "") throw new MeshError("USAGE", `plan: ${file} is empty`);
  if (text.length <= limits.planSpecCharactersMax) return text;
  throw new MeshError(
    "TOO_LARGE",
    `${file} has ${text.length} characters, more than ${limits.planSpecCharactersMax}`,
  );
}

/** The planner and what it is asked. Its id is made of all of it: other words are another planning. */
function planningOf(
  app: App,
  spec: string,
  words: { model: string | undefined; rounds: string | undefined; tokens: string | undefined },
  { config }: CommandContext,
) {
  const name = words.model ?? onlyModel(app);
  const port = modelNamed(app, name, config);
  const tokens = numberOf("tokens", words.tokens, limits.planTokens, 1e12);
  const rounds = numberOf("rounds", words.rounds, limits.planRounds, limits.planRoundsMax);
  const planner = definePlanner({ model: name, budget: { tokens } });
  const request: PlanRequest = { spec, rounds, catalogue: catalogueOfApp(app) };
  const saga = parseSagaId(`plan-${digestOf([planner.definition.hash, request]).slice(0, 12).toLowerCase()}`);
  return { planner, request, saga, model: { name, port } };
}

function onlyModel({ models, fallbacks }: App): string {
  const names = [...models.keys(), ...fallbacks.keys()];
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  throw new MeshError(
    "USAGE",
    `plan: --model MODEL is missing; the application has ${names.join(", ") || "none"}`,
  );
}

function numberOf(name: string, text: string | undefined, otherwise: number, max: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= max) return value;
  throw new MeshError("USAGE", `plan: --${name}: expected a whole number up to ${max}, got "${text}"`);
}

interface Planned {
  readonly saga: SagaId;
  readonly end: NonNullable<ReturnType<typeof endIn>>;
  readonly out: string | undefined;
  /** It ended in an earlier run of the command. */
  readonly isEarlier: boolean;
  readonly catalogue: PlanCatalogue;
}

async function tellEnd(
  { output }: CommandContext,
  { saga, end, out, isEarlier, catalogue }: Planned,
): Promise<number> {
  const made = PlanMade.safeParse(end.output);
  if (end.status === "completed" && made.success) {
    const { plan, rounds } = made.data;
    const text = `${JSON.stringify(plan, null, 2)}\n`;
    if (out !== undefined) await writeFile(out, text);
    const read = planFindings(plan, catalogue);
    const warnings = "plan" in read ? [...read.warnings] : [];
    const checks = coverOf(plan, catalogue);
    const document: PlannedDocument = {
      ...{ saga, plan, rounds, checks, warnings },
      ...(out === undefined ? {} : { file: out }),
      ...(isEarlier ? { earlier: true } : {}),
    };
    const [nodes, edges] = [plan.nodes.length, plan.edges.length];
    const told = `plan "${plan.name}": ${nodes} nodes, ${edges} edges, mended ${rounds} times`;
    for (const line of [told, ...coverLines(checks), ...warningLines(warnings)]) output.note(line);
    output.print(document, () =>
      out === undefined ? text.trimEnd() : `${out}\nrun it: sagamesh run ${out} --app FILE --input '{…}'`,
    );
    return 0;
  }
  const refused = PlanRefusal.safeParse(end.output);
  if (refused.success) output.print(refused.data, () => describeRefusal(refused.data));
  else {
    const document = endDocument(saga, end);
    output.print(document, () => `${saga} ${describeEnd(document)}`);
  }
  output.note("the same words end the same; --again plans anew, --rounds mends more often");
  return 1;
}
