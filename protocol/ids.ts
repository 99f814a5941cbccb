/**
 * Ids: one schema, one parser, one minter each. A bare string is never an id.
 *
 * ID1 An id holds no dot, no space and no wildcard, so it is one token of a subject.
 */
import { z } from "zod";
import { sha256 } from "./digest.ts";
import { MeshError } from "./errors.ts";

/** A saga's id: 1 to 64 of a-z, 0-9, `-` and `_`. Minted, given by the caller, or derived for a child. */
export const SagaId = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/)
  .brand<"SagaId">();
export type SagaId = z.infer<typeof SagaId>;

/** `<turn>-<k>`: the k-th intent of the turn that decided it. */
export const IntentId = z
  .string()
  .regex(/^[1-9][0-9]{0,9}-[0-9]{1,5}$/)
  .brand<"IntentId">();
export type IntentId = z.infer<typeof IntentId>;

/** Names of definitions, tools, models and signals: the first is a letter. */
export const Name = z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/);

/** Reads a saga's id. Throws BAD_ID. */
export function parseSagaId(text: string): SagaId {
  const parsed = SagaId.safeParse(text);
  if (!parsed.success) throw new MeshError("BAD_ID", `"${text}" is not a saga id`);
  return parsed.data;
}

/** Reads an intent's id. Throws BAD_ID. */
export function parseIntentId(text: string): IntentId {
  const parsed = IntentId.safeParse(text);
  if (!parsed.success) throw new MeshError("BAD_ID", `"${text}" is not an intent id`);
  return parsed.data;
}

/** The id of the k-th intent of a turn, from 0. */
export const intentId = (turn: number, k: number): IntentId => `${turn}-${k}` as IntentId;

/** The turn that decided an intent. */
export const turnOf = (id: IntentId): number => Number(id.slice(0, id.indexOf("-")));

/** An intent's place among those of its turn, from 0. */
export const placeOf = (id: IntentId): number => Number(id.slice(id.indexOf("-") + 1));

/** A call's place among those of its reply, from 0: the id of a model's call is `<decision>.<place>`. */
export const placeOfCall = (call: string): number => Number(call.slice(call.indexOf(".") + 1));

/**
 * A new saga's id: `<name>-<time in base 36><chance>`, so ids of one definition sort by age.
 * `random` is a number in [0, 1).
 */
export const mintSagaId = (name: string, now: number, random: number): SagaId =>
  `${name.toLowerCase().slice(0, 40)}-${now.toString(36)}${Math.floor(random * 36 ** 6)
    .toString(36)
    .padStart(6, "0")}` as SagaId;

/** A child's id in such a saga is a hash of its parent's intent, and so is that of one that stands in for people. */
export const childSagaId = (parent: SagaId, intent: IntentId, name: string): SagaId =>
  `${name.toLowerCase().slice(0, 30)}-${sha256(`${parent}/${intent}`).slice(0, 24)}` as SagaId;

/**
 * The key under which the outside knows an effect: of the saga, of what was decided there (the parts of `decision`) and
 * of the canonical arguments. Nothing in it depends on who performs the effect, when, or in which turn it was written:
 * decided again from an older copy of its ledger, it is the same effect. 16 and 12 hexadecimal digits.
 */
export const decidedKey = (saga: SagaId, decision: readonly string[], argumentsDigest: string): string =>
  `${saga}.${sha256(JSON.stringify(decision)).slice(0, 16)}.${argumentsDigest.slice(0, 12)}`;

/** The id of the child that a decision with this key starts: decided again, it is the same child. */
export const childOfKey = (key: string, name: string): SagaId =>
  `${name.toLowerCase().slice(0, 30)}-${sha256(key).slice(0, 24)}` as SagaId;

/** The key as sagas have it that began before keys were made of decisions, and notices of tasks: of the intent's id. */
export const effectKey = (saga: SagaId, intent: IntentId, argumentsDigest: string): string =>
  keyPrefix(saga, intent) + argumentsDigest.slice(0, 12);

/** Saga and intent already make a key unique; the digest of the arguments behind them makes a mistake visible. */
export const keyPrefix = (saga: SagaId, intent: IntentId): string => `${saga}.${intent}.`;
