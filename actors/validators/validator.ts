/**
 * Validator: who judges the work of others, as an actor of its own.
 *
 * A validator is a saga: it has a ledger, it is started like any child, and its verdict is its output. So what was
 * judged, on what, by whom and at what cost stands in ledgers like everything else, and a kill in the middle loses
 * nothing.
 *
 * VA1 Code comes first, as a `read` tool of its own that a worker performs. A model is asked only what the code left
 *     undecided, once, and once more if its answer cannot be read.
 * VA2 A model is asked nothing that is over the limit: the verdict then is undecided, with CONTEXT_TOO_LARGE.
 * VA3 What a check throws, or answers that is no verdict, is no yes: it is undecided.
 */
import { z } from "zod";
import { shortDigestOf } from "../../protocol/digest.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { type Json, Payload, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import {
  ValidatorAnswer,
  type ValidationType,
  ValidatorVerdict,
  type VerdictKind,
} from "../../protocol/verdict.ts";
import { modelCall } from "../machine/callable.ts";
import { defineSaga } from "../saga/define.ts";
import type { SagaDefinition } from "../contract/definition.ts";
import { readWith } from "../values/schema.ts";
import { defineTool, type Implementation, type Tool } from "../contract/tool.ts";
import {
  fitting,
  ValidatorMaterial,
  measured,
  type MaterialSelection,
  selected,
  selectionFaults,
  shownText,
  textTokens,
} from "./context.ts";
import { type Judging, type JudgingContext, judgingMachine, type JudgingPart } from "./machine.ts";
import { type ModelJudge, modelInstructions, modelPrompt, readAnswer, repairPrompt } from "./model.ts";
import type { Budget } from "../contract/budget-config.ts";

/** What a validator is started with. `given` makes it; a model that calls one says no more than `seen.item`. */
export const ValidatorInput = z.object({
  seen: ValidatorMaterial,
  /** The digest of the whole item; of what is shown of it unless given. */
  of: z.string().optional(),
  /** Which of its selections was taken. */
  selection: z.int().nonnegative().optional(),
});
export type ValidatorInput = z.infer<typeof ValidatorInput>;

/** What a combined validator knows of its parts. */
export interface Traits {
  readonly type?: ValidationType | undefined;
  readonly selections: readonly MaterialSelection[];
  readonly tokensMax: number;
  /** Tokens of what stands around what its model is shown. */
  readonly around: number;
  /** Whether a model may be asked. */
  readonly asksModel: boolean;
  readonly gives: readonly string[];
}

/** Who judges. It is a saga: a machine invokes it, an agent calls it, a workflow names it. */
export interface Validator extends SagaDefinition<typeof ValidatorInput, typeof ValidatorVerdict> {
  /** The input that shows it what it declares of what there is, and no more. Pure. */
  given(material: ValidatorMaterial): ValidatorInput;
  readonly traits: Traits;
  /** The tool that performs its code, if it has any: `implementCheck` binds it elsewhere. */
  readonly check?: Tool;
}

/** What a check is given: what the validator is shown, the item as its schema reads it. */
export type CheckedMaterial<T extends z.ZodType> = Omit<ValidatorMaterial, "item"> & {
  readonly item: z.infer<T>;
};

/** A verdict of code, or nothing where the code cannot say. */
export type ValidatorCheck<T extends z.ZodType> = (
  seen: CheckedMaterial<T>,
) => z.input<typeof ValidatorAnswer> | undefined;

