/**
 * Policies: the guardrails that come with sagamesh. Each is told by its name in denials and in hashes, so the name
 * holds the parameters; a function's text is no parameter, so give another `name` when it decides otherwise.
 */
import { z } from "zod";
import { shortHash } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import { canonicalJson } from "../../protocol/json.ts";
import type { Approval } from "../contract/approval.ts";
import type { Callable } from "../machine/callable.ts";
import { readWith } from "../values/schema.ts";
import type { Policy, PolicyQuestion } from "../contract/policy.ts";

/** A tool, a saga or an agent, by its name. */
type Called<I extends z.ZodType = z.ZodType> = Pick<Callable<I>, "name" | "input">;

/** The input of whichever of these is called. Proof: it was read with that callee's own schema. */
const inputOf = <C extends Called>({ input }: PolicyQuestion): z.infer<C["input"]> =>
  input as z.infer<C["input"]>;

const namesOf = (called: Called | readonly Called[]): string[] =>
  (Array.isArray(called) ? (called as readonly Called[]) : [called as Called]).map(nameOf);

/** Throws APP_INVALID for what is no callee: in plain JavaScript, an import that is misspelt is undefined. */
function nameOf(called: Called | undefined): string {
  const name: unknown = (called as Partial<Called> | null | undefined)?.name;
  if (typeof name === "string") return name;
  throw new MeshError("APP_INVALID", "a policy names what is called, and was given no tool, saga or agent", {
    remedy:
      "Give it what defineTool, defineSaga or defineAgent returned; see that the import is spelt right.",
  });
}

const short = (value: unknown): string => shortHash(canonicalJson(value), 8);

/** Only these may be called. Sub-agents are calls, too, and what they call in their turn must be among these. */
export function allowOnly(called: readonly Called[]): Policy {
  const names = namesOf(called);
  return {
    name: `allow_only ${names.join("+")}`,
    judge: ({ tool }) =>
      names.includes(tool) ? undefined : { deny: `only ${names.join(", ") || "nothing"} may be called` },
  };
}

/** None of these may be called, by no saga of the tree. */
export function denyTools(called: readonly Called[]): Policy {
  const names = namesOf(called);
  return {
    name: `deny_tools ${names.join("+")}`,
    judge: ({ tool }) => (names.includes(tool) ? { deny: `${tool} may not be called` } : undefined),
  };
}

/**
 * A call's arguments must fit a schema, or their members patterns. A pattern is for a text and must match the whole
 * of it, whatever its own anchors and flags say; a member that is absent or no text does not match. Write patterns
 * that say what is allowed: of what is forbidden there is always another spelling.
 */
export function argumentsMatch<C extends Called>(
  tool: C,
  shape: z.ZodType | Readonly<Partial<Record<keyof z.infer<C["input"]> & string, RegExp | z.ZodType>>>,
): Policy {
  const schema = shape instanceof z.ZodType ? shape : membersSchema(shape as Members);
  return {
    name: `arguments_match ${nameOf(tool)} ${short(shape instanceof z.ZodType ? shownOf(schema) : sourcesOf(shape as Members))}`,
    judge: (question) => {
      if (question.tool !== tool.name) return undefined;
      const read = readWith(schema, question.input);
      return read.success ? undefined : { deny: read.reason };
    },
  };
}

type Members = Readonly<Record<string, RegExp | z.ZodType>>;

const shownOf = (schema: z.ZodType): unknown =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });

const sourcesOf = (members: Members): unknown =>
  Object.entries(members).map(([name, one]) => [name, one instanceof RegExp ? String(one) : shownOf(one)]);

const membersSchema = (members: Members): z.ZodType =>
  z.looseObject(
    Object.fromEntries(
      Object.entries(members).map(([name, one]) => [
        name,
        one instanceof RegExp ? z.string().regex(whole(one)) : one,
      ]),
    ),
  );

/** Without `m`, by which the ends of a line would do, and without `g` and `y`, by which a pattern has a memory. */
const whole = ({ source, flags }: RegExp): RegExp =>
  new RegExp(`^(?:${source})$`, flags.replaceAll(/[gmy]/g, ""));

/** Calls of this tool, saga or agent need people's agreement, on terms that may depend on the input. */
export const needsApproval = <C extends Called>(
  tool: C,
  terms: Approval | ((input: z.infer<C["input"]>) => false | Approval),
): Policy => ({
  name: `needs_approval ${nameOf(tool)}${typeof terms === "function" ? "" : ` ${short(terms)}`}`,
  judge: (question) => {
    if (question.tool !== tool.name) return undefined;
    const approve = typeof terms === "function" ? terms(inputOf<C>(question)) : terms;
    return approve === false ? undefined : { approve };
  },
});

/** What counts add up: how much a call takes, and how much a sub-agent's start sets aside. */
interface Tally {
  readonly name: string;
  /** Undefined: every call. */
  readonly names: readonly string[] | undefined;
  readonly max: number;
  readonly delegate: number | undefined;
  readonly amountOf: (question: PolicyQuestion) => number;
  readonly exceeded: (left: number) => string;
}

