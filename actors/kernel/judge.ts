/**
 * Judge: a proposed call before the policies. Says why not, or the call as it may be made and what must be agreed
 * to before.
 *
 * JU1 What comes out was allowed by every policy as it is: after a rewriting all of them are asked again, those
 *     that come before the one that rewrote, too.
 * JU2 A policy that throws, or answers what is no verdict, guards nothing: it denies.
 * JU3 The mesh's policies come first, then the definition's own, then the tool's. The first denial is told.
 * JU4 A policy cannot change what it is shown, neither the call nor a memory: it is frozen, and trying to throws.
 */
import { assertNoReference } from "../../protocol/codec.ts";
import { digestOf, shortHash } from "../../protocol/digest.ts";
import { describeError } from "../../protocol/errors.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Definition } from "../contract/definition.ts";
import type { Folding } from "./folding.ts";
import { givenFor, readWith } from "../values/schema.ts";
import { toolsReached } from "../contract/inherit.ts";
import { decider } from "./lineage.ts";
import type { Policy, PolicyQuestion } from "../contract/policy.ts";
import type { ProposedCall } from "../contract/state.ts";
import type { LineTerms } from "../contract/terms.ts";
import type { Tool } from "../contract/tool.ts";

/** What a judged call is of: a tool, or the saga or agent that it starts. */
export type Callee = Tool | Definition;

export interface Refusal {
  readonly code: "CALL_INVALID" | "POLICY_DENIED";
  readonly reason: string;
}

export interface Ruling {
  /** As it may be made, rewritten or not. */
  readonly call: ProposedCall;
  /** Terms that policies ask for, not yet checked. */
  readonly demands: readonly { readonly by: string; readonly terms: unknown }[];
  /** What the policies remember once the call is an intent. */
  readonly guards: Folding["state"]["guards"];
}

/** A policy as it judges this call: `key` is where its memory stands. */
interface Bound {
  readonly key: string;
  readonly policy: Policy;
}

/** Asks all policies about a call. Pure: nothing of the fold changes. */
export function judge(f: Folding, callee: Callee, proposed: ProposedCall): Ruling | Refusal {
  const policies = policiesOf(f.definition, callee);
  const mayBeNothing = f.state.follows !== undefined && proposed.from === undefined;
  let call = mayBeNothing ? { ...proposed, input: givenFor(callee.input, proposed.input) } : proposed;
  for (let rewritten = 0; rewritten <= limits.rewritesMax; rewritten++) {
    // JU4. What some schemas read is the very value that they were given, and that stands in the ledger.
    const read = readWith(callee.input, policies.length === 0 ? call.input : structuredClone(call.input));
    if (!read.success) return { code: "CALL_INVALID", reason: blamed(call, read.reason) };
    if (policies.length === 0) return { call, demands: [], guards: f.state.guards };
    const asked = ask(f, policies, call, questionOf(f, callee, read.data));
    if (!("rewrite" in asked)) return asked;
    call = { ...call, input: asked.rewrite, rewritten: { by: asked.by, digest: digestOf(asked.rewrite) } };
  }
  return denied(call.rewritten?.by ?? "", `rewrote ${callee.name} again and again`);
}

/** Whose fault an input is that does not fit. */
const blamed = ({ rewritten }: ProposedCall, reason: string): string =>
  rewritten === undefined ? reason : `as the policy ${rewritten.by} rewrote it: ${reason}`;

const denied = (policy: string, reason: string): Refusal => ({
  code: "POLICY_DENIED",
  reason: `policy ${policy}: ${reason}`,
});

/** JU3. One that is bound twice is asked once; two of one name remember apart, and a tool's its own calls only. */
function policiesOf({ policies }: Definition, callee: Callee): Bound[] {
  const ofTool = callee.kind === "tool" ? (callee.policies ?? []) : [];
  if (policies.length + ofTool.length === 0) return [];
  const named = [
    ...policies.map((policy) => ({ policy, name: policy.name })),
    ...ofTool.map((policy) => ({ policy, name: `${callee.name}/${policy.name}` })),
  ].filter(({ policy }, k, all) => all.findIndex((other) => other.policy === policy) === k);
  return named.map(({ policy, name }, k) => {
    const alike = named.slice(0, k).filter((other) => other.name === name).length;
    return { policy, key: alike === 0 ? name : `${name}#${alike + 1}` };
  });
}

const questionOf = (f: Folding, callee: Callee, input: unknown): PolicyQuestion =>
  Object.freeze({
    saga: decider(f.state),
    agent: f.definition.name,
    kind: callee.kind === "tool" ? "tool" : callee.kind.name,
    tool: callee.name,
    effect: callee.kind === "tool" ? callee.effect : undefined,
    input: frozen(input),
    at: f.at,
    flags: frozen(f.state.flags ?? []),
    reaches: frozen(callee.kind === "tool" ? [callee.name] : toolsReached(callee)),
  });

