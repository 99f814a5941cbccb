/**
 * Validator context: what a validator is shown of what there is, and how large that is.
 *
 * VC1 A validator is shown what its declaration names and nothing else: no member that is not named, and never the
 *     conversation of the agent whose work it judges unless it says so.
 * VC2 Size is counted before anything is asked: a token for 3.5 bytes of UTF-8, rounded up. That is what text costs
 *     a tokeniser on the average, and what the limit of 1,000 was set in. A budget reserves by another count, a token
 *     for each byte, because it must never be too low; the two are not compared.
 * VC3 Of several declared selections the first that fits is shown. Where none fits, the last is, and its model is not
 *     asked.
 */
import { z } from "zod";
import { shortDigestOf } from "../../protocol/digest.ts";
import { maxOf } from "../../protocol/extremes.ts";
import { canonicalJson, type Json } from "../../protocol/json.ts";
import type { Shown } from "../../protocol/verdict.ts";
import { picked } from "../values/pick.ts";
import { isPointer } from "../values/reference.ts";

/** What keeps its place however long a workflow runs. */
export const pinNames = ["goals", "constraints", "dependencies", "commitments"] as const;
export type PinName = (typeof pinNames)[number];

/** As JSON Schema can say it: a model that calls a validator is shown this. */
const Value = z.json();

const Pinned = z.object({
  goals: Value.optional(),
  constraints: Value.optional(),
  dependencies: Value.optional(),
  commitments: Value.optional(),
});

/** An entry of a log as validators read it: whose it is, and what is kept of its output. */
const LogEntry = z.object({ node: z.string() }).catchall(Value);
export type LogEntry = z.infer<typeof LogEntry>;

/** What there is to be shown, and what is shown of it: the same members, fewer of them. */
export const ValidatorMaterial = z.object({
  item: Value,
  input: Value.optional(),
  outputs: z.record(z.string(), Value).optional(),
  pinned: Pinned.optional(),
  log: z.array(LogEntry).optional(),
  shared: z.record(z.string(), Value).optional(),
  conversation: z.array(Value).optional(),
});

export interface ValidatorMaterial {
  /** What is judged. */
  readonly item: Json;
  /** The input of the workflow, or of the agent that made the item. */
  readonly input?: Json | undefined;
  /** Outputs of those that have committed, by their names. */
  readonly outputs?: Readonly<Record<string, Json>> | undefined;
  readonly pinned?: { readonly [K in PinName]?: Json | undefined } | undefined;
  readonly log?: readonly LogEntry[] | undefined;
  /** What other validators found out and this one needs. */
  readonly shared?: Readonly<Record<string, Json>> | undefined;
  /** The messages of the agent whose work is judged. */
  readonly conversation?: readonly Json[] | undefined;
}

/** All of it, or the parts that these JSON pointers lead to; in them `*` stands for every member. */
export type Parts = true | readonly string[];

/** What a validator is to be shown. What is not named is not shown; the item is, unless parts of it are named. */
export interface MaterialSelection {
  readonly item?: readonly string[];
  readonly input?: Parts;
  /** All outputs, or those of the nodes named. */
  readonly outputs?: true | Readonly<Record<string, Parts>>;
  readonly pinned?: readonly PinName[];
  /** Of these nodes (all unless given), the last so many. */
  readonly log?: { readonly of?: readonly string[]; readonly last?: number };
  /** What other validators share under these names. */
  readonly shared?: readonly string[];
  /** The last messages of the agent whose work is judged. A reason to think twice: what is wrong stands there, too. */
  readonly conversation?: { readonly last: number };
}

const partsOf = (value: Json, parts: Parts): Json => (parts === true ? value : picked(value, parts));

/** VC1. */
export function selected(material: ValidatorMaterial, selection: MaterialSelection): ValidatorMaterial {
  const { input, outputs, pinned, log, shared, conversation } = material;
  const shown: { -readonly [K in keyof ValidatorMaterial]: ValidatorMaterial[K] } = {
    item: selection.item === undefined ? material.item : picked(material.item, selection.item),
  };
  if (selection.input !== undefined && input !== undefined) shown.input = partsOf(input, selection.input);
  if (selection.outputs !== undefined && outputs !== undefined)
    shown.outputs = outputsOf(outputs, selection.outputs);
  if (selection.pinned !== undefined && pinned !== undefined) shown.pinned = only(pinned, selection.pinned);
  if (selection.log !== undefined && log !== undefined) {
    const { of, last } = selection.log;
    const entries = of === undefined ? log : log.filter(({ node }) => of.includes(node));
    shown.log = last === undefined ? entries : lastOf(entries, last);
  }
  if (selection.shared !== undefined && shared !== undefined) shown.shared = only(shared, selection.shared);
  if (selection.conversation !== undefined && conversation !== undefined)
    shown.conversation = lastOf(conversation, selection.conversation.last);
  return shown;
}

const lastOf = <T>(list: readonly T[], n: number): readonly T[] => (n === 0 ? [] : list.slice(-n));