/**
 * A sum that only grows. A sub-agent cannot see what its siblings spend at the same time, so it has what was set
 * aside for it when it was started, or nothing; what it leaves is not given back.
 */
function tally({ name, names, max, delegate, amountOf, exceeded }: Tally): Policy<number> {
  const counts = (tool: string) => names === undefined || names.includes(tool);
  const taken = (question: PolicyQuestion): number => {
    if (question.kind !== "tool" && !names?.includes(question.tool))
      return question.reaches.some(counts) ? (delegate ?? 0) : 0;
    return counts(question.tool) ? amountOf(question) : 0;
  };
  const delegated = {
    name: `${name} (delegated)`,
    names,
    max: delegate ?? 0,
    delegate: undefined,
    amountOf,
    exceeded,
  };
  const bounds = { max, ...(delegate === undefined ? {} : { delegate }) };
  return {
    name,
    judge: (question, sum) => {
      const amount = taken(question);
      if (!(amount >= 0) || !Number.isFinite(amount))
        return { deny: `${amount} is no amount: a number from 0` };
      if (sum + amount <= max) return undefined;
      return {
        deny: question.kind === "tool" ? exceeded(max - sum) : `${max - sum} is left to be delegated`,
      };
    },
    memory: { initial: 0, next: (sum, question) => sum + taken(question) },
    ...(delegate === undefined ? {} : { inherited: tally(delegated) }),
    faults: Object.entries(bounds).flatMap(([bound, value]) =>
      value >= 0 && value <= Number.MAX_SAFE_INTEGER ? [] : [`${bound} is ${value}, not a number from 0`],
    ),
  };
}

/**
 * At most `n` calls of this tool, saga or agent in one saga, whatever becomes of them; retries are no calls.
 * Sub-agents have none, unless each is started with `delegate` of them.
 */
export const callsAtMost = (
  tool: Called,
  n: number,
  { delegate }: { delegate?: number } = {},
): Policy<number> =>
  tally({
    ...{
      name: `at_most ${n} ${nameOf(tool)}${delegating(delegate)}`,
      names: [nameOf(tool)],
      max: n,
      delegate,
    },
    amountOf: () => 1,
    exceeded: () => `${tool.name} may be called ${n} times at most`,
  });

const delegating = (delegate: number | undefined) =>
  delegate === undefined ? "" : ` delegating ${delegate}`;

/**
 * At most `max` in one saga, summed over what was decided: what failed, is in doubt or was undone stays counted, or
 * a model could get a sum twice by undoing it in between. Amounts are whole numbers best, cents for example: of
 * fractions 0.1 + 0.2 is more than 0.3. Sub-agents have nothing to spend, unless each is started with `delegate`,
 * which is then taken out of this sum.
 */
export function spendAtMost<C extends Called>(config: {
  /** All calls, if it is left out. */
  tool?: C | readonly C[];
  amount: (input: z.infer<C["input"]>) => number;
  max: number;
  delegate?: number;
  name?: string;
}): Policy<number> {
  const { tool, amount, max, delegate } = config;
  const names = tool === undefined ? undefined : namesOf(tool);
  return tally({
    name: config.name ?? `spend_at_most ${max} ${names?.join("+") ?? "in_all"}${delegating(delegate)}`,
    ...{ names, max, delegate },
    amountOf: (question) => amount(inputOf<C>(question)),
    exceeded: (left) => `${left} of ${max} is left`,
  });
}

const kindCharacters = 8;

/**
 * No two calls of this tool, saga or agent with the same `by(input)`, a text, in one saga. Texts that only look
 * alike are the same (Unicode NFKC); fold case and spaces in `by`. What is remembered is 48 bits of each, so 8000
 * kinds are the most, and chance denies a new one less often than once in 10^10. Sub-agents may make none.
 */
export const noTwoOfAKind = <C extends Called>(
  tool: C,
  by: (input: z.infer<C["input"]>) => string,
): Policy<string> => ({
  name: `no_two_of_a_kind ${nameOf(tool)}`,
  judge: (question, seen) => {
    if (question.tool !== tool.name) return undefined;
    const kind = by(inputOf<C>(question));
    if (typeof kind !== "string") return { deny: "its kind is no text" };
    return holds(seen, codeOf(kind)) ? { deny: `there was one of this kind before` } : undefined;
  },
  memory: {
    initial: "",
    next: (seen, question) => (question.tool === tool.name ? seen + codeOf(by(inputOf<C>(question))) : seen),
  },
});

const codeOf = (kind: string): string => shortHash(kind.normalize("NFKC"), kindCharacters);

function holds(seen: string, code: string): boolean {
  for (let at = seen.indexOf(code); at !== -1; at = seen.indexOf(code, at + 1))
    if (at % kindCharacters === 0) return true;
  return false;
}