/** JU4. As far as a value is made of lists and plain objects; what a schema makes of classes is left alone. */
function frozen<T>(value: T): T {
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value ?? 0) === Object.prototype;
  if (!isPlain || Object.isFrozen(value)) return value;
  for (const member of Object.values(value as object)) frozen(member);
  return Object.freeze(value);
}

/** One round over all policies, up to the first that denies or rewrites. */
function ask(
  f: Folding,
  policies: readonly Bound[],
  call: ProposedCall,
  question: PolicyQuestion,
): Ruling | Refusal | { rewrite: Json; by: string } {
  const demands: { by: string; terms: unknown }[] = [];
  for (const { key, policy } of policies) {
    const said = attempt(() => policy.judge(question, memoryOf(f, key, policy)));
    if ("threw" in said) return denied(policy.name, `threw: ${said.threw}`);
    if (said.value === undefined) continue;
    const verdict = readVerdict(said.value);
    if (verdict === undefined) return denied(policy.name, "answered what is no verdict");
    if ("deny" in verdict) return denied(policy.name, verdict.deny);
    if ("approve" in verdict) demands.push({ by: policy.name, terms: verdict.approve });
    else if (changes(call, question, policy, verdict.rewrite))
      return { rewrite: verdict.rewrite, by: policy.name };
  }
  const guards = remembered(f, policies, question);
  return "code" in guards ? guards : { call, demands, guards: guards.guards };
}

function attempt<T>(body: () => T): { value: T } | { threw: string } {
  try {
    return { value: body() };
  } catch (error) {
    return { threw: error instanceof Error ? describeError(error) : "what is no Error" };
  }
}

/** JU2. Exactly one of the three, in a form that can be recorded. */
function readVerdict(said: unknown): { deny: string } | { approve: unknown } | { rewrite: Json } | undefined {
  if (typeof said !== "object" || said === null || Object.keys(said).length !== 1) return undefined;
  if ("deny" in said) return typeof said.deny === "string" ? { deny: said.deny } : undefined;
  if ("approve" in said) return typeof said.approve === "object" ? { approve: said.approve } : undefined;
  if (!("rewrite" in said)) return undefined;
  const written = attempt(() => {
    const input = toJson(said.rewrite); // Throws for a cycle.
    assertNoReference(input);
    return input;
  });
  return "value" in written ? { rewrite: written.value } : undefined;
}

/**
 * Whether a rewriting says anything else than the call, as it was proposed or as it was shown. A policy is not asked
 * to rewrite again what it has just written.
 */
function changes(
  { input, rewritten }: ProposedCall,
  question: PolicyQuestion,
  { name }: Policy,
  rewrite: Json,
): boolean {
  if (rewritten?.by === name && rewritten.digest === digestOf(input)) return false;
  const shown = attempt(() => canonicalJson(toJson(question.input)));
  const written = canonicalJson(rewrite);
  return written !== canonicalJson(input) && !("value" in shown && shown.value === written);
}

const memoryOf = ({ state }: Folding, key: string, { memory }: Policy): Json =>
  Object.hasOwn(state.guards ?? {}, key)
    ? frozen(state.guards?.[key] ?? null)
    : frozen(toJson(memory?.initial));

/** The memories after the call. One that grows over its bound denies: the state holds no history. */
function remembered(
  f: Folding,
  policies: readonly Bound[],
  question: PolicyQuestion,
): { guards: Ruling["guards"] } | Refusal {
  let { guards } = f.state;
  for (const { key, policy } of policies) {
    const { memory } = policy;
    if (memory === undefined) continue;
    const before = memoryOf(f, key, policy);
    const next = attempt(() => toJson(memory.next(before, question)));
    if ("threw" in next) return denied(policy.name, `threw: ${next.threw}`);
    const text = canonicalJson(next.value);
    if (text.length > limits.guardBytesMax)
      return denied(policy.name, `would remember more than ${limits.guardBytesMax} bytes`);
    if (text !== canonicalJson(before)) guards = { ...guards, [key]: next.value };
  }
  return { guards };
}

/**
 * What people have agreed to: these arguments, on these terms. A yes to one amount is none to another, and where
 * silence denies, a yes by silence is none. The deadlines are no part of it, for they may follow from the time.
 */
export function agreement({ input }: ProposedCall, { line, otherwise }: LineTerms): string {
  const people = line.map(({ withinMs: _, ...terms }) => terms);
  return shortHash(canonicalJson([input, people, otherwise]), 22);
}
