/**
 * Validators made of validators. Each part stays an actor of its own, with a context of its own; the whole shows each
 * no more than that one declares.
 *
 * VB1 Parts without a model are asked before those with one, and these only if it still matters.
 * VB2 A part that needs what another shares is asked after it. One whose giver could not say is asked all the same,
 *     and sees that it is missing.
 */
import { shortDigestOf } from "../../protocol/digest.ts";
import { maxOf } from "../../protocol/extremes.ts";
import { toJson } from "../../protocol/json.ts";
import { type ValidationType, ValidatorVerdict } from "../../protocol/verdict.ts";
import { type Validator, type ValidatorInput, validatorOf } from "./validator.ts";
import { type ValidatorMaterial, measured, unionOf } from "./context.ts";
import type { Ended, JudgingContext, JudgingPart } from "./machine.ts";
import { combined, isSettled, type Mode, partsOf } from "../values/verdicts.ts";

/** What a validator that is made of others is called. */
export interface CombinedConfig {
  name: string;
  /** 1 unless given. */
  version?: number;
  description?: string;
}

/** Every part must hold. One refusal is enough, and then no model is asked. */
export const allOfValidators = (config: CombinedConfig, parts: readonly Validator[]): Validator =>
  combinedOf("all", config, parts);

/** One part must hold, and then no other is asked. */
export const anyOfValidators = (config: CombinedConfig, parts: readonly Validator[]): Validator =>
  combinedOf("any", config, parts);

/** Asked one after the other, the cheap first, until one is no longer undecided. */
export const tieredValidators = (config: CombinedConfig, parts: readonly Validator[]): Validator =>
  combinedOf("tiered", config, parts);

/** One validator for each type of what can be wrong; every one must hold. */
export function validatorsByType(
  config: CombinedConfig,
  parts: Readonly<Partial<Record<ValidationType, Validator>>>,
): Validator {
  const named = Object.entries(parts);
  const faults = named.flatMap(([type, { name, traits }]) =>
    traits.type === type
      ? []
      : [`validator ${config.name}: "${name}" is of the type ${traits.type ?? "none"}, not ${type}`],
  );
  return combinedOf(
    "all",
    config,
    named.map(([, part]) => part),
    faults,
  );
}

type Context = JudgingContext<ValidatorInput>;

function combinedOf(
  mode: Mode,
  config: CombinedConfig,
  parts: readonly Validator[],
  faults: readonly string[] = [],
): Validator {
  const { name } = config;
  const byName = new Map(parts.map((part) => [part.name, part]));
  const stages = stagesOf(mode, parts).map((stage) =>
    stage.map((part): JudgingPart<ValidatorInput> => ({
      id: part.name,
      callable: part,
      input: (context: Context) => toJson(part.given(materialOf(context, byName))),
    })),
  );
  const said = (context: Context): ValidatorVerdict[] =>
    parts.flatMap((part) => {
      const ended = Object.hasOwn(context.ended, part.name) ? context.ended[part.name] : undefined;
      return ended === undefined ? [] : [verdictOf(part, part.given(materialOf(context, byName)), ended)];
    });
  const judging = {
    name,
    stages,
    needs: (context: Context, _stage: number) => !isSettled(mode, said(context)),
    output: (context: Context): ValidatorVerdict => {
      const { given } = context;
      const verdicts = said(context);
      const unasked = parts.map((part) => part.name).filter((one) => !Object.hasOwn(context.ended, one));
      return {
        ...combined(mode, verdicts),
        ...{ validator: name, by: "parts", parts: partsOf(verdicts) },
        shown: measured(given.seen, { selection: 0 }),
        judged: given.of ?? shortDigestOf(given.seen.item),
        ...(unasked.length === 0 ? {} : { unasked }),
      };
    },
    identity: toJson([mode, parts.map((part) => [part.name, part.definition.hash])]),
  };
  const traits = {
    selections: [unionOf(parts.flatMap((part) => part.traits.selections))],
    tokensMax: Number.MAX_SAFE_INTEGER,
    around: 0,
    // It is code: what its parts' models are shown is bounded there.
    asksModel: parts.some((part) => part.traits.asksModel),
    gives: [...new Set(parts.flatMap((part) => part.traits.gives))],
  };
  return validatorOf(config, judging, traits, [...faults, ...partFaults(name, parts)]);
}

