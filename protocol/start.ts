/**
 * Start: by what two starts of one id are known to be the same. Clients judge by it at the door, parents when they start
 * a child.
 */
import { digestOf, shortDigestOf } from "./digest.ts";
import type { EventOf, ParentRef, StartMessage } from "./event.ts";
import { digestOfOrder } from "./fork.ts";

/**
 * What a saga was started with, and by whom. The version is not of it: a caller that repeats a start after its own code
 * was changed means the saga that is there.
 */
export interface StartIdentity {
  readonly name: string;
  readonly inputDigest: string;
  readonly parent?: ParentRef | undefined;
  /** The digest of a fork's order. */
  readonly fork?: string | undefined;
}

/** What a start asks for that is on its way. */
export const askedFor = ({ name, input, parent, fork }: StartMessage): StartIdentity => ({
  name,
  inputDigest: digestOf(input),
  parent,
  fork: fork === undefined ? undefined : digestOfOrder(fork),
});

/** What a saga was begun with. A fork of a child has no parent. */
export const begunWith = ({ definition, input, parent, fork }: EventOf<"start">): StartIdentity => ({
  name: definition.name,
  inputDigest: digestOf(input),
  parent: fork === undefined ? parent : undefined,
  fork: fork?.order,
});

/**
 * Whether both begin the same saga. Of a child the parent's intent does not tell: the child's id is made of the decision, which
 * after a restore may be taken again under another one.
 */
export const isSameStart = (one: StartIdentity, other: StartIdentity): boolean =>
  one.name === other.name &&
  one.inputDigest === other.inputDigest &&
  one.fork === other.fork &&
  one.parent?.saga === other.parent?.saga;

/** A Msg-Id's part by which the server knows the same start; no other start of the id has it. */
export const startDigest = ({ name, inputDigest, parent, fork }: StartIdentity): string =>
  shortDigestOf([name, inputDigest, parent ?? null, fork ?? null]);