const outputsOf = (
  outputs: Readonly<Record<string, Json>>,
  wanted: true | Readonly<Record<string, Parts>>,
): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(outputs).flatMap(([node, output]) => {
      const parts = wanted === true ? true : Object.hasOwn(wanted, node) ? wanted[node] : undefined;
      return parts === undefined ? [] : [[node, partsOf(output, parts)]];
    }),
  );

const only = <T>(record: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(record, name) ? record[name] : undefined;
      return value === undefined ? [] : [[name, value] as const];
    }),
  );

/** VC2. */
export const textTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesPerToken);
const bytesPerToken = 3.5;

/** What is shown, as the text that a model reads: its members in a fixed order of their names. */
export const shownText = (seen: ValidatorMaterial): string => canonicalJson(seen);

/** How large it is, what stands around it included, and the digest of it. */
export const measured = (
  seen: ValidatorMaterial,
  {
    around = 0,
    tokensMax,
    selection,
  }: { around?: number; tokensMax?: number | undefined; selection: number },
): Shown => ({
  digest: shortDigestOf(seen),
  tokens: around + textTokens(shownText(seen)),
  ...(tokensMax === undefined ? {} : { tokensMax }),
  ...(selection === 0 ? {} : { selection }),
});

/** VC3. */
export function fitting(
  material: ValidatorMaterial,
  selections: readonly MaterialSelection[],
  around: number,
  tokensMax: number,
): { seen: ValidatorMaterial; selection: number } {
  const all = selections.map((selection, k) => ({ seen: selected(material, selection), selection: k }));
  const fits = all.find(({ seen }) => around + textTokens(shownText(seen)) <= tokensMax);
  return fits ?? all.at(-1) ?? { seen: selected(material, {}), selection: 0 };
}

/** One selection with all that any of these shows. */
export function unionOf(selections: readonly MaterialSelection[]): MaterialSelection {
  const given = <K extends keyof MaterialSelection>(name: K): NonNullable<MaterialSelection[K]>[] =>
    selections.flatMap((one) => {
      const value = one[name];
      return value === undefined ? [] : [value];
    });
  const items = given("item");
  const [inputs, outputs, logs, talks] = [
    given("input"),
    given("outputs"),
    given("log"),
    given("conversation"),
  ];
  const [pinned, shared] = [unique(given("pinned").flat()), unique(given("shared").flat())];
  return {
    ...(items.length < selections.length ? {} : { item: unique(items.flat()) }),
    ...(inputs.length === 0 ? {} : { input: joined(inputs) }),
    ...(outputs.length === 0 ? {} : { outputs: outputsJoined(outputs) }),
    ...(pinned.length === 0 ? {} : { pinned }),
    ...(logs.length === 0 ? {} : { log: logsJoined(logs) }),
    ...(shared.length === 0 ? {} : { shared }),
    ...(talks.length === 0 ? {} : { conversation: { last: maxOf(talks.map(({ last }) => last)) } }),
  };
}

const unique = <T>(all: readonly T[]): T[] => [...new Set(all)];

const joined = (all: readonly Parts[]): Parts =>
  all.includes(true) ? true : unique(all.flatMap((parts) => (parts === true ? [] : parts)));

function outputsJoined(
  all: readonly NonNullable<MaterialSelection["outputs"]>[],
): NonNullable<MaterialSelection["outputs"]> {
  const named = new Map<string, Parts>();
  for (const one of all) {
    if (one === true) return true;
    for (const [node, parts] of Object.entries(one)) {
      const before = named.get(node);
      named.set(node, before === undefined ? parts : joined([before, parts]));
    }
  }
  return Object.fromEntries(named);
}

/** Each takes the last of its own nodes again, so of different nodes all entries are needed. */
function logsJoined(
  all: readonly NonNullable<MaterialSelection["log"]>[],
): NonNullable<MaterialSelection["log"]> {
  const isOfAll = all.some(({ of }) => of === undefined);
  const of = unique(all.flatMap((one) => one.of ?? []));
  const isBounded = all.every((one) => one.last !== undefined && one.of === undefined);
  return {
    ...(isOfAll ? {} : { of }),
    ...(isBounded ? { last: maxOf(all.map(({ last = 0 }) => last)) } : {}),
  };
}

/** What is wrong with a selection. */
export function selectionFaults(where: string, selection: MaterialSelection): string[] {
  const { item = [], input, outputs, pinned = [], log, conversation } = selection;
  const parts = [item, input, ...Object.values(outputs === true ? {} : (outputs ?? {}))];
  const pointers = parts.flatMap((one) => (one === undefined || one === true ? [] : one));
  const counts = [log?.last, conversation?.last].filter((count) => count !== undefined);
  return [
    ...pointers.filter((one) => !isPointer(one)).map((one) => `${where}: "${one}" is no JSON pointer`),
    ...pinned
      .filter((name) => !pinNames.includes(name))
      .map((name) => `${where}: nothing is pinned as "${name}"; it is ${pinNames.join(", ")}`),
    ...counts
      .filter((count) => !Number.isInteger(count) || count < 0)
      .map((count) => `${where}: the last ${count} are no number of entries`),
  ];
}