/** What a validator is made of. */
export interface ValidatorConfig<T extends z.ZodType = z.ZodType<Json>> {
  /** A letter, then up to 57 letters, digits, _ or -; its tool is `check_<name>`. */
  name: string;
  /** 1 unless given. Raise it when the check decides otherwise than before. */
  version?: number;
  type?: ValidationType;
  description?: string;
  /** What the item must be; one that is not is rejected before the check is asked. */
  item?: T;
  /** What it is shown; the item unless given. Of several the first that fits `tokensMax`. */
  context?: MaterialSelection | readonly MaterialSelection[];
  /** Pure. `elsewhere`: there is one, and `implementCheck` binds it in a file that only workers load. */
  check?: ValidatorCheck<T> | "elsewhere";
  /** `worker` unless given: another process may perform the check. */
  placement?: "worker" | "host";
  /** Asked what the check leaves undecided. */
  model?: ModelJudge;
  /** The most that its model is shown, instructions included; 1,000 tokens unless given, and no more than that. */
  tokensMax?: number;
  /** Names under which its verdicts share what it found out with validators that need it. */
  gives?: readonly string[];
  budget?: Budget;
}

/**
 * Declares a validator. Throws nothing: faults are told when the application is loaded. After a crash in the middle
 * its check is run again, being a read, and its model is asked again at most once for each crash.
 */
export function defineValidator<T extends z.ZodType = z.ZodType<Json>>(
  config: ValidatorConfig<T>,
): Validator {
  const { name, type, model, tokensMax = limits.validatorTokensMax } = config;
  const selections = listOf(config.context);
  const around = model === undefined ? 0 : textTokens(modelInstructions(model)) + textTokens(modelPrompt(""));
  const check = config.check === undefined ? undefined : checkTool(config);
  const traits: Traits = {
    type,
    selections,
    tokensMax,
    around,
    asksModel: model !== undefined,
    gives: config.gives ?? [],
  };
  const faults = selections.flatMap((one) => selectionFaults(`validator ${name}`, one));
  return validatorOf(
    config,
    judgingBy(config, traits, check),
    traits,
    [...faults, ...configFaults(config, around, tokensMax)],
    check,
  );
}

type Context = JudgingContext<ValidatorInput>;

/** VA1, VA2. */
function judgingBy(
  config: Pick<ValidatorConfig, "name" | "model" | "tokensMax">,
  { type, selections, tokensMax, around, gives }: Traits,
  check: Tool | undefined,
): Judging<ValidatorInput> {
  const { name, model } = config;
  const instructions = model === undefined ? "" : modelInstructions(model);
  const may = mayOf(model);
  const stages = stagesOf(check, model);
  const shownOf = ({ given }: Context) =>
    measured(given.seen, {
      around,
      tokensMax: model === undefined ? undefined : tokensMax,
      selection: given.selection ?? 0,
    });
  return {
    name,
    stages,
    needs: (context, stage) => {
      if (answered(context, may) !== undefined) return false;
      const id = stages[stage]?.[0]?.id;
      if (id === "check") return true;
      if (id === "ask") return shownOf(context).tokens <= tokensMax;
      // A model that could not be asked at all is not asked again either.
      const isUnreadable = "output" in (context.ended["ask"] ?? {});
      return isUnreadable && textTokens(instructions) + textTokens(againPrompt(context, may)) <= tokensMax;
    },
    output: (context): ValidatorVerdict => {
      const { by, answer } = answered(context, may) ?? unanswered(context, shownOf(context).tokens, config);
      return {
        ...answer,
        validator: name,
        ...(type === undefined ? {} : { type }),
        ...{
          by,
          shown: shownOf(context),
          judged: context.given.of ?? shortDigestOf(context.given.seen.item),
        },
      };
    },
    identity: toJson([type, selections, model, tokensMax, gives]),
  };
}

/** VA1: the code, then the model, then the model once more. */
function stagesOf(check: Tool | undefined, model: ModelJudge | undefined): JudgingPart<ValidatorInput>[][] {
  const stages: JudgingPart<ValidatorInput>[][] = [];
  if (check !== undefined) stages.push([{ id: "check", callable: check, input: ({ given }) => given.seen }]);
  if (model === undefined) return stages;
  const callable = modelCall({ model: model.model, instructions: modelInstructions(model) });
  const may = mayOf(model);
  return [
    ...stages,
    [{ id: "ask", callable, input: ({ given }) => ({ prompt: modelPrompt(shownText(given.seen)) }) }],
    [{ id: "askAgain", callable, input: (context) => ({ prompt: againPrompt(context, may) }) }],
  ];
}