/** What was given, with what those that were asked before share. */
function materialOf({ given, ended }: Context, parts: ReadonlyMap<string, Validator>): ValidatorMaterial {
  const shared = [...parts.keys()].flatMap((name) => {
    const one = Object.hasOwn(ended, name) ? ended[name] : undefined;
    const read = one !== undefined && "output" in one ? ValidatorVerdict.safeParse(one.output) : undefined;
    return read?.data?.shares === undefined ? [] : [read.data.shares];
  });
  if (shared.length === 0) return given.seen;
  return { ...given.seen, shared: Object.assign({}, given.seen.shared, ...shared) as Record<string, never> };
}

/** A part that failed could not say. */
function verdictOf(part: Validator, given: ValidatorInput, ended: Ended<unknown>): ValidatorVerdict {
  if ("output" in ended) return ended.output as ValidatorVerdict; // The saga's output schema has read it.
  const { code, reason } = ended.error;
  return {
    ...{ verdict: "undecided", reason: `it could not be asked: ${reason}` },
    ...(code === "" ? {} : { code }),
    ...{ validator: part.name, by: "nobody" },
    ...(part.traits.type === undefined ? {} : { type: part.traits.type }),
    shown: measured(given.seen, { around: part.traits.around, selection: given.selection ?? 0 }),
    judged: given.of ?? "",
  };
}

/** VB1, VB2. Each part's stage; empty ones left out. */
function stagesOf(mode: Mode, parts: readonly Validator[]): Validator[][] {
  if (mode === "tiered") return parts.map((part) => [part]);
  const placed = new Map<Validator, number>();
  const place = (part: Validator, above: readonly Validator[]): number => {
    const known = placed.get(part);
    if (known !== undefined) return known;
    if (above.includes(part)) return 0; // In a ring of needs none can be first; partFaults tells.
    const after = giversOf(part, parts).map((giver) => place(giver, [...above, part]) + 1);
    const first = part.traits.asksModel ? parts.length : 0;
    const stage = maxOf(after, first);
    placed.set(part, stage);
    return stage;
  };
  const stages = new Map<number, Validator[]>();
  for (const part of parts) {
    const stage = place(part, []);
    stages.set(stage, [...(stages.get(stage) ?? []), part]);
  }
  return [...stages].sort(([a], [b]) => a - b).map(([, stage]) => stage);
}

const needsOf = ({ traits }: Validator): string[] =>
  traits.selections.flatMap(({ shared = [] }) => [...shared]);

const giversOf = (part: Validator, parts: readonly Validator[]): Validator[] =>
  parts.filter((other) => other !== part && other.traits.gives.some((name) => needsOf(part).includes(name)));

function partFaults(name: string, parts: readonly Validator[]): string[] {
  const where = `validator ${name}`;
  const faults: string[] = parts.length === 0 ? [`${where}: it is made of no validator`] : [];
  for (const part of parts) {
    if (parts.filter((other) => other.name === part.name).length > 1)
      faults.push(`${where}: two of its validators are named "${part.name}"`);
    const reached = new Set<Validator>();
    const open = giversOf(part, parts);
    for (let next = open.pop(); next !== undefined; next = open.pop())
      if (!reached.has(next)) {
        reached.add(next);
        open.push(...giversOf(next, parts));
      }
    if (reached.has(part)) faults.push(`${where}: "${part.name}" needs what rests on its own verdict`);
  }
  return faults;
}
