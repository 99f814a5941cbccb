/**
 * Inherit: policies bound from above, a mesh's to what it serves and an agent's to its sub-agents.
 *
 * IH1 What is bound is another definition, with a hash of its own: a ledger names the one it was decided by.
 * IH2 The same definition under the same policies is the same object, in every process the same hash.
 */
import { digestOf } from "../../protocol/digest.ts";
import { canonicalJson } from "../../protocol/json.ts";
import type { Definition } from "./definition.ts";
import type { Policy } from "./policy.ts";

/** How policies stand in a hash and in the registry. */
export const policyNames = (policies: readonly Policy[] | undefined): string[] | undefined =>
  policies === undefined || policies.length === 0 ? undefined : policies.map(({ name }) => name);

/** What is wrong with policies: with their names, and with their parameters. */
export const policyFaults = (where: string, policies: readonly Policy[]): string[] =>
  policies.flatMap(({ name, faults = [] }) =>
    typeof name === "string" && name !== "" && name !== "__proto__"
      ? faults.map((fault) => `${where}: policy "${name}": ${fault}`)
      : [`${where}: "${name}" is no policy's name`],
  );

/** What a policy of a saga or tool is to the sub-agents below it. */
export function inheritedOf(policy: Policy): Policy {
  if (policy.inherited !== undefined) return policy.inherited;
  if (policy.memory === undefined) return policy;
  const known = usedUp.get(policy) ?? asUsedUp(policy, policy.memory);
  usedUp.set(policy, known);
  return known;
}

/** IH2. What is derived is kept as long as what it is derived from. */
const usedUp = new WeakMap<Policy, Policy>();
const bound = new WeakMap<Definition, { above: readonly Policy[]; definition: Definition }[]>();

/** A policy that counts, where another saga does the counting: what would change its memory is denied. */
const asUsedUp = (policy: Policy, memory: NonNullable<Policy["memory"]>): Policy => ({
  name: `${policy.name} (in a sub-agent)`,
  judge: (question) =>
    canonicalJson(memory.next(memory.initial, question)) === canonicalJson(memory.initial)
      ? policy.judge(question, memory.initial)
      : { deny: `${question.tool} counts in the parent and must be called there` },
});

/** The definition under policies from above, which come first; itself if there are none. */
export function underPolicies(base: Definition, above: readonly Policy[]): Definition {
  if (above.length === 0) return base;
  const known = bound.get(base) ?? [];
  const same = known.find(
    (one) => one.above.length === above.length && above.every((p, k) => p === one.above[k]),
  );
  if (same !== undefined) return same.definition;
  const definition: Definition = {
    ...base,
    hash: digestOf([base.hash, above.map(({ name }) => name)]).slice(0, 16),
    parts: { ...base.parts, "policies from above": digestOf(above.map(({ name }) => name)).slice(0, 16) },
    policies: [...above, ...base.policies],
    sagas: heirs(base.sagas, above),
    plain: base.plain ?? base,
  };
  bound.set(base, [...known, { above, definition }]);
  return definition;
}

/** Children under the policies of the one that starts them. */
export const heirs = (
  children: Iterable<readonly [string, Definition]>,
  above: readonly Policy[],
): ReadonlyMap<string, Definition> =>
  new Map([...children].map(([name, child]) => [name, underPolicies(child, above.map(inheritedOf))]));

const reached = new WeakMap<Definition, readonly string[]>();

/** The tools of a definition and of all that it can start, each once. */
export function toolsReached(definition: Definition): readonly string[] {
  const known = reached.get(definition);
  if (known !== undefined) return known;
  const below = [...definition.sagas.values()].flatMap(toolsReached);
  const all = [...new Set([...definition.tools.keys(), ...below])];
  reached.set(definition, all);
  return all;
}