/** A validator of a machine that judges. */
export function validatorOf(
  {
    name,
    version = 1,
    description,
    budget,
  }: Pick<ValidatorConfig, "name" | "version" | "description" | "budget">,
  judging: Judging<ValidatorInput>,
  traits: Traits,
  faults: readonly string[],
  check?: Tool,
): Validator {
  const saga = defineSaga({
    name,
    version,
    description: description ?? `Judges: ${traits.type ?? name}.`,
    input: ValidatorInput,
    output: ValidatorVerdict,
    signals: {},
    machine: judgingMachine(judging),
    ...(budget === undefined ? {} : { budget }),
  });
  return {
    ...saga,
    definition: { ...saga.definition, faults: [...saga.definition.faults, ...faults] },
    traits,
    ...(check === undefined ? {} : { check }),
    given: (material) => givenTo(traits, material),
  };
}

/** VC1, VC3 of validator-context.ts. */
function givenTo(
  { selections, around, tokensMax, asksModel }: Traits,
  material: ValidatorMaterial,
): ValidatorInput {
  const [first = {}] = selections;
  const { seen, selection } = asksModel
    ? fitting(material, selections, around, tokensMax)
    : { seen: selected(material, first), selection: 0 };
  return {
    seen: seen as ValidatorInput["seen"], // Proof: the same members; only this type calls them writable.
    of: shortDigestOf(material.item),
    ...(selection === 0 ? {} : { selection }),
  };
}

const listOf = (
  context: MaterialSelection | readonly MaterialSelection[] | undefined,
): readonly MaterialSelection[] => (context === undefined ? [{}] : isList(context) ? context : [context]);
const isList = (
  context: MaterialSelection | readonly MaterialSelection[],
): context is readonly MaterialSelection[] => Array.isArray(context);

const mayOf = (model: ModelJudge | undefined): readonly VerdictKind[] => [
  "accept",
  "reject",
  "undecided",
  ...(model?.may ?? []),
];

/** What counts of what was said so far: the code's word if it decided, else the model's if it can be read. */
function answered(
  { ended }: Context,
  may: readonly VerdictKind[],
): { by: "code" | "model"; answer: ValidatorAnswer } | undefined {
  const check = ended["check"];
  if (check !== undefined && "output" in check) {
    const answer = check.output as ValidatorAnswer; // The tool's schema has read it.
    if (answer.verdict !== "undecided") return { by: "code", answer };
  }
  for (const id of ["askAgain", "ask"]) {
    const said = ended[id];
    if (said === undefined || "error" in said) continue;
    const read = readAnswer((said.output as { text: string }).text, may);
    if ("answer" in read) return { by: "model", answer: read.answer };
  }
  return undefined;
}

/** VA2, VA3. Why there is no verdict. */
function unanswered(
  { ended }: Context,
  tokens: number,
  { model, tokensMax = limits.validatorTokensMax }: Pick<ValidatorConfig, "model" | "tokensMax">,
): { by: "code" | "nobody"; answer: ValidatorAnswer } {
  const check = ended["check"];
  const asked = ended["askAgain"] ?? ended["ask"];
  if (model !== undefined && asked === undefined && tokens > tokensMax)
    return nobody(`it would be shown ${tokens} tokens, and ${tokensMax} are the most`, "CONTEXT_TOO_LARGE");
  if (asked !== undefined)
    return "error" in asked
      ? nobody(`the model could not be asked: ${asked.error.reason}`, asked.error.code)
      : nobody("the model's answer is no verdict", "MODEL_REPLY_INVALID");
  if (check === undefined || "error" in check)
    return nobody(
      `the check could not be made: ${check?.error.reason ?? "it was not asked"}`,
      check?.error.code,
    );
  return { by: "code", answer: check.output as ValidatorAnswer };
}

const nobody = (reason: string, code: string | undefined): { by: "nobody"; answer: ValidatorAnswer } => ({
  by: "nobody",
  answer: {
    verdict: "undecided",
    reason: reason.slice(0, limits.reasonLengthMax),
    ...(code === undefined || code === "" ? {} : { code }),
  },
});

