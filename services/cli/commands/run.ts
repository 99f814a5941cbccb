import { readWith } from "../../../actors/values/schema.ts";
import { planFindings } from "../../../actors/plan/proposal.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { mintSagaId, parseSagaId } from "../../../protocol/ids.ts";
import { canonicalJson, type Json } from "../../../protocol/json.ts";
import type { Plan, PlanRefusal } from "../../../protocol/documents/plan.ts";
import { type App, defineApp } from "../../app/app.ts";
import { startSaga } from "../../client/start.ts";
import { withPatientReads } from "../../wire/patient-ports.ts";
import { catalogueOfApp } from "../../workflow/planner.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { runPlan } from "../../runtime/run-plan.ts";
import { systemChance, systemClock } from "../../runtime/system.ts";
import { defineCommand } from "../frame/command.ts";
import { readTextFile } from "../frame/file.ts";
import { createFlow } from "../telling/flow.ts";
import { parseJson } from "../frame/json.ts";
import { describeRefusal, warningLines } from "../telling/planning-text.ts";
import { servedApp } from "../frame/serving.ts";
import { watchToEnd } from "../telling/watch.ts";

/** A plan runs as a saga. */
export const run = defineCommand({
  name: "run",
  summary: "run a plan, its tools bound by name from an application file",
  details:
    "A plan with a fault is refused with all of them, before anything is started. This process serves the plan itself, as\n" +
    "`up` does, unless the hosts of the mesh do: those serve the plans that their application file lists (`plans`).\n" +
    "After a kill the same words with the same --id go on where it was.",
  positionals: { plan: { paths: "files", help: "a file: what `sagamesh plan` wrote" } },
  options: {
    app: servedApp,
    input: { type: "string", hint: "JSON", required: true, json: "whole", help: "the workflow's input" },
    id: { type: "string", hint: "KEY", help: "the saga's id; minted unless given" },
  },
  examples: [`sagamesh run trip.plan.json --app app.ts --input '{"people":2}' --id trip-1`],
  run: async ({ plan: file, app: appFile, input: text, id }, context) => {
    const { output, config, signal } = context;
    const input = parseJson(text, "--input");
    const given = id === undefined ? undefined : parseSagaId(id);
    const value = await readPlan(file);
    const bare = await loadApp(appFile);
    const read = planFindings(value, catalogueOfApp(bare));
    if ("findings" in read) {
      const found = read.findings.length;
      const because = `${file} is no plan that ${appFile} can run: ${found} finding${found === 1 ? "" : "s"}`;
      const refusal: PlanRefusal = { code: "PLAN_INVALID", because, findings: [...read.findings], found };
      output.print(refusal, () => describeRefusal(refusal));
      return 1;
    }
    const { plan, warnings } = read;
    warningLines(warnings).forEach(output.note);
    const app = withPlan(bare, plan);
    const definition = app.latest(plan.name, plan.version);
    if (definition === undefined)
      throw new MeshError("PLAN_INVALID", app.faults.join("; ") || `"${plan.name}" is not served`);
    const fits = readWith(definition.input, input);
    if (!fits.success) throw new MeshError("INPUT_INVALID", `the input of ${plan.name}: ${fits.reason}`);
    const saga = given ?? mintSagaId(plan.name, systemClock.now(), systemChance.random());
    let code = 1;
    await runPlan({ config, signal, report: output.note }, app, definition, async (service, until) => {
      const ports = withPatientReads(service.ports, systemClock);
      const deps = { ports, clock: systemClock, chance: systemChance, from: config.from };
      await startSaga(deps, { id: saga, name: plan.name, version: plan.version, input });
      output.note(`started ${saga}`);
      const flow = createFlow((piece) => output.flow(piece, "progress"));
      code = await watchToEnd({ ...context, signal: until }, ports, saga, {
        turn: (lines) => {
          flow.endLine();
          lines.forEach(output.note);
        },
        ...(output.json ? {} : { between: flow.tell }),
      });
    });
    return code;
  },
});

const readPlan = async (file: string): Promise<Json> => parseJson(await readTextFile(file, "run"), file);

/** The application with this plan; an application that lists it already is as it is. */
function withPlan(app: App, plan: Plan): App {
  const { plans = [] } = app.config;
  const isListed = plans.some((one) => canonicalJson(one) === canonicalJson(plan));
  return isListed ? app : defineApp({ ...app.config, plans: [...plans, plan] });
}