function againPrompt({ given, ended }: Context, may: readonly VerdictKind[]): string {
  const said = ended["ask"];
  const read =
    said !== undefined && "output" in said
      ? readAnswer((said.output as { text: string }).text, may)
      : undefined;
  const fault = read !== undefined && "fault" in read ? read.fault : "there was none";
  return repairPrompt(modelPrompt(shownText(given.seen)), fault);
}

/** VA1. */
const checkTool = ({
  name,
  type,
  item,
  check,
  placement,
}: ValidatorConfig<never> | ValidatorConfig<z.ZodType>): Tool =>
  defineTool({
    name: `check_${name}`,
    description: `The code of the validator ${name}${type === undefined ? "" : ` (${type})`}.`,
    effect: "read",
    placement: placement ?? "worker",
    input: ValidatorMaterial,
    output: ValidatorAnswer,
    ...(typeof check === "function" ? { perform: bodyOf(item, check as ValidatorCheck<z.ZodType>) } : {}),
  });

/**
 * Binds a validator's check in a file that only workers load. Pure, like one that stands in the definition. Throws
 * APP_INVALID for a validator that declares none.
 */
export function implementCheck(validator: Validator, check: ValidatorCheck<z.ZodType<Json>>): Implementation {
  const { check: tool, name } = validator;
  if (tool === undefined)
    throw new MeshError(
      "APP_INVALID",
      `the validator ${name} declares no check: define it with check: "elsewhere"`,
    );
  return { tool, body: { perform: bodyOf(Payload, check) }, faults: [] };
}

const bodyOf =
  (item: z.ZodType | undefined, check: ValidatorCheck<z.ZodType>) =>
  (seen: ValidatorMaterial): Promise<ValidatorAnswer> =>
    // eslint-disable-next-line no-restricted-syntax -- a tool's body is asynchronous; the check in it is pure
    Promise.resolve(judgedBy(item, check, seen));

/** VA3. What a check says, whatever it does. */
export function judgedBy(
  item: z.ZodType | undefined,
  check: ValidatorCheck<z.ZodType>,
  seen: ValidatorMaterial,
): ValidatorAnswer {
  const read =
    item === undefined ? { success: true as const, data: seen.item as unknown } : readWith(item, seen.item);
  if (!read.success)
    return {
      verdict: "reject",
      reason: `what is judged has not its form: ${read.reason}`.slice(0, limits.reasonLengthMax),
    };
  try {
    const said = check({ ...seen, item: read.data });
    if (said === undefined) return { verdict: "undecided", reason: "the code cannot say" };
    const answer = readWith(ValidatorAnswer, toJson(said));
    if (answer.success) return answer.data;
    return {
      verdict: "undecided",
      reason: `the check answered what is no verdict: ${answer.reason}`.slice(0, limits.reasonLengthMax),
    };
  } catch (error) {
    return {
      verdict: "undecided",
      reason: `the check threw: ${describeError(error)}`.slice(0, limits.reasonLengthMax),
    };
  }
}

/** What is wrong with a validator besides its name and its selections. */
function configFaults(
  { name, check, model, context }: Pick<ValidatorConfig<never>, "name" | "check" | "model" | "context">,
  around: number,
  tokensMax: number,
): string[] {
  const where = `validator ${name}`;
  const faults: string[] = [];
  if (check === undefined && model === undefined) faults.push(`${where}: it needs a check or a model`);
  if (Array.isArray(context) && context.length === 0) faults.push(`${where}: it has no selection to show`);
  if (!(Number.isInteger(tokensMax) && tokensMax >= 1 && tokensMax <= limits.validatorTokensMax))
    faults.push(
      `${where}: tokensMax is ${tokensMax}, not a whole number from 1 to ${limits.validatorTokensMax}`,
    );
  else if (model !== undefined && around >= tokensMax)
    faults.push(`${where}: its guidance alone is ${around} tokens, and ${tokensMax} are the most`);
  return faults;
}
